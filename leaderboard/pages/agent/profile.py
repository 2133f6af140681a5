"""What a board says of one agent, gathered from all its tasks."""

from collections.abc import Container, Iterator, Mapping
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
    """One agent on one task: a place, a failure, or neither yet."""

    task: Task
    """The task."""
    row: Row | None = None
    """Its place, if it has one."""
    failure: Failure | None = None
    """Its failure, if it failed."""

    @property
    def result(self) -> Result | None:
        """What is recorded; None while it waits."""
        known = self.row or self.failure
        return known.result if known else None

    @property
    def attempts(self) -> int:
        """Versions of this agent that were evaluated on this task."""
        known = self.row or self.failure
        return known.attempts if known else 0


@dataclass(frozen=True, kw_only=True)
class GameResult:
    """One agent in one game: a rating, a refusal, or neither yet."""

    board: GameStandings
    """The game's board."""
    row: GameRow | None = None
    """Its place, if it has one."""
    failure: GameFailure | None = None
    """Why it may not enter, if so."""
    met: tuple[Opponent, ...] = ()
    """Its opponents."""


@dataclass(frozen=True, kw_only=True)
class AgentProfile:
    """One agent."""

    entry: Entry
    """Who."""
    overall: OverallRow | None
    """Its place across all tasks, if it has a score."""
    showings: tuple[TaskResult, ...]
    """The tasks it entered, in the challenge's order."""
    playings: tuple[GameResult, ...] = ()
    """The games it entered, in the challenge's order."""


def agent_profiles(standings: Standings, share: Partition = WHOLE) -> tuple[AgentProfile, ...]:
    """A share of all agents that any task or game names, by login and agent; nothing is made of the others."""
    # By identity, since all boards name the same entries: to read a name for each row takes longer than all the rest.
    found = {id(entry): entry for board in standings.boards for entry in entries_of(board)}
    entries = {_name(entry): entry for entry in found.values()}
    names = share.of(sorted(entries, key=lambda name: (name[0].casefold(), name)))
    showings: dict[AgentName, list[TaskResult]] = {name: [] for name in names}
    playings: dict[AgentName, list[GameResult]] = {name: [] for name in names}
    wanted = {key: name for key, entry in found.items() if (name := _name(entry)) in showings}
    shown = {key: showings[name] for key, name in wanted.items()}
    played = {key: playings[name] for key, name in wanted.items()}
    for board in standings.tasks:
        _show(board, shown)
    for game in standings.games:
        _play(game, played)
    overall = {name: row for row in standings.overall if (name := _name(row.entry)) in showings}
    return tuple(
        AgentProfile(
            entry=entries[name],
            overall=overall.get(name),
            showings=tuple(showings[name]),
            playings=tuple(playings[name]),
        )
        for name in names
    )


def _name(entry: Entry) -> AgentName:
    return AgentName(entry.login, entry.agent)


def _show(board: TaskStandings, showings: Mapping[int, list[TaskResult]]) -> None:
    """Add what one task says of each agent that is asked for."""
    for entry, known in _said(board, showings):
        showings[id(entry)].append(TaskResult(task=board.task, **known))


def _play(board: GameStandings, playings: Mapping[int, list[GameResult]]) -> None:
    """Add what one game says of each agent that is asked for."""
    for entry, known in _said(board, playings):
        opponents = tuple(opponents_of(board, entry.name)) if "row" in known else ()
        playings[id(entry)].append(GameResult(board=board, met=opponents, **known))


def _said(board: TaskStandings | GameStandings, wanted: Container[int]) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """What a board says of each entry that is wanted: its row, its failure, or nothing while it waits."""
    yield from ((row.entry, {"row": row}) for row in board.rows if id(row.entry) in wanted)
    yield from ((failure.entry, {"failure": failure}) for failure in board.failures if id(failure.entry) in wanted)
    yield from ((entry, {}) for entry in board.waiting if id(entry) in wanted)
