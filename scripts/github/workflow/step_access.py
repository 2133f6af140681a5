"""What the token of a workflow step gives access to: GitHub, and the remote of the checked-out clone."""

from collections.abc import MutableMapping
from dataclasses import replace

from scripts.console import USAGE, CommandError
from scripts.git.git_repository import Credentials, GitRepository
from scripts.github.api.client import GitHub
from scripts.github.workflow.event import WorkflowEnvironment

TEAMS_VARIABLE = "PULLRANK_TEAMS_TOKEN"
"""A token that may read teams: the workflow's own sees public members only."""


def open_github(workflow: WorkflowEnvironment) -> GitHub:
    """The repository on GitHub.

    Raises:
        CommandError: the step was given no token.
    """
    if not workflow.token:
        raise CommandError(USAGE, "GITHUB_TOKEN is not set; give it to the step by env")
    return GitHub(
        workflow.token, workflow.api_url, workflow.repository, graphql_url=workflow.graphql_url, pace=workflow.pace
    )


def open_github_for_teams(workflow: WorkflowEnvironment, environ: MutableMapping[str, str]) -> GitHub:
    """The repository on GitHub, with the token for teams if it is set; it is removed, so that no child process inherits it.

    Raises:
        CommandError: neither token is set.
    """
    token = environ.pop(TEAMS_VARIABLE, "")
    return open_github(replace(workflow, token=token) if token else workflow)


def open_clone(workflow: WorkflowEnvironment) -> GitRepository:
    """The checked-out clone; without a token only what needs no remote works, or a public one."""
    credentials = Credentials(server_url=workflow.server_url, token=workflow.token) if workflow.token else None
    return GitRepository(workflow.workspace.resolve(), credentials)
