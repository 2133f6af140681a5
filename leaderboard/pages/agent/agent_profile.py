"""The results of an agent on all tasks and games, now and before, as its page shows them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.game_standings import GameFailure, GameRow, GameStandings
from leaderboard.core.parallel import SINGLE_PARTITION, Partition
from leaderboard.core.standings import OverallRow, Standings, TaskFailure, TaskRow, listed_by_agent
from leaderboard.core.version_folders import VersionFolders
from leaderboard.pages.game_page import Opponent, opponents_of
from leaderboard.scoring.intervals import score_or_none


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """An agent on a task: a row, a failure, or neither while it waits."""

    task: Task
    row: TaskRow | None = None
    failure: TaskFailure | None = None
    quarantine: str = ""
    """What is said where its record is in quarantine."""

    @property
    def result(self) -> Result | None:
        """The recorded result; None while it waits."""
        source = self.row or self.failure
        return source.result if source else None

    @property
    def versions_tried(self) -> int:
        """Number of versions of this agent that were evaluated on this task."""
        source = self.row or self.failure
        return source.versions_tried if source else 0


@dataclass(frozen=True, kw_only=True)
class GameResult:
    """An agent in a game: a row, a failure, or neither while it waits."""

    board: GameStandings
    row: GameRow | None = None
    failure: GameFailure | None = None
    quarantine: str = ""
    """As in `TaskResult`."""
    opponents: tuple[Opponent, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AgentProfile:
    """An agent with all its results, in the order of challenge.yml."""

    entry: Entry
    overall: OverallRow | None
    """Its row of the overall leaderboard, if it has a score."""
    task_results: tuple[TaskResult, ...]
    game_results: tuple[GameResult, ...] = ()


def agent_profiles(standings: Standings, share: Partition = SINGLE_PARTITION) -> tuple[AgentProfile, ...]:
    """The profiles of a share of all agents, sorted by login and agent."""
    overall = {row.entry.name: row for row in standings.overall}
    profiles = []
    for name, boards in listed_by_agent(standings, share.of(sorted(standings.entries))).items():
        entry = standings.entries[name]
        task_results: list[TaskResult] = []
        game_results: list[GameResult] = []
        for board, listed in boards:
            waits = "" if listed else entry.waits_for(board.task.id)
            if isinstance(board, GameStandings):
                game_results.append(
                    GameResult(
                        board=board, row=listed if isinstance(listed, GameRow) else None,
                        failure=listed if isinstance(listed, GameFailure) else None, quarantine=waits,
                        opponents=tuple(opponents_of(board, name)) if isinstance(listed, GameRow) else (),
                    )
                )  # fmt: skip
            else:
                task_results.append(
                    TaskResult(
                        task=board.task, row=listed if isinstance(listed, TaskRow) else None,
                        failure=listed if isinstance(listed, TaskFailure) else None, quarantine=waits,
                    )
                )  # fmt: skip
        profiles.append(
            AgentProfile(
                entry=entry, overall=overall.get(name), task_results=tuple(task_results), game_results=tuple(game_results)
            )
        )
    return tuple(profiles)


# Earlier versions that the page lists, of all tasks together; the agent's API document has `HISTORY_VERSIONS` of each task,
# those under its present settings.
LISTED_VERSIONS = 40


@dataclass(frozen=True, kw_only=True)
class EarlierVersion:
    """A result in the history of an agent."""

    task: Task
    result: Result
    score: float | None
    """None if it failed or the task had other settings."""
    is_shown: bool
    """Whether it is the one that counts now."""
    is_other_task: bool
    """Whether the task had other settings then, so that scores cannot be compared."""


@dataclass(frozen=True, kw_only=True)
class EarlierVersions:
    """The history of an agent."""

    versions: tuple[EarlierVersion, ...]
    """The newest first."""
    more: int
    """Number of older ones that are left out."""


def results_by_agent(
    results: Iterable[Result], season: str, names: Iterable[AgentName], at: VersionFolders, *, official: bool
) -> Mapping[AgentName, Sequence[Result]]:
    """The results of these agents in the season, in one pass over all results."""
    by_name: dict[AgentName, list[Result]] = {name: [] for name in names}
    for result in results:
        results_of = by_name.get(at.of(result))
        if results_of is not None and result.season == season and (is_official(result) or not official):
            results_of.append(result)
    return by_name


def earlier_versions(profile: AgentProfile, results: Sequence[Result]) -> EarlierVersions | None:
    """The history of an agent; None if it has no results beside those that its page shows anyway."""
    shown = {entered.result.key for entered in profile.task_results if entered.result}
    tasks = {entered.task.id: entered.task for entered in profile.task_results}
    of_tasks = [result for result in results if result.task in tasks]
    if not any(result.key not in shown for result in of_tasks):
        return None
    ordered = sorted(of_tasks, key=lambda result: (result.provenance.evaluated_at, result.key), reverse=True)
    versions = tuple(_version(tasks[result.task], result, shown) for result in ordered[:LISTED_VERSIONS])
    return EarlierVersions(versions=versions, more=len(ordered) - len(versions))


def _version(task: Task, result: Result, shown: set[str]) -> EarlierVersion:
    is_other = result.task_digest != task.digest()
    score = None if is_other else score_or_none(task, result)
    return EarlierVersion(task=task, result=result, score=score, is_shown=result.key in shown, is_other_task=is_other)
