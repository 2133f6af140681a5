"""The issues in which the bot tells the hosts what fails on the board's side: opened once, kept up to date, and closed."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from scripts.github.api.client import GitHub
from scripts.github.api.responses import GitHubIssue, IssueComment

_STICKY_MARKER = re.compile(r"<!-- pullrank:comment run=(\d{1,20}) -->")


class CommentApi(Protocol):
    """What of GitHub this needs."""

    def comments(self, number: int) -> list[IssueComment]:
        """All comments, the earliest first."""

    def create_comment(self, number: int, body: str) -> IssueComment:
        """Write one."""

    def edit_comment(self, comment_id: int, body: str) -> None:
        """Write it anew."""

    def delete_comment(self, comment_id: int) -> None:
        """Remove it."""


@dataclass(frozen=True, kw_only=True)
class StickyComment:
    """A comment of ours."""

    comment_id: int
    run_id: int
    """The run that it reports."""
    body: str


def our_comments(comments: Iterable[IssueComment], bot: str) -> list[StickyComment]:
    """The bot's own sticky comments, the earliest first: a marker under another name, or inside a text, is nothing."""
    stickies = []
    for comment in comments:
        marker = _STICKY_MARKER.match(comment.body)
        if marker and comment.author == bot and comment.author_type == "Bot":
            stickies.append(StickyComment(comment_id=comment.id, run_id=int(marker[1]), body=comment.body))
    return sorted(stickies, key=lambda sticky: sticky.comment_id)


def newest_run(stickies: Iterable[StickyComment]) -> int:
    """The latest run that a comment speaks for; 0 without one."""
    return max((sticky.run_id for sticky in stickies), default=0)


def put_sticky(
    github: CommentApi,
    number: int,
    body: str,
    bot: str,
    still: Callable[[], bool],
    comments: Iterable[IssueComment] | None = None,
) -> bool:
    """Make the pull request's sticky comment say this; returns whether it does.

    Args:
        github: where.
        number: the pull request.
        body: the new text; its first line names the run that it speaks for.
        bot: whose comments are ours.
        still: asked right before writing; what has meanwhile become untrue is not written.
        comments: the pull request's, where they were read this moment.
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


def repair_sticky(github: CommentApi, stickies: list[StickyComment]) -> None:
    """Of several comments of ours keep the earliest, with the text of the latest run; two that heal at once agree."""
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
    """The bot's own open issues about failures, the earliest first; others may use the label, and are left alone."""
    return [issue for issue in github.issues_by_label(FAILURE_LABEL) if issue.author == bot]


def update_issue(github: GitHub, opened: Sequence[GitHubIssue], title: str, body: str) -> None:
    """Have one open issue of a title say `body`, and none if that is empty; `opened` are the bot's."""
    matching = [issue for issue in opened if issue.title == title]
    if body and not matching:
        github.ensure_labels({FAILURE_LABEL: FAILURE_LABEL_STYLE})
        github.create_issue(title, body, [FAILURE_LABEL])
    elif body and matching[0].body != body:
        github.edit_issue(matching[0].number, body)
    for issue in matching[1:] if body else matching:
        github.close_issue(issue.number)
