"""Finds the pull request of a workflow run by fields that GitHub's servers wrote, and by nothing from the artifact."""

from collections.abc import Sequence
from dataclasses import dataclass

from scripts.repository.layout import MAIN_BRANCH

PREVIEW_WORKFLOW = ".github/workflows/preview.yml"


@dataclass(frozen=True, kw_only=True)
class WorkflowRun:
    """A workflow run, by the API."""

    id: int
    """Later runs have greater ids."""
    event: str
    path: str
    """Its workflow file; some answers add `@ref`."""
    repository_id: int
    head_repository_id: int | None
    """None once the fork is deleted."""
    head_owner: str | None
    head_branch: str
    """Chosen by a stranger."""
    head_sha: str
    html_url: str
    conclusion: str | None
    """None until it has ended."""
    created_at: str = ""


@dataclass(frozen=True, kw_only=True)
class PullRequest:
    """A pull request, by the API."""

    number: int
    author: str
    author_id: int
    """Stays the same when the login changes."""
    head_sha: str
    head_repository_id: int | None
    """None once the fork is deleted."""
    base_repository_id: int
    base_ref: str
    state: str
    merged: bool
    labels: tuple[str, ...] = ()
    title: str = ""
    """Chosen by a stranger."""
    mergeable: bool | None = None
    """False on a conflict, None while GitHub does not know."""
    merge_commit_sha: str | None = None
    head_branch: str = ""
    """Chosen by a stranger."""
    head_repository: str = ""
    """`owner/name`; empty once the fork is deleted."""


def find_pull(
    run: WorkflowRun, candidates: Sequence[PullRequest], repository_id: int, base_ref: str = MAIN_BRANCH
) -> PullRequest | str:
    """The pull request of a preview run, or why there is none: then nothing is written anywhere."""
    if refused := _refusal(run, repository_id):
        return refused
    here = [p for p in candidates if p.base_repository_id == repository_id]
    ours = [p for p in here if p.head_repository_id == run.head_repository_id]
    if not ours:
        return "no pull request comes from the run's repository and branch"
    unmoved = [p for p in ours if p.head_sha == run.head_sha]
    if not unmoved:
        return "the pull request has a newer commit; the newer commit's run will speak"
    into_main = [p for p in unmoved if p.base_ref == base_ref]
    if not into_main:
        return f"the pull request is not into {base_ref}, whose workflow alone is trusted to have run"
    living = [p for p in into_main if p.state == "open"]
    if not living:
        return "the pull request is closed"
    return living[0] if len(living) == 1 else "more than one pull request fits the run"


def _refusal(run: WorkflowRun, repository_id: int) -> str | None:
    if run.repository_id != repository_id:
        return "the run belongs to another repository"
    if run.event != "pull_request":
        return f"the run was started by {run.event[:40]!r}, not by a pull request"
    if run.path.partition("@")[0] != PREVIEW_WORKFLOW:
        return f"the run is of another workflow than {PREVIEW_WORKFLOW}"
    if run.head_repository_id is None:
        return "the run's fork was deleted"
    return None
