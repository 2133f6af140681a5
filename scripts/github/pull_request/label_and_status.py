"""What a pull request is told: the comment's state, one label, and the commit's status.

ARCHITECTURE.md has statuses and labels as a picture, which a change here has to follow.
"""

import enum
from dataclasses import dataclass

from evaluator.model.records.verdict import Verdict
from leaderboard.comments.comment_states import (
    CommentState,
    NoRun,
    NoRunReason,
    OurFailure,
    Previewed,
    Refused,
    Running,
    Withdrawn,
)
from leaderboard.planning.missing_work import INTERNAL_ERROR_LIMIT
from scripts.git.pull_request_guard import GuardedPaths
from scripts.github.api.responses import CommitStatus, PullRequest, WorkflowRun

OK_LABEL, CHANGES_LABEL, REVIEW_LABEL, OFFICIAL_LABEL = "preview-ok", "needs-changes", "needs-review", "official"
PREVIEW_LABELS = (OK_LABEL, CHANGES_LABEL, REVIEW_LABEL)
LABEL_STYLES = {
    OK_LABEL: ("1a7f37", "The preview scored everything; a maintainer may merge"),
    CHANGES_LABEL: ("d1242f", "The author has to change something; the bot's comment says what"),
    REVIEW_LABEL: ("bf8700", "A maintainer has to look; the bot's comment says why"),
    OFFICIAL_LABEL: ("0969da", "Merged, and its official results are recorded"),
}


@enum.unique
class StatusState(enum.StrEnum):
    """GitHub's states of a commit status. The first two are final; `reconcile` looks at the others again."""

    SUCCESS = "success"
    FAILURE = "failure"
    PENDING = "pending"
    ERROR = "error"


FINAL_STATES = (StatusState.SUCCESS, StatusState.FAILURE)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The comment, label and status for one commit."""

    state: CommentState
    status: StatusState
    status_text: str
    label: str | None = None
    """The only label of ours that the pull request keeps."""
    is_our_failure: bool = False
    """Whether it failed on our side, so that another run is due."""

    @property
    def is_of_commit(self) -> bool:
        """Whether it says something of the commit, rather than of who proposes it or of how far we are."""
        is_refused = isinstance(self.state, Refused) and bool(self.state.outside)
        return self.status in FINAL_STATES and not is_refused


def running_outcome(run: WorkflowRun) -> Outcome:
    """The preview has begun."""
    state = Running(head_sha=run.head_sha, run_url=run.html_url)
    return Outcome(state=state, status=StatusState.PENDING, status_text="the preview is being played")


def refused_outcome(pull: PullRequest, guarded: GuardedPaths, run_url: str | None = None) -> Outcome:
    """The commit changes what it must not change: its run's scores are not trusted."""
    state = Refused(head_sha=pull.head_sha, outside=guarded.outside, faults=guarded.faults, run_url=run_url)
    words, label = "no score: the folder breaks a rule; the comment says which", CHANGES_LABEL
    if guarded.outside:
        words, label = "no score: it changes files outside the author's folder, so a maintainer has to look", REVIEW_LABEL
    return Outcome(state=state, status=StatusState.FAILURE, status_text=words, label=label)


def no_agent_outcome(pull: PullRequest, guarded: GuardedPaths) -> Outcome:
    """The commit brings no agent: it withdraws some, or changes nothing of the board."""
    if not guarded.removed:
        return no_run_outcome(pull, NoRunReason.NOTHING)
    state = Withdrawn(agents=guarded.withdrawn, merged=False, head_sha=pull.head_sha)
    return Outcome(
        state=state, status=StatusState.SUCCESS, status_text="withdraws an agent of its author", label=REVIEW_LABEL
    )


_NO_RUN_STATUS: dict[NoRunReason, tuple[StatusState, str, str | None]] = {
    NoRunReason.CONFLICT: (
        StatusState.ERROR, "not played: it conflicts with main; merge main into the branch", CHANGES_LABEL,
    ),
    NoRunReason.WAITING: (
        StatusState.PENDING, "not played yet: a maintainer has to approve the run", REVIEW_LABEL,
    ),
    NoRunReason.NOTHING: (StatusState.SUCCESS, "touches no agent, so there is nothing to score", None),
    NoRunReason.NO_RUN: (StatusState.ERROR, "not played: GitHub started no run; push again", None),
}  # fmt: skip


def no_run_outcome(pull: PullRequest, reason: NoRunReason, run_url: str | None = None) -> Outcome:
    """Nothing was played."""
    status, words, label = _NO_RUN_STATUS[reason]
    state = NoRun(head_sha=pull.head_sha, reason=reason, run_url=run_url)
    return Outcome(state=state, status=status, status_text=words, label=label)


def broken_outcome(run: WorkflowRun, reason: str, tried: int) -> Outcome:
    """The preview failed on our side."""
    again = tried < INTERNAL_ERROR_LIMIT
    state = OurFailure(head_sha=run.head_sha, reason=reason, tried=tried, again=again, run_url=run.html_url)
    words = "failed on our side; it is tried again" if again else "failed on our side; the maintainers were told"
    return Outcome(state=state, status=StatusState.ERROR, status_text=words, is_our_failure=True)


_SCORED = "preview: "


def is_scored(status: CommitStatus) -> bool:
    """Whether the status says that a preview scored everything: only then the good label belongs to it."""
    return status.state == StatusState.SUCCESS and status.description.startswith(_SCORED)


def previewed_outcome(state: Previewed) -> Outcome:
    """The preview ended."""
    verdicts = [row.result.verdict for agent in state.agents for row in agent.rows]
    games = [game for agent in state.agents for game in agent.games]
    if Verdict.INTERNAL_ERROR in verdicts or any(game.failed for game in games):
        return Outcome(
            state=state,
            status=StatusState.ERROR,
            status_text="a part failed on our side; it is tried again",
            is_our_failure=True,
        )
    total = len(verdicts) + len(games)
    rows = [row for agent in state.agents for row in agent.rows]
    failed = sum(row.result.verdict is not Verdict.OK or row.failed_before is not None for row in rows)
    failed += sum(game.refusal is not None for game in games)
    if failed or any(agent.faults for agent in state.agents) or not total:
        words = f"{failed} of {total} evaluations failed; the comment says why" if failed else "no score: mend the faults"
        return Outcome(state=state, status=StatusState.FAILURE, status_text=words, label=CHANGES_LABEL)
    words = f"{_SCORED}{total} of {total} evaluations scored; unofficial until merged"
    return Outcome(state=state, status=StatusState.SUCCESS, status_text=words, label=OK_LABEL)


def is_retry_worthwhile(outcome: Outcome) -> bool:
    """Whether another run of the same commit may have another outcome."""
    if isinstance(outcome.state, Previewed):
        rows = [row for agent in outcome.state.agents for row in agent.rows]
        return outcome.is_our_failure or any(row.result.verdict.is_retryable for row in rows)
    return outcome.is_our_failure
