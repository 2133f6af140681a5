"""What a board says of one agent, gathered from all its tasks."""

from collections.abc import Iterator
from dataclasses import dataclass

from evaluator.model.challenge import Task
from evaluator.model.result import Result
from leaderboard.game_pages import Met, met
from leaderboard.game_standings import GameBoard, GameFailure, GameRow
from leaderboard.standings import Entry, Estimate, Failure, OverallRow, Row, Standings


@dataclass(frozen=True, kw_only=True)
class Showing:
    """One agent on one task: a place, a failure, or neither yet."""

    task: Task
    """The task."""
    row: Row | None = None
    """Its place, if it has one."""
    failure: Failure | None = None
    """Its failure, if it failed."""
    field: tuple[Estimate, ...] = ()
    """All scores of the task, to draw this one among them."""

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
class Playing:
    """One agent in one game: a rating, a refusal, or neither yet."""

    board: GameBoard
    """The game's board."""
    row: GameRow | None = None
    """Its place, if it has one."""
    failure: GameFailure | None = None
    """Why it may not enter, if so."""
    met: tuple[Met, ...] = ()
    """Its opponents."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One agent."""

    entry: Entry
    """Who."""
    overall: OverallRow | None
    """Its place across all tasks, if it has a score."""
    showings: tuple[Showing, ...]
    """The tasks it entered, in the challenge's order."""
    playings: tuple[Playing, ...] = ()
    """The games it entered, in the challenge's order."""


def profiles(standings: Standings) -> tuple[Profile, ...]:
    """Every agent that any task or game names, by login and agent."""
    entries: dict[tuple[str, str], Entry] = {}
    showings: dict[tuple[str, str], list[Showing]] = {}
    playings: dict[tuple[str, str], list[Playing]] = {}
    for entry, showing in _showings(standings):
        entries[_name(entry)] = entry
        showings.setdefault(_name(entry), []).append(showing)
    for entry, playing in _playings(standings):
        entries[_name(entry)] = entry
        playings.setdefault(_name(entry), []).append(playing)
    overall = {_name(row.entry): row for row in standings.overall}
    return tuple(
        Profile(
            entry=entries[name],
            overall=overall.get(name),
            showings=tuple(showings.get(name, ())),
            playings=tuple(playings.get(name, ())),
        )
        for name in sorted(entries, key=lambda name: (name[0].casefold(), name))
    )


def _name(entry: Entry) -> tuple[str, str]:
    return entry.login, entry.agent


def _showings(standings: Standings) -> Iterator[tuple[Entry, Showing]]:
    for board in standings.tasks:
        field = tuple(row.estimate for row in board.rows)
        for row in board.rows:
            yield row.entry, Showing(task=board.task, row=row, field=field)
        for failure in board.failures:
            yield failure.entry, Showing(task=board.task, failure=failure)
        for entry in board.waiting:
            yield entry, Showing(task=board.task)


def _playings(standings: Standings) -> Iterator[tuple[Entry, Playing]]:
    for board in standings.games:
        for row in board.rows:
            yield row.entry, Playing(board=board, row=row, met=tuple(met(board, row.entry.name)))
        for failure in board.failures:
            yield failure.entry, Playing(board=board, failure=failure)
        for entry in board.waiting:
            yield entry, Playing(board=board)
