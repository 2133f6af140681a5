"""The profile of an agent: its results on all tasks and games."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from leaderboard.core.entry import AgentName
from leaderboard.core.game_standings import GameFailure, GameRow, GameStandings
from leaderboard.core.parallel import WHOLE, Partition
from leaderboard.core.standings import Entry, Failure, OverallRow, Row, Standings, TaskStandings, entries_of
from leaderboard.pages.game_page import Opponent, opponents_of


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """An agent on a task: a row, a failure, or neither while it waits."""

    task: Task
    row: Row | None = None
    failure: Failure | None = None

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
    opponents: tuple[Opponent, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AgentProfile:
    """An agent with all its results, in the order of challenge.yml."""

    entry: Entry
    overall: OverallRow | None
    """Its row of the overall leaderboard, if it has a score."""
    task_results: tuple[TaskResult, ...]
    game_results: tuple[GameResult, ...] = ()


def agent_profiles(standings: Standings, share: Partition = WHOLE) -> tuple[AgentProfile, ...]:
    """The profiles of a share of all agents, sorted by login and agent."""
    # By identity, since all leaderboards share their entries: reading the name for each row takes longer than all the rest.
    by_id = {id(entry): entry for board in standings.boards for entry in entries_of(board)}
    entries = {_name(entry): entry for entry in by_id.values()}
    names = share.of(sorted(entries, key=lambda name: (name[0].casefold(), name)))
    showings: dict[AgentName, list[TaskResult]] = {name: [] for name in names}
    playings: dict[AgentName, list[GameResult]] = {name: [] for name in names}
    wanted = {key: name for key, entry in found.items() if (name := _name(entry)) in showings}
    shown = {key: showings[name] for key, name in wanted.items()}
    played = {key: playings[name] for key, name in wanted.items()}
    for board in standings.tasks:
        for entry, fields in _row_or_failure(board, chosen):
            task_results[chosen[id(entry)]].append(TaskResult(task=board.task, **fields))
    for game in standings.games:
        for entry, fields in _row_or_failure(game, chosen):
            opponents = tuple(opponents_of(game, entry.name)) if "row" in fields else ()
            game_results[chosen[id(entry)]].append(GameResult(board=game, opponents=opponents, **fields))
    overall = {name: row for row in standings.overall if (name := _name(row.entry)) in task_results}
    return tuple(
        AgentProfile(
            entry=entries[name],
            overall=overall.get(name),
            task_results=tuple(task_results[name]),
            game_results=tuple(game_results[name]),
        )
        for name in names
    )


def _name(entry: Entry) -> AgentName:
    return AgentName(entry.login, entry.agent)


def _row_or_failure(board: TaskStandings | GameStandings, chosen: Container[int]) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Each chosen entry of a leaderboard with its row, its failure, or nothing while it waits."""
    yield from ((row.entry, {"row": row}) for row in board.rows if id(row.entry) in chosen)
    yield from ((failure.entry, {"failure": failure}) for failure in board.failures if id(failure.entry) in chosen)
    yield from ((entry, {}) for entry in board.waiting if id(entry) in chosen)
