"""`pullrank bot command`: slash commands in comments. The text is untrusted; GitHub is asked who may do what."""

import enum
import re
from dataclasses import dataclass

from leaderboard.comments.render_comment import render_comment
from leaderboard.comments.states import CommentState, HelpText, Ranked
from leaderboard.reports.agent_reports import standing
from scripts.console import OK, say
from scripts.github.api.responses import PullRequest
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.outcome import is_retry_worthwhile
from scripts.github.pull_request.report import PreviewCase, latest_run, preview_outcome, rerun
from scripts.github.workflow.event import COMMIT_SHA, CommentEvent, comment_event
from scripts.repository.layout import MAIN_BRANCH

# Started by `/evaluate`: main's code plays the commit and reports it.
EVALUATE_WORKFLOW = "evaluate.yml"
WRITERS = ("admin", "write")
# With fewer of the hour's requests left no command is executed: anybody may write comments, and each command takes three.
REQUESTS_RESERVED = 100
# After so many attempts a comment does not start a run again.
MAX_ATTEMPTS = 10

_COMMAND = re.compile(r"/(?P<verb>retry|evaluate|rank|help)(?:[ \t]+(?P<argument>\S{1,100}))?[ \t]*")


class Reaction(enum.StrEnum):
    """GitHub's reactions that answer a command."""

    DONE = "+1"
    STARTED = "rocket"
    REFUSED = "-1"
    BUSY = "eyes"


@dataclass(frozen=True, kw_only=True)
class SlashCommand:
    """What a comment asks for."""

    verb: str
    argument: str = ""


def parse_command(body: str) -> SlashCommand | None:
    """The command on the first line, as readers see lines; None if there is none."""
    match = _COMMAND.fullmatch(body.partition("\n")[0].removesuffix("\r"))
    if match is None or (match["argument"] and match["verb"] != "evaluate"):
        return None
    return SlashCommand(verb=match["verb"], argument=match["argument"] or "")


def run_slash_command(context: BotContext) -> int:
    """Execute the command of a comment, if there is one and its author may give it."""
    comment = comment_event(context.workflow)
    command = parse_command(comment.body)
    if comment.action != "created" or not comment.on_pull or comment.author_type != "User" or command is None:
        say("The comment is no command.")
        return OK
    limit = context.github.request_limit()
    if limit is not None and limit.most - limit.used < REQUESTS_RESERVED:
        say("Few of the hour's requests are left, and the official run needs them: write the command again in an hour.")
        return OK
    pull = context.github.pull(comment.number)
    if pull.state != "open" and command.verb in ("retry", "evaluate"):
        context.github.react(comment.comment_id, Reaction.REFUSED)
        say(f"#{pull.number} is closed, so there is nothing to play.")
        return OK
    context.github.react(comment.comment_id, _execute(context, comment, pull, command))
    return OK


def _execute(context: BotContext, comment: CommentEvent, pull: PullRequest, command: SlashCommand) -> Reaction:
    """Execute a command; returns the reaction that acknowledges it."""
    match command.verb:
        case "retry":
            return _retry(context, comment, pull)
        case "evaluate":
            return _evaluate(context, comment, pull, command.argument)
        case "rank":
            return _rank(context, pull)
        case _:
            return _answer(context, pull, HelpText())


def _may_write(context: BotContext, comment: CommentEvent) -> bool:
    return context.github.permission(comment.author) in WRITERS


def _retry(context: BotContext, comment: CommentEvent, pull: PullRequest) -> Reaction:
    """Rerun the preview of the newest commit if its outcome may change."""
    if comment.author_id != pull.author_id and not _may_write(context, comment):
        say("Only the author and maintainers may retry.")
        return Reaction.REFUSED
    latest = latest_run(context, pull)
    if latest is None:
        say("There is no preview run on the newest commit.")
        return Reaction.REFUSED
    if latest.conclusion is None:
        say("The preview is being played already.")
        return Reaction.BUSY
    if latest.conclusion == "action_required" or context.github.attempts(latest.id) >= MAX_ATTEMPTS:
        say("The run waits for a maintainer, or was started too often.")
        return Reaction.REFUSED
    if not is_retry_worthwhile(preview_outcome(context, PreviewCase(run=latest, pull=pull, trusted=False))):
        say("The same code on the same seeds would end the same way.")
        return Reaction.REFUSED
    return Reaction.STARTED if rerun(context, pull, latest) else Reaction.BUSY


def _evaluate(context: BotContext, comment: CommentEvent, pull: PullRequest, sha: str) -> Reaction:
    """Have main's code play the newest commit; a maintainer has to name the commit that he reviewed."""
    if not _may_write(context, comment):
        say("Only maintainers may have a commit evaluated.")
        return Reaction.REFUSED
    if not COMMIT_SHA.fullmatch(sha) or sha != pull.head_sha or pull.base_ref != MAIN_BRANCH:
        say("The command takes all 40 digits of the pull request's newest commit.")
        return Reaction.REFUSED
    context.github.dispatch(EVALUATE_WORKFLOW, MAIN_BRANCH, {"pull": str(pull.number), "sha": sha})
    return Reaction.STARTED


def _rank(context: BotContext, pull: PullRequest) -> Reaction:
    entries = [entry for entry in context.recorded.entries if entry.login.casefold() == pull.author.casefold()]
    shown = [standing(context.recorded, entry.login, entry.agent) for entry in entries]
    return _answer(context, pull, Ranked(agents=tuple(agent for agent in shown if agent and (agent.rows or agent.games))))


def _answer(context: BotContext, pull: PullRequest, state: CommentState) -> Reaction:
    context.github.create_comment(pull.number, render_comment(state, context.comment_context(pull)))
    return Reaction.DONE
