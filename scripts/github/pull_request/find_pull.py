"""Finds the pull request of a preview run, and the run of a pull request, by what GitHub's servers wrote."""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scripts.console import USAGE, CommandError
from scripts.github.api.client import GitHub
from scripts.github.api.responses import PullRequest, WorkflowRun
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.workflow.event import WorkflowEnvironment, as_pull_event, dispatched_commit
from scripts.repository.layout import MAIN_BRANCH, PREVIEW_WORKFLOW

WORKFLOW_DISPATCH = "workflow_dispatch"


@enum.unique
class NoPullReason(enum.Enum):
    """Why a run belongs to no pull request that may be written to."""

    OTHER_REPOSITORY = "the run belongs to another repository"
    OTHER_EVENT = "the run was started by {}, not by a pull request"
    OTHER_WORKFLOW = f"the run is of another workflow than .github/workflows/{PREVIEW_WORKFLOW}"
    FORK_DELETED = "the run's fork was deleted"
    NO_BRANCH = "no pull request comes from the run's repository and branch"
    NEWER_COMMIT = "the pull request has a newer commit; the newer commit's run will speak"
    OTHER_BASE = f"the pull request is not into {MAIN_BRANCH}, whose workflow alone is trusted to have run"
    CLOSED = "the pull request is closed"
    AMBIGUOUS = "more than one pull request fits the run"
    MOVED_ON = "{} is not open at that commit any more"


@dataclass(frozen=True)
class NoPull:
    """No pull request: then nothing is written anywhere."""

    reason: NoPullReason
    about: str = ""
    """The event or pull request that the reason names."""

    @property
    def words(self) -> str:
        """The reason in words."""
        return self.reason.value.format(self.about)


def find_pull(run: WorkflowRun, candidates: Sequence[PullRequest], repository_id: int) -> PullRequest | NoPull:
    """The pull request of a preview run, found by fields that GitHub's servers wrote, and by nothing from the artifact."""
    if refused := _run_refusal(run, repository_id):
        return refused
    here = [p for p in candidates if p.base_repository_id == repository_id]
    ours = [p for p in here if p.head_repository_id == run.head_repository_id]
    if not ours:
        return NoPull(NoPullReason.NO_BRANCH)
    unmoved = [p for p in ours if p.head_sha == run.head_sha]
    if not unmoved:
        return NoPull(NoPullReason.NEWER_COMMIT)
    into_main = [p for p in unmoved if p.base_ref == MAIN_BRANCH]
    if not into_main:
        return NoPull(NoPullReason.OTHER_BASE)
    living = [p for p in into_main if p.state == "open"]
    if not living:
        return NoPull(NoPullReason.CLOSED)
    return living[0] if len(living) == 1 else NoPull(NoPullReason.AMBIGUOUS)


def _run_refusal(run: WorkflowRun, repository_id: int) -> NoPull | None:
    if run.repository_id != repository_id:
        return NoPull(NoPullReason.OTHER_REPOSITORY)
    if run.event != "pull_request":
        return NoPull(NoPullReason.OTHER_EVENT, repr(run.event[:40]))
    if not run.is_of(PREVIEW_WORKFLOW):
        return NoPull(NoPullReason.OTHER_WORKFLOW)
    if run.head_repository_id is None:
        return NoPull(NoPullReason.FORK_DELETED)
    return None


def dispatched_pull(workflow: WorkflowEnvironment, github: GitHub) -> PullRequest | NoPull:
    """The pull request that the inputs of a `workflow_dispatch` event name.

    Raises:
        CommandError: the inputs are not a pull request's number and a commit.
    """
    number, sha = dispatched_commit(workflow)
    pull = github.pull(number)
    if pull.state != "open" or pull.head_sha != sha or pull.base_ref != MAIN_BRANCH:
        return NoPull(NoPullReason.MOVED_ON, f"#{number}")
    return pull


def dispatched_pull_event(workflow: WorkflowEnvironment, github: GitHub) -> WorkflowEnvironment:
    """A `workflow_dispatch` run with the event that a push to the pull request would have.

    Raises:
        CommandError: the pull request is closed or at another commit.
    """
    pull = dispatched_pull(workflow, github)
    if isinstance(pull, NoPull):
        raise CommandError(USAGE, f"{pull.words}; ask for its newest commit")
    return as_pull_event(workflow, pull)


def latest_run(context: BotContext, pull: PullRequest) -> WorkflowRun | None:
    """The latest preview run of the pull request's newest commit."""
    return latest_run_among(context.github.runs_of(pull.head_sha), pull, context.workflow.repository_id)


def latest_run_among(runs: Iterable[WorkflowRun], pull: PullRequest, repository_id: int) -> WorkflowRun | None:
    """The latest of some runs that is a preview of the pull request's newest commit."""
    previews = [run for run in runs if isinstance(find_pull(run, [pull], repository_id), PullRequest)]
    return max(previews, key=lambda run: run.id, default=None)
