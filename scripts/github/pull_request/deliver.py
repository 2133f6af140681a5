"""Delivers an outcome to its pull request: the comment that the bot updates, one label, and the commit's status."""

from collections.abc import Iterable
from dataclasses import dataclass

from leaderboard.comments.render_comment import comment_run, render_comment
from scripts.console import say
from scripts.github.api.client import STATUS_CONTEXT, GitHub
from scripts.github.api.responses import CommitStatus, IssueComment, PullRequest
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.outcome import LABEL_STYLES, VERDICT_LABELS, Outcome
from scripts.github.workflow.outputs import write_summary


def deliver_outcome(context: BotContext, pull: PullRequest, run_id: int, outcome: Outcome) -> None:
    """Write comment, labels and status, if the pull request is still at that commit and no later run has spoken.

    The step's summary gets the same text in any case.
    """
    body = render_comment(outcome.state, context.comment_context(pull, run_id))
    write_summary(context.surroundings.summary_path, body)
    is_commented = not pull.author.endswith("[bot]")  # A robot reads no comments.
    stickies = sticky_comments(context, pull) if is_commented else []
    if newest_run(stickies) > run_id or not _is_current(context, pull):
        say(f"#{pull.number} has moved on or a later run has spoken; nothing was written.")
        return
    if is_commented:
        write_sticky(context, pull, body, stickies)
    _update_labels(context, pull, outcome)
    status = bot_status(context.github, pull.head_sha, context.surroundings.bot)
    if status is None or (status.state, status.description) != (outcome.status, outcome.words):
        address = f"{context.repository_url}/pull/{pull.number}"
        context.github.set_status(pull.head_sha, outcome.status, outcome.words, address)
    say(f"#{pull.number}: {outcome.words}")


def _is_current(context: BotContext, pull: PullRequest) -> bool:
    now = context.github.pull(pull.number)
    return now.head_sha == pull.head_sha and now.state == "open" and now.base_ref == pull.base_ref


def _update_labels(context: BotContext, pull: PullRequest, outcome: Outcome) -> None:
    labels = context.github.labels(pull.number)
    for name in VERDICT_LABELS:
        if name in labels and name != outcome.label:
            context.github.remove_label(pull.number, name)
    if outcome.label is not None and outcome.label not in labels:
        context.github.ensure_labels({outcome.label: LABEL_STYLES[outcome.label]})
        context.github.add_label(pull.number, outcome.label)


def bot_status(github: GitHub, sha: str, bot: str) -> CommitStatus | None:
    """The bot's latest status of a commit; a status that another account set under our name does not count."""
    ours = (status for status in github.statuses(sha) if status.context == STATUS_CONTEXT and status.creator == bot)
    return next(ours, None)


@dataclass(frozen=True, kw_only=True)
class StickyComment:
    """A comment of the bot that it updates."""

    comment_id: int
    run_id: int
    body: str


def our_comments(comments: Iterable[IssueComment], bot: str) -> list[StickyComment]:
    """The bot's sticky comments, oldest first; a marker by another account or inside a text does not count."""
    stickies = []
    for comment in comments:
        run_id = comment_run(comment.body)
        if run_id is not None and comment.author == bot and comment.author_type == "Bot":
            stickies.append(StickyComment(comment_id=comment.id, run_id=run_id, body=comment.body))
    return sorted(stickies, key=lambda sticky: sticky.comment_id)


def sticky_comments(context: BotContext, pull: PullRequest) -> list[StickyComment]:
    """The bot's sticky comments on a pull request, oldest first."""
    return our_comments(context.github.comments(pull.number), context.surroundings.bot)


def newest_run(stickies: Iterable[StickyComment]) -> int:
    """The latest run that a comment reports; 0 without comments."""
    return max((sticky.run_id for sticky in stickies), default=0)


def write_sticky(context: BotContext, pull: PullRequest, body: str, stickies: list[StickyComment]) -> None:
    """Give the pull request's sticky comment this text. `stickies`: its sticky comments as they were just read."""
    github, run_id = context.github, comment_run(body)
    assert run_id is not None, "a sticky comment begins with its marker"
    if not stickies:
        github.create_comment(pull.number, body)
        _repair_sticky(github, sticky_comments(context, pull))
        return
    oldest, *others = stickies
    if oldest.body != body:
        github.edit_comment(oldest.comment_id, body)
    _repair_sticky(github, [StickyComment(comment_id=oldest.comment_id, run_id=run_id, body=body), *others])


def _repair_sticky(github: GitHub, stickies: list[StickyComment]) -> None:
    """Keep only the oldest of several sticky comments, with the latest run's text; concurrent repairs agree on it."""
    if len(stickies) < 2:
        return
    earliest, latest = stickies[0], max(stickies, key=lambda sticky: (sticky.run_id, -sticky.comment_id))
    if latest.run_id > earliest.run_id:
        github.edit_comment(earliest.comment_id, latest.body)
    for doubled in stickies[1:]:
        github.delete_comment(doubled.comment_id)
