"""The states of a pull request's comment: one frozen class for each."""

import enum
from dataclasses import dataclass

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Estimate
from leaderboard.core.game_standings import MatchCount
from leaderboard.scoring.metrics import digits


@dataclass(frozen=True, kw_only=True)
class CommentContext:
    """What all states need beside themselves; none of it comes from the entrant."""

    run_id: int
    """Part of the hidden marker: an older run never overwrites the comment of a newer one."""
    repository: str
    """Such as https://github.com/owner/name."""
    site: str | None = None
    """Address of the published site; without it nothing links there."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of an agent on a task or in a game, and its place or, in a preview, the place it would have."""

    task: Task
    estimate: Estimate | None = None
    """Its score, or its rating; None if it has none."""
    place: int | None = None
    rank_low: int | None = None
    """1 + entries significantly better."""
    rank_high: int | None = None
    """N − entries significantly worse."""
    with_leader: bool = False
    """Whether it is statistically tied with the leader."""
    tries: int = 1
    """As in `RankedEntry`; always 1 in games."""
    superseded_by: str | None = None
    """As in `RankedEntry`; then there is no place."""
    entries: int = 0
    """Entries with a score, including this one; 0 if the leaderboard is not shown yet."""
    own_last: Estimate | None = None
    """The score of the author's previous version."""
    own_place: int | None = None
    """Its place; always None in games."""
    leader: Estimate | None = None
    """The best other entry; None if there is no other."""
    leader_name: str | None = None
    """login/agent"""

    @property
    def decimals(self) -> int:
        """Digits after the point of its score."""
        return 0 if self.task.game else digits(self.task)


@dataclass(frozen=True, kw_only=True)
class TaskReport(Report):
    """The result of an agent on a task."""

    result: Result
    others: tuple[float, ...] = ()
    """The values of the task's other metrics, in their order; NaN if missing."""
    failed_before: Verdict | None = None
    """How an official evaluation of the same version failed: whatever the preview's score, the version has none."""


@dataclass(frozen=True, kw_only=True)
class DuelReport:
    """The result of a player in a duel: its matches against one opponent."""

    opponent: str
    """login/agent"""
    count: MatchCount
    is_baseline: bool = False
    fault: str = ""
    """The first rule that the player broke, in one line; empty if none."""


@dataclass(frozen=True, kw_only=True)
class GameReport(Report):
    """The result of a player in a game; it has a rating if it has a rated opponent."""

    duels: tuple[DuelReport, ...] = ()
    refusal: str | None = None
    """Why its validation refuses it, in one line; None if it may enter."""
    position: str = ""
    """The position of the refused move as text; empty if the game cannot be drawn."""
    failed: str | None = None
    """What failed on our side, in one line; None if nothing did."""
    anchor: str | None = None
    """The player with rating 0: login/agent."""
    one_sided: bool = False
    """Whether it won or lost all matches, so that the rating depends on a prior."""
    log: str = ""
    """The end of the player's log in its validation, if it is recorded."""
    official: bool = False
    """Whether it counts; else it is of a preview."""
    signed: bool = True
    """Whether GitHub signed every commit that the seeds come from; True for a preview, which has public seeds."""

    @property
    def count(self) -> MatchCount:
        """The total over all opponents."""
        return MatchCount.total(duel.count for duel in self.duels)


@dataclass(frozen=True, kw_only=True)
class AgentReport:
    """One agent of a pull request."""

    login: str
    agent: str
    name: str | None = None
    """The name in its manifest; None if the manifest could not be read."""
    rows: tuple[TaskReport, ...] = ()
    games: tuple[GameReport, ...] = ()
    faults: tuple[str, ...] = ()
    """The faults of its folder or manifest, a line each; with any, nothing was played."""
    overall: "OverallReport | None" = None


@dataclass(frozen=True, kw_only=True)
class OverallReport:
    """The place on the overall leaderboard."""

    estimate: Estimate
    """Of the mean normalised score."""
    place: int
    rank_low: int
    rank_high: int
    entries: int
    played: int
    """Tasks with a score."""
    tasks: int
    """Tasks that count."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """The preview is running."""

    head_sha: str
    run_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Previewed:
    """The preview is finished: scores, failures, faults, or some of each."""

    head_sha: str
    evaluator_sha: str
    agents: tuple[AgentReport, ...]
    skipped: tuple[str, ...] = ()
    """What was not evaluated, and why, a line each."""
    removed: tuple[str, ...] = ()
    """The agents that merging withdraws: login/agent."""
    log: str = ""
    rules: tuple[str, ...] = ()
    """What phases, participant rules and quotas mean for it after the merge, a line each."""
    run_url: str | None = None
    sealed: bool = False
    """Whether the season is sealed: then official episodes differ from those of a preview."""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The pull request changes paths that it must not change, so its run gives no score."""

    head_sha: str
    outside: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    """Other faults, such as links, names or sizes, a line each."""
    run_url: str | None = None


@enum.unique
class NoRunReason(enum.StrEnum):
    """Why nothing was evaluated."""

    CONFLICT = "conflict"
    WAITING = "waiting for approval"
    NOTHING = "nothing of ours touched"
    NO_RUN = "no run"


@dataclass(frozen=True, kw_only=True)
class NoRun:
    """Nothing was evaluated."""

    head_sha: str
    reason: NoRunReason
    run_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class OurFailure:
    """The evaluation failed by our fault."""

    head_sha: str
    reason: str
    tried: int = 1
    again: bool = True
    run_url: str | None = None
    issue_url: str | None = None
    """The issue for the maintainers, if it is not retried."""


@dataclass(frozen=True, kw_only=True)
class OfficialScore:
    """The pull request is merged: the official scores recorded so far."""

    merge_sha: str | None
    """The commit on main that the seeds come from."""
    agents: tuple[AgentReport, ...]
    pending: tuple[str, ...] = ()
    """What is not recorded yet, a line each: `login/agent on task`."""
    deferred: tuple[str, ...] = ()
    """What is not evaluated now or not at all, a line each with the reason."""
    rules: tuple[str, ...] = ()
    """Remaining quotas, and until when leaderboards are hidden, a line each."""
    unshown: int = 0
    """Number of recorded scores that are not shown, since their leaderboards are hidden."""
    run_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Withdrawn:
    """The pull request removes agents of its author."""

    agents: tuple[str, ...]
    merged: bool
    head_sha: str | None = None


@dataclass(frozen=True, kw_only=True)
class RankReply:
    """The answer to `/rank`: the current places of the author's agents."""

    agents: tuple[AgentReport, ...]


@dataclass(frozen=True, kw_only=True)
class HelpText:
    """The answer to `/help`."""


CommentState = Running | Previewed | Refused | NoRun | OurFailure | OfficialScore | Withdrawn | RankReply | HelpText
