"""The issues in which the bot reports what fails on the leaderboard's own side."""

from collections.abc import Sequence

from scripts.github.api.client import GitHub
from scripts.github.api.responses import GitHubIssue

FAILURE_LABEL = "pullrank-failure"
FAILURE_LABEL_STYLE = ("d1242f", "Something of the board itself fails and somebody has to look")
FAILURE_ISSUE_TITLE = "Something of the board itself keeps failing"
PUBLISH_ISSUE_TITLE = "Official results could not be recorded"


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
