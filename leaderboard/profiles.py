"""What a board says of one agent, gathered from all its tasks."""

from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.model.challenge import Task
from evaluator.model.result import Result
from leaderboard.game_pages import Met, met
from leaderboard.game_standings import GameBoard, GameFailure, GameRow
from leaderboard.share import WHOLE, Share
from leaderboard.standings import Entry, Failure, OverallRow, Row, Standings, TaskBoard

Name = tuple[str, str]
"""Login and agent, as written."""


@dataclass(frozen=True, kw_only=True)
class Showing:
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


def profiles(standings: Standings, share: Share = WHOLE) -> tuple[Profile, ...]:
    """A share of all agents that any task or game names, by login and agent; nothing is made of the others."""
    # By identity, since all boards name the same entries: to read a name for each row takes longer than all the rest.
    boards: list[TaskBoard | GameBoard] = [*standings.tasks, *standings.games]
    found = {id(entry): entry for board in boards for entry in _entries(board)}
    entries = {_name(entry): entry for entry in found.values()}
    names = share.of(sorted(entries, key=lambda name: (name[0].casefold(), name)))
    showings: dict[Name, list[Showing]] = {name: [] for name in names}
    playings: dict[Name, list[Playing]] = {name: [] for name in names}
    wanted = {key: name for key, entry in found.items() if (name := _name(entry)) in showings}
    shown = {key: showings[name] for key, name in wanted.items()}
    played = {key: playings[name] for key, name in wanted.items()}
    for board in standings.tasks:
        _show(board, shown)
    for game in standings.games:
        _play(game, played)
    overall = {name: row for row in standings.overall if (name := _name(row.entry)) in showings}
    return tuple(
        Profile(
            entry=entries[name],
            overall=overall.get(name),
            showings=tuple(showings[name]),
            playings=tuple(playings[name]),
        )
        for name in names
    )


def _name(entry: Entry) -> Name:
    return entry.login, entry.agent


def _entries(board: TaskBoard | GameBoard) -> list[Entry]:
    return [*(row.entry for row in board.rows), *(failure.entry for failure in board.failures), *board.waiting]


def _show(board: TaskBoard, showings: Mapping[int, list[Showing]]) -> None:
    """Add what one task says of each agent that is asked for."""
    task = board.task
    for row in board.rows:
        if (own := showings.get(id(row.entry))) is not None:
            own.append(Showing(task=task, row=row))
    for failure in board.failures:
        if (own := showings.get(id(failure.entry))) is not None:
            own.append(Showing(task=task, failure=failure))
    for entry in board.waiting:
        if (own := showings.get(id(entry))) is not None:
            own.append(Showing(task=task))


def _play(board: GameBoard, playings: Mapping[int, list[Playing]]) -> None:
    """Add what one game says of each agent that is asked for."""
    for row in board.rows:
        if (own := playings.get(id(row.entry))) is not None:
            own.append(Playing(board=board, row=row, met=tuple(met(board, row.entry.name))))
    for failure in board.failures:
        if (own := playings.get(id(failure.entry))) is not None:
            own.append(Playing(board=board, failure=failure))
    for entry in board.waiting:
        if (own := playings.get(id(entry))) is not None:
            own.append(Playing(board=board))
