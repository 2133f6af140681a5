"""The two issues in which the bot reports what fails on the leaderboard's own side: their texts, and when they close."""

import re
from collections.abc import Sequence

from scripts.console import CommandError, say
from scripts.github.api.client import GitHub
from scripts.github.api.responses import GitHubIssue, WorkflowRun
from scripts.github.workflow.event import WorkflowEnvironment

FAILURE_LABEL = "pullrank-failure"
FAILURE_LABEL_STYLE = ("d1242f", "Something of the board itself fails and somebody has to look")
FAILURE_ISSUE_TITLE = "Something of the board itself keeps failing"
PUBLISH_ISSUE_TITLE = "Official results could not be recorded"
_FAILURE_ISSUE_HEAD = (
    "Each line failed on our side as often as it is tried by itself. Nothing of it is held against an entrant. "
    "This issue is kept by the bot, and it closes it once all is mended.\n"
)
_PUBLISH_MARKER = re.compile(r"<!-- pullrank:publish run=(\d+) -->")


def open_failure_issues(github: GitHub, bot: str) -> list[GitHubIssue]:
    """The bot's open issues about failures, oldest first; issues of others with the label are left alone."""
    return [issue for issue in github.issues_by_label(FAILURE_LABEL) if issue.author == bot]


def _update_issue(github: GitHub, opened: Sequence[GitHubIssue], title: str, body: str) -> None:
    """Give the one open issue of a title the text `body`; close it if that is empty. `opened`: the bot's open issues."""
    matching = [issue for issue in opened if issue.title == title]
    if body and not matching:
        github.ensure_labels({FAILURE_LABEL: FAILURE_LABEL_STYLE})
        github.create_issue(title, body, [FAILURE_LABEL])
    elif body and matching[0].body != body:
        github.edit_issue(matching[0].number, body)
    for issue in matching[1:] if body else matching:
        github.close_issue(issue.number)


def update_failure_issue(github: GitHub, opened: Sequence[GitHubIssue], lines: Sequence[str]) -> None:
    """List in the issue what keeps failing; close it if nothing does. `opened`: the bot's open issues."""
    body = _FAILURE_ISSUE_HEAD + "".join(f"\n- {line}" for line in lines[:100])
    _update_issue(github, opened, FAILURE_ISSUE_TITLE, body if lines else "")


def update_publish_issue(github: GitHub, workflow: WorkflowEnvironment, lines: Sequence[str]) -> None:
    """Open or edit the issue about an official run whose results could not be recorded."""
    body = (
        f"<!-- pullrank:publish run={workflow.run_id} -->\n"
        f"What the official run was asked for could not be recorded: {workflow.run_url}\n\n"
        + "".join(f"- {line}\n" for line in lines)
        + "\nNothing of it is held against an entrant, and the next run tries again. This issue is kept by the bot: "
        "it names the last run that failed so, and is closed once a run succeeds.\n"
    )
    try:
        _update_issue(github, open_failure_issues(github, workflow.bot), PUBLISH_ISSUE_TITLE, body)
    except CommandError as error:  # It must not hide the failure that is being reported.
        say(f"The issue could not be written: {error}")


def close_publish_issue(github: GitHub, workflow: WorkflowEnvironment) -> None:
    """Close the issue: results were recorded, or none are missing."""
    _update_issue(github, open_failure_issues(github, workflow.bot), PUBLISH_ISSUE_TITLE, "")


def close_if_recovered(github: GitHub, opened: Sequence[GitHubIssue], ended: Sequence[WorkflowRun]) -> None:
    """Close the issue after a later run succeeded with nothing to record, for example because the agent was withdrawn.

    `ended`: the official runs that ended, newest first; without the current one, which may be the one that the issue names.
    """
    if not ended or ended[0].conclusion != "success":
        return
    for issue in opened:
        named = _PUBLISH_MARKER.match(issue.body)
        if issue.title == PUBLISH_ISSUE_TITLE and named and ended[0].id > int(named[1]):
            github.close_issue(issue.number)
