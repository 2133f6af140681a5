"""What a step's token gives access to."""

from scripts.github.workflow.event import read_workflow_environment
from scripts.github.workflow.step_access import TEAMS_VARIABLE, open_github_for_teams
from tests.scripts.github.scenes import Scene


def test_teams_are_asked_for_with_their_own_token_which_no_child_process_inherits(scene: Scene) -> None:
    workflow = read_workflow_environment(scene.environment())
    environ = {TEAMS_VARIABLE: "teams-token", "PATH": "/bin"}

    open_github_for_teams(workflow, environ).request_limits()
    open_github_for_teams(workflow, environ).request_limits()

    assert environ == {"PATH": "/bin"}
    assert [token for _, token in scene.standin.authorizations] == ["token teams-token", "token bot-token"]
