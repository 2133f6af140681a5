"""The profile of an agent: its results on all tasks and games."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from leaderboard.core.entry import AgentName, Entry, RankedEntry
from leaderboard.core.game_standings import GameFailure, GameRow, GameStandings
from leaderboard.core.parallel import SINGLE_PARTITION, Partition
from leaderboard.core.standings import Failure, OverallRow, Row, Standings, TaskStandings, outcomes_of
from leaderboard.pages.game_page import Opponent, opponents_of


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """An agent on a task: a row, a failure, or neither while it waits."""

    task: Task
    row: Row | None = None
    failure: Failure | None = None
    quarantine: str = ""
    """What is said where its record is in quarantine."""

    @property
    def result(self) -> Result | None:
        """The recorded result; None while it waits."""
        source = self.row or self.failure
        return source.result if source else None

    @property
    def attempts(self) -> int:
        """Number of versions of this agent that were evaluated on this task."""
        source = self.row or self.failure
        return source.attempts if source else 0


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
    names = share.of(sorted(standings.entries))
    task_results: dict[AgentName, list[TaskResult]] = {name: [] for name in names}
    game_results: dict[AgentName, list[GameResult]] = {name: [] for name in names}
    for board in standings.tasks:
        for name, fields in _rows_and_failures(board, task_results):
            task_results[name].append(TaskResult(task=board.task, **fields))
    for game in standings.games:
        for name, fields in _rows_and_failures(game, game_results):
            opponents = tuple(opponents_of(game, name)) if "row" in fields else ()
            game_results[name].append(GameResult(board=game, opponents=opponents, **fields))
    overall = {row.entry.name: row for row in standings.overall}
    return tuple(
        AgentProfile(
            entry=standings.entries[name],
            overall=overall.get(name),
            task_results=tuple(task_results[name]),
            game_results=tuple(game_results[name]),
        )
        for name in names
    )


def _rows_and_failures(
    board: TaskStandings | GameStandings, chosen: Container[AgentName]
) -> Iterator[tuple[AgentName, dict[str, Any]]]:
    """Each chosen agent on a leaderboard with its row, its failure, or nothing while it waits."""
    for entry, outcome in outcomes_of(board):
        if entry.name in chosen:
            words = entry.quarantined.get(board.task.id, "")
            kind = "row" if isinstance(outcome, RankedEntry) else "failure"
            yield entry.name, {kind: outcome} if outcome else {"quarantine": words}
