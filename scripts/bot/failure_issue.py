"""The issues in which the bot tells the hosts what fails on the board's side: opened once, kept up to date, and closed."""

from collections.abc import Sequence

from scripts.bot.answers import Issue
from scripts.bot.client import GitHub

LABEL = "pullrank-failure"
LABEL_LOOKS = ("d1242f", "Something of the board itself fails and somebody has to look")


def open_issues(github: GitHub, bot: str) -> list[Issue]:
    """The bot's own open issues about failures, the earliest first; others may use the label, and are left alone."""
    return [issue for issue in github.issues_by_label(LABEL) if issue.author == bot]


def keep_issue(github: GitHub, opened: Sequence[Issue], title: str, body: str) -> None:
    """Have one open issue of a title say `body`, and none if that is empty; `opened` are the bot's."""
    same = [issue for issue in opened if issue.title == title]
    if body and not same:
        github.ensure_labels({LABEL: LABEL_LOOKS})
        github.create_issue(title, body, [LABEL])
    elif body and same[0].body != body:
        github.edit_issue(same[0].number, body)
    for issue in same[1:] if body else same:
        github.close_issue(issue.number)
