"""`pullrank bot command`: slash commands in comments. The text is untrusted; GitHub is asked who may do what."""

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

from leaderboard.comments.comment_standings import official_report
from leaderboard.comments.comment_states import CommentState, HelpText, RankReply
from leaderboard.comments.render_comment import render_comment
from scripts.console import OK, OUR_FAULT, CommandError, say
from scripts.github.api.client import COMMANDS_LEAVE_POINTS, COMMANDS_LEAVE_REQUESTS, GraphQLChange
from scripts.github.api.pull_snapshots import PullSnapshot, read_pulls
from scripts.github.api.responses import PullRequest, bounded_body
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.deliver import judged_address
from scripts.github.pull_request.find_pull import latest_run
from scripts.github.pull_request.judge_preview import PreviewCase, preview_outcome, restart_run
from scripts.github.pull_request.label_and_status import is_retry_worthwhile, running_outcome
from scripts.github.workflow.event import COMMIT_SHA, CommentEvent, comment_event
from scripts.repository.layout import MAIN_BRANCH, VERIFIED_PREVIEW_WORKFLOW

WRITERS = ("admin", "write")
# What is answered by a comment gets only a reaction once so many points of the hour are used: GitHub takes 500 comments an
# hour, and most are left for reports.
ANSWERED, ANSWERS_POINTS = ("rank", "help"), 300
# After this many attempts a comment does not start a run again.
MAX_RUN_ATTEMPTS = 10

NOT_NOW = "Few of the hour's {} are left, and the official run needs them: write the command again in an hour."
# The condition of `.github/workflows/commands.yml` names them, too.
SLASH_COMMANDS = ("retry", "evaluate", "rank", "help")
_COMMAND = re.compile(rf"/(?P<name>{'|'.join(SLASH_COMMANDS)})(?:[ \t]+(?P<argument>\S{{1,100}}))?[ \t]*")


class Reaction(enum.StrEnum):
    """GitHub's reactions that answer a command."""

    DONE = "THUMBS_UP"
    STARTED = "ROCKET"
    REFUSED = "THUMBS_DOWN"
    BUSY = "EYES"
    LATER = "CONFUSED"


@dataclass(frozen=True, kw_only=True)
class SlashCommand:
    """What a comment asks for."""

    name: str
    argument: str = ""


def parse_command(body: str) -> SlashCommand | None:
    """The command on the first line, as readers see lines; None if there is none."""
    match = _COMMAND.fullmatch(body.partition("\n")[0].removesuffix("\r"))
    if match is None or (match["argument"] and match["name"] != "evaluate"):
        return None
    return SlashCommand(name=match["name"], argument=match["argument"] or "")


def run_slash_command(context: BotContext) -> int:
    """Execute the command of a comment, if there is one and its author may give it."""
    comment = comment_event(context.workflow)
    command = parse_command(comment.body)
    if comment.action != "created" or not comment.on_pull or comment.author_type != "User" or command is None:
        say("The comment is no command.")
        return OK
    limits = context.github.request_limits()
    points = limits.get("graphql")
    if points and points.left < COMMANDS_LEAVE_POINTS:
        say(NOT_NOW.format("points"))
        return OK
    if points and command.name in ANSWERED and points.used >= ANSWERS_POINTS:
        say(NOT_NOW.format("points"))
        changes = [_react(comment, Reaction.LATER)]
    else:
        snapshot = read_pulls(context.github, [comment.number], with_status=False).get(comment.number)
        if snapshot is None:
            raise CommandError(OUR_FAULT, f"GitHub does not know #{comment.number}")
        has_few_requests = "core" in limits and limits["core"].left < COMMANDS_LEAVE_REQUESTS
        changes = [*_execute(context, comment, snapshot, command, has_few_requests=has_few_requests)]
    if refused := context.github.mutate(changes):
        raise CommandError(OUR_FAULT, *(f"GitHub refused an answer: {why}" for why in refused.values()))
    return OK


