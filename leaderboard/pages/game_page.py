"""The page of a game."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evaluator.model.records.duel_record import Duel
from leaderboard.api.table_columns import game_columns, game_lines
from leaderboard.charts import history_charts, interval_charts
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.game_standings import GameRow, GameStandings, HeadToHead, MatchCount
from leaderboard.games.opening_book import has_book, opening_book
from leaderboard.text import urls

# Players in the crosstable; the page of each player lists all its duels.
CROSSTABLE_PLAYERS = 24


@dataclass(frozen=True, kw_only=True)
class CrosstableCell:
    """One cell of a crosstable."""

    count: MatchCount
    """From the side of the row's player."""
    page: str
    tint: str
    """CSS class by the share of points: `won`, `even` or `lost`."""


@dataclass(frozen=True, kw_only=True)
class Opponent:
    """One opponent of a player."""

    entry: Entry
    cell: CrosstableCell
    duel: Duel


def crosstable_cell(board: GameStandings, meeting: HeadToHead) -> CrosstableCell:
    """A head-to-head record as a cell of a crosstable."""
    count = meeting.count
    tint = "won" if count.points_share > 0.55 else "lost" if count.points_share < 0.45 else "even"
    return CrosstableCell(count=count, page=urls.duel_page(board.task.id, meeting.duel), tint=tint)


def crosstable(board: GameStandings) -> list[tuple[GameRow, list[CrosstableCell | None]]]:
    """The first players against each other; None for pairs without a duel."""
    shown = board.rows[:CROSSTABLE_PLAYERS]
    table = []
    for row in shown:
        meetings = (board.crosstable.get((row.entry.name, other.entry.name)) for other in shown)
        table.append((row, [None if meeting is None else crosstable_cell(board, meeting) for meeting in meetings]))
    return table


def opponents_of(board: GameStandings, name: AgentName) -> list[Opponent]:
    """A player's opponents, the strongest first."""
    opponents = []
    for row in board.rows:
        meeting = board.crosstable.get((name, row.entry.name))
        if meeting is not None:
            opponents.append(Opponent(entry=row.entry, cell=crosstable_cell(board, meeting), duel=meeting.duel))
    return opponents


def render_game_page(board: GameStandings, page: Callable[..., str], networks: Mapping[str, str]) -> Mapping[str, str]:
    """The page of the leaderboard, with its opening book and its leader's network; `page` renders a template."""
    path = urls.task_page(board.task.id)
    book = urls.address(path) + "book.json" if has_book(board) else ""
    network = urls.address(path) + "network.json" if book and board.task.id in networks else ""
    pages = {
        path: page(
            path, "game.md.jinja", board=board, book=book, network=network, task=board.task,
            shown_columns=game_columns(), lines=game_lines(board),
            scale=interval_charts.rating_scale(board), crosstable=crosstable(board),
            history=history_charts.rating_history(board),
        )
    }  # fmt: skip
    if book:
        pages[book] = opening_book(board)
    if network:
        pages[network] = networks[board.task.id]
    return pages
