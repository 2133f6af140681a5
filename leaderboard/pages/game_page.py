"""The pages of games: the board of each, and one page for each duel."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from evaluator.model.records.duel_record import Duel
from leaderboard.charts import rating_charts
from leaderboard.core.entry import AgentName
from leaderboard.core.game_standings import GameRow, GameStandings, HeadToHead, WinCount
from leaderboard.core.standings import Entry
from leaderboard.game_boards.board_registry import moves_of, position_text
from leaderboard.game_boards.match_replay import AllFrames, match_replay, side_names
from leaderboard.text import format, urls

# A wider table is read by nobody; each player's own page has all its duels.
CROSSTABLE = 24


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """One field of a crosstable."""

    count: WinCount
    """From the row's side."""
    page: str
    """The duel's page."""
    tint: str
    """Class by the share of points: `won`, `even` or `lost`."""


@dataclass(frozen=True, kw_only=True)
class Opponent:
    """One opponent of a player."""

    entry: Entry
    """The opponent."""
    meeting: Pairing
    """What came of it."""
    duel: Duel
    """The record."""


def pairing_of(board: GameStandings, crossing: HeadToHead) -> Pairing:
    """A crossing as pages show it."""
    count = crossing.count
    share = count.points / (2 * count.matches) if count.matches else 0.5
    tint = "won" if share > 0.55 else "lost" if share < 0.45 else "even"
    return Pairing(count=count, page=urls.duel_page(board.task.id, crossing.duel), tint=tint)


def crosstable(board: GameStandings) -> list[tuple[GameRow, list[Pairing | None]]]:
    """The first players against each other; None where two have not met."""
    shown = board.rows[:CROSSTABLE]
    table = []
    for row in shown:
        crossings = (board.crosstable.get((row.entry.name, other.entry.name)) for other in shown)
        table.append((row, [None if found is None else pairing_of(board, found) for found in crossings]))
    return table


def opponents_of(board: GameStandings, name: AgentName) -> list[Opponent]:
    """A player's opponents, the strongest first."""
    found = []
    for row in board.rows:
        crossing = board.crosstable.get((name, row.entry.name))
        if crossing is not None:
            found.append(Opponent(entry=row.entry, meeting=pairing_of(board, crossing), duel=crossing.duel))
    return found


def last_position(board: GameStandings, duel: Duel) -> str | None:
    """The position in which a player broke a rule first, in characters."""
    broken = next((index for index, match in enumerate(duel.matches) if match.offenders), None)
    return None if broken is None else position_text(board.task, moves_of(duel)[broken])


def duel_rows(board: GameStandings) -> Iterator[Duel]:
    """Every duel with a page: each pair's once, and the validations that refused a player."""
    yield from {crossing.duel.key: crossing.duel for crossing in board.crosstable.values()}.values()
    yield from (failure.duel for failure in board.failures)


def render_game_pages(board: GameStandings, page: Callable[..., str], frames: AllFrames) -> Mapping[str, str]:
    """The board's page, and the pages of its duels; `page` fills a template."""
    path = urls.task_page(board.task.id)
    scale = rating_charts.rating_scale(board)
    pages = {path: page(path, "game.md.jinja", board=board, task=board.task, scale=scale)}
    entries = {row.entry.name: row.entry for row in board.rows} | {f.entry.name: f.entry for f in board.failures}
    for duel in duel_rows(board):
        path = urls.duel_page(board.task.id, duel)
        shown = match_replay(duel, board.task, frames)
        counts = [_count(duel, side) for side in (0, 1)]
        pages[path] = page(
            path, "duel.html.jinja", task=board.task, duel=duel, replay=shown, counts=counts, names=side_names(duel),
            signed=format.SIGNED,
            entries=[entries.get(AgentName(*player.name)) for player in duel.players],
            assets=Markup(urls.up(path) + "assets/"), root=Markup(urls.up(path)),
        )  # fmt: skip
    return pages


def _count(duel: Duel, side: int) -> WinCount:
    wins = sum(match.winner == side for match in duel.matches)
    draws = sum(match.winner is None and not match.offenders for match in duel.matches)
    errors = sum(side in match.offenders for match in duel.matches)
    score = sum(match.scores[side] for match in duel.matches)
    return WinCount(wins=wins, draws=draws, losses=len(duel.matches) - wins - draws, errors=errors, score=score)
