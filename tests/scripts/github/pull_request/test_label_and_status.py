"""What a commit is told, and its picture."""

import re
from pathlib import Path

from leaderboard.comments.comment_states import NoRunReason
from scripts.git.pull_request_guard import GuardedPaths
from scripts.github.api.responses import PullRequest, WorkflowRun
from scripts.github.pull_request.label_and_status import (
    OFFICIAL_LABEL,
    Outcome,
    broken_outcome,
    no_agent_outcome,
    no_run_outcome,
    previewed_outcome,
    refused_outcome,
    running_outcome,
)
from tests.leaderboard.comments.comment_states import CRASH, HEAD, OURS, POLE_ROW, agent, previewed

ARCHITECTURE = Path(__file__).parents[4] / "ARCHITECTURE.md"
RUN = WorkflowRun(
    id=31, event="pull_request", path=".github/workflows/preview.yml", repository_id=1, head_repository_id=2,
    head_owner="alice", head_branch="a", head_sha=HEAD, html_url="https://github.com/example/board/actions/runs/31",
    conclusion=None,
)  # fmt: skip
PULL = PullRequest(
    number=7, author="alice", author_id=11, head_sha=HEAD, head_repository_id=2, base_repository_id=1, base_ref="main",
    state="open", merged=False,
)  # fmt: skip
FOLDER = "submissions/alice/a"
OUTCOMES = [
    running_outcome(RUN),
    *(no_run_outcome(PULL, reason) for reason in NoRunReason),
    refused_outcome(PULL, GuardedPaths(agents=(FOLDER,), removed=(), faults=("a link",))),
    refused_outcome(PULL, GuardedPaths(agents=(), removed=(), faults=(), outside=("README.md",))),
    no_agent_outcome(PULL, GuardedPaths(agents=(), removed=(FOLDER,), faults=())),
    no_agent_outcome(PULL, GuardedPaths(agents=(), removed=(), faults=())),
    broken_outcome(RUN, "the run was cancelled", 1),
    previewed_outcome(previewed(agent(POLE_ROW))),
    previewed_outcome(previewed(agent(CRASH))),
    previewed_outcome(previewed(agent(OURS))),
]


def shown(outcome: Outcome) -> str:
    """Status and label, as the picture writes them."""
    return ", ".join(filter(None, (outcome.status, outcome.label)))


def test_the_picture_has_every_status_with_its_label_and_no_other() -> None:
    picture = ARCHITECTURE.read_text().partition("stateDiagram-v2\n")[2].partition("```")[0]

    assert set(re.findall(r'state "(.+)" as ', picture)) == {shown(outcome) for outcome in OUTCOMES}
    assert f"--> {OFFICIAL_LABEL}: " in picture