def _execute(
    context: BotContext, comment: CommentEvent, snapshot: PullSnapshot, command: SlashCommand, *, has_few_requests: bool
) -> Iterator[GraphQLChange]:
    """Execute a command; returns what answers it: a comment, if it has one, and the reaction."""
    if command.name in ("rank", "help"):
        state = _places(context, snapshot.pull) if command.name == "rank" else HelpText()
        body = render_comment(state, context.comment_context())
        yield GraphQLChange(name="addComment", input={"subjectId": snapshot.node_id, "body": bounded_body(body)})
        reaction = Reaction.DONE
    else:
        reaction, why = _start(context, comment, snapshot.pull, command, has_few_requests=has_few_requests)
        if why:
            say(why)
    yield _react(comment, reaction)


def _react(comment: CommentEvent, reaction: Reaction) -> GraphQLChange:
    return GraphQLChange(name="addReaction", input={"subjectId": comment.node_id, "content": reaction.value})


def _start(
    context: BotContext, comment: CommentEvent, pull: PullRequest, command: SlashCommand, *, has_few_requests: bool
) -> tuple[Reaction, str]:
    """Start what a command asks for; returns why not, if it does not."""
    if pull.state != "open":
        return Reaction.REFUSED, f"#{pull.number} is closed, so there is nothing to play."
    if has_few_requests:
        return Reaction.LATER, NOT_NOW.format("requests")
    if command.name == "retry":
        return _retry(context, comment, pull)
    return _evaluate(context, comment, pull, command.argument)


def _may_write(context: BotContext, comment: CommentEvent) -> bool:
    return context.github.permission(comment.author) in WRITERS


def _retry(context: BotContext, comment: CommentEvent, pull: PullRequest) -> tuple[Reaction, str]:
    """Rerun the preview of the newest commit if its outcome may change."""
    if comment.author_id != pull.author_id and not _may_write(context, comment):
        return Reaction.REFUSED, "Only the author and maintainers may retry."
    latest = latest_run(context, pull)
    if latest is None:
        return Reaction.REFUSED, "There is no preview run on the newest commit."
    if latest.conclusion is None:
        return Reaction.BUSY, "The preview is being played already."
    if latest.conclusion == "action_required" or context.github.attempts(latest.id) >= MAX_RUN_ATTEMPTS:
        return Reaction.REFUSED, "The run waits for a maintainer, or was started too often."
    if not is_retry_worthwhile(preview_outcome(context, PreviewCase(run=latest, pull=pull, trusted=False))):
        return Reaction.REFUSED, "The same code on the same seeds would end the same way."
    if not restart_run(context, pull, latest):
        return Reaction.BUSY, ""
    # A failure is final: it would not be looked at again where nobody is told that the run has begun.
    begun = running_outcome(latest)
    context.github.set_status(pull.head_sha, begun.status, begun.status_text, judged_address(context, pull))
    return Reaction.STARTED, ""


def _evaluate(context: BotContext, comment: CommentEvent, pull: PullRequest, sha: str) -> tuple[Reaction, str]:
    """Have main's code play the newest commit; a maintainer has to name the commit that he reviewed."""
    if not _may_write(context, comment):
        return Reaction.REFUSED, "Only maintainers may have a commit evaluated."
    if not COMMIT_SHA.fullmatch(sha) or sha != pull.head_sha or pull.base_ref != MAIN_BRANCH:
        return Reaction.REFUSED, "The command takes all 40 digits of the pull request's newest commit."
    context.github.dispatch(VERIFIED_PREVIEW_WORKFLOW, MAIN_BRANCH, {"pull": str(pull.number), "sha": sha})
    return Reaction.STARTED, ""


def _places(context: BotContext, pull: PullRequest) -> CommentState:
    entries = [entry for entry in context.recorded.entries if entry.login.casefold() == pull.author.casefold()]
    shown = [official_report(context.recorded, entry.login, entry.agent) for entry in entries]
    return RankReply(agents=tuple(agent for agent in shown if agent and (agent.rows or agent.games)))
