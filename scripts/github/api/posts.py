"""The bot's sticky comment on a pull request, and the issues in which it reports failures of the board."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scripts.github.api.client import GitHub
from scripts.github.api.responses import GitHubIssue, IssueComment

_STICKY_MARKER = re.compile(r"<!-- pullrank:comment run=(\d{1,20}) -->")


@dataclass(frozen=True, kw_only=True)
class StickyComment:
    """A comment of the bot that it updates."""

    comment_id: int
    run_id: int
    """The run that it reports."""
    body: str


def our_comments(comments: Iterable[IssueComment], bot: str) -> list[StickyComment]:
    """The bot's sticky comments, oldest first; a marker by another account or inside a text does not count."""
    stickies = []
    for comment in comments:
        marker = _STICKY_MARKER.match(comment.body)
        if marker and comment.author == bot and comment.author_type == "Bot":
            stickies.append(StickyComment(comment_id=comment.id, run_id=int(marker[1]), body=comment.body))
    return sorted(stickies, key=lambda sticky: sticky.comment_id)


def newest_run(stickies: Iterable[StickyComment]) -> int:
    """The latest run that a comment reports; 0 without comments."""
    return max((sticky.run_id for sticky in stickies), default=0)


def upsert_comment(
    github: GitHub,
    number: int,
    body: str,
    bot: str,
    still: Callable[[], bool],
    comments: Iterable[IssueComment] | None = None,
) -> bool:
    """Give the pull request's sticky comment this text; returns whether it has it now.

    Args:
        github: the API.
        number: the pull request.
        body: the new text; its first line names the run that it reports.
        bot: login of the account whose comments are ours.
        still: called right before writing; if False, nothing is written.
        comments: the pull request's comments, if they were just read.
    """
    marker = _STICKY_MARKER.match(body)
    assert marker, "a sticky comment begins with its marker"
    stickies = our_comments(github.comments(number) if comments is None else comments, bot)
    if newest_run(stickies) > int(marker[1]) or not still():
        return False
    if stickies:
        if stickies[0].body != body:
            github.edit_comment(stickies[0].comment_id, body)
        repair_sticky(
            github, [StickyComment(comment_id=stickies[0].comment_id, run_id=int(marker[1]), body=body), *stickies[1:]]
        )
    else:
        github.create_comment(number, body)
        repair_sticky(github, our_comments(github.comments(number), bot))
    return True


def repair_sticky(github: GitHub, stickies: list[StickyComment]) -> None:
    """Keep only the oldest of several sticky comments, with the latest run's text; concurrent repairs agree on it."""
    if len(stickies) < 2:
        return
    earliest, latest = stickies[0], max(stickies, key=lambda sticky: (sticky.run_id, -sticky.comment_id))
    if latest.run_id > earliest.run_id:
        github.edit_comment(earliest.comment_id, latest.body)
    for doubled in stickies[1:]:
        github.delete_comment(doubled.comment_id)


FAILURE_LABEL = "pullrank-failure"
FAILURE_LABEL_STYLE = ("d1242f", "Something of the board itself fails and somebody has to look")


def open_failure_issues(github: GitHub, bot: str) -> list[GitHubIssue]:
    """The bot's open issues about failures, oldest first; issues of others with the label are left alone."""
    return [issue for issue in github.issues_by_label(FAILURE_LABEL) if issue.author == bot]


def update_issue(github: GitHub, opened: Sequence[GitHubIssue], title: str, body: str) -> None:
    """Give the one open issue of a title the text `body`; close it if that is empty. `opened`: the bot's open issues."""
    matching = [issue for issue in opened if issue.title == title]
    if body and not matching:
        github.ensure_labels({FAILURE_LABEL: FAILURE_LABEL_STYLE})
        github.create_issue(title, body, [FAILURE_LABEL])
    elif body and matching[0].body != body:
        github.edit_issue(matching[0].number, body)
    for issue in matching[1:] if body else matching:
        github.close_issue(issue.number)
