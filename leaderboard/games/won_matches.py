"""Matches that players won, to be replayed: one for each of a game's first players, and an animation of the leader's."""

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from evaluator.model.records.duel_record import Duel, MatchEnd, Side, first_side
from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import GameStandings
from leaderboard.games.game_drawings import drawing_of, moves_of
from leaderboard.games.match_svg import BoardMark, GameDrawing, ground_paths
from leaderboard.site_context import REPLAYED_ENTRIES
from leaderboard.text.escape_markdown import escape


@dataclass(frozen=True, kw_only=True)
class WonMatch:
    """A match that a player won against the best opponent that it has beaten."""

    entry: Entry
    opponent: Entry
    duel: Duel
    index: int

    @property
    def address(self) -> str:
        """Of the duel's page, where this match begins to play."""
        return f"?play=1#match={self.index + 1}"


def won_matches(board: GameStandings) -> list[WonMatch]:
    """One match for each of the first players that has won any."""
    return [won for row in board.rows[:REPLAYED_ENTRIES] if (won := _best_win(board, row.entry))]


def match_picture(board: GameStandings, won: WonMatch | None) -> Markup:
    """A match as an animation of its moves; empty if there is none, or if the game cannot be drawn.

    The stylesheet plays it once, and shows only the last position to readers who prefer reduced motion.
    """
    kind = drawing_of(board.task)
    if kind is None or won is None:
        return Markup()
    first = first_side(won.index)
    moves = moves_of(won.duel)[won.index]
    words = f"the last position of a match that {won.entry.shown} won"
    return _picture(kind, kind.render(moves, first, None), len(moves), words)


def leaders_win(board: GameStandings) -> WonMatch | None:
    """A match of the leader; None if it has won none."""
    return _best_win(board, board.rows[0].entry) if board.rows else None


def _best_win(board: GameStandings, entry: Entry) -> WonMatch | None:
    for row in board.rows:
        meeting = board.crosstable.get((entry.name, row.entry.name)) if row.entry.name != entry.name else None
        index = _won_match(meeting.duel, meeting.side) if meeting else None
        if meeting and index is not None:
            return WonMatch(entry=entry, opponent=row.entry, duel=meeting.duel, index=index)
    return None


def _won_match(duel: Duel, side: Side | int) -> int | None:
    """The index of the first match that a side won and that was played to the end."""
    won = (i for i, match in enumerate(duel.matches) if match.winner == side and match.end is MatchEnd.PLAYED)
    return next(won, None)


def _picture(kind: GameDrawing, marks: Iterable[BoardMark], count: int, words: str) -> Markup:
    wide, high = kind.board
    drawn = "".join(
        f'<path class="{kind.symbols[mark.symbol].style} pr-comes" style="--pr-when:{mark.begin / max(1, count):.3f}" '
        f'd="M{mark.x:g} {mark.y:g}{kind.symbols[mark.symbol].path}"/>'
        for mark in marks
        if mark.end is None and mark.x <= wide and mark.y <= high
    )
    head = f'<svg class="pr-match" viewBox="0 0 {wide:g} {high:g}" role="img" aria-label="{escape(words)}">'
    # Our own shapes and numbers; the words are escaped.
    return Markup(f"{head}{ground_paths(kind)}{drawn}</svg>")
