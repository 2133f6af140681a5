"""The pages of games: one with the leaderboard, and one for each duel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from evaluator.model.records.duel_record import Duel
from leaderboard.api.table_columns import game_columns, game_lines
from leaderboard.charts import history_charts, interval_charts
from leaderboard.charts.social_cards import duel_card
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.game_standings import GameRow, GameStandings, HeadToHead, MatchCount, count_matches, shown_duels
from leaderboard.games.game_drawings import moves_of, position_text
from leaderboard.games.match_replay import FIRST_MATCHES, match_replay, side_names
from leaderboard.games.opening_book import has_book, opening_book
from leaderboard.site_context import AllFrames
from leaderboard.text import format, urls

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


def last_position(board: GameStandings, duel: Duel) -> str | None:
    """The position of the first match in which a player broke a rule, as text."""
    broken = next((index for index, match in enumerate(duel.matches) if match.offenders), None)
    return None if broken is None else position_text(board.task, moves_of(duel)[broken])


def render_game_pages(
    board: GameStandings, page: Callable[..., str], frames: AllFrames, networks: Mapping[str, str]
) -> Mapping[str, str]:
    """The page of the leaderboard and the pages of its duels; `page` renders a template."""
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
    entries = {row.entry.name: row.entry for row in board.rows} | {f.entry.name: f.entry for f in board.failures}
    for duel in shown_duels(board):
        path = urls.duel_page(board.task.id, duel)
        players = [entries.get(AgentName(*player.name)) for player in duel.players]
        names = side_names(duel, [player.submission.name if player else None for player in players])
        replay = match_replay(duel, board.task, frames, names)
        counts = [count_matches(duel.matches, side) for side in (0, 1)]
        pages[path] = page(
            path, "duel.html.jinja", task=board.task, duel=duel, replay=replay, counts=counts, names=names,
            card=duel_card(board, duel),
            signed=format.SIGNED, FIRST_MATCHES=FIRST_MATCHES,
            entries=players,
            assets=Markup(urls.up(path) + "assets/"), root=Markup(urls.up(path)),
        )  # fmt: skip
    return pages
