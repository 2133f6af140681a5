"""Values of the home page: the end of the season, and a small animation for each leader."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from markupsafe import Markup

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.phase import to_utc
from evaluator.model.records.duel_record import Duel, MatchEnd, Side
from leaderboard.charts import social_cards
from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import GameStandings
from leaderboard.core.standings import TaskRow
from leaderboard.games.game_drawings import drawing_of, moves_of
from leaderboard.games.match_svg import BoardMark, GameDrawing, ground_paths
from leaderboard.pages import episode_replays
from leaderboard.site_context import REPLAYED_ENTRIES, SiteContext
from leaderboard.text.escape_markdown import escape
from leaderboard.text.format import format_utc
from leaderboard.text.urls import segment

# Rows of the overall table on the home page, and of it or of the ledger on their own pages.
HOME_ROWS, PAGE_ROWS = 10, 100
# Events under "What is new", and former entries, on the home page.
HOME_EVENTS, HOME_FORMER = 8, 5


def feed_name(task_id: str) -> str:
    """The address of a task's feed, without folder and extension."""
    return quote(segment(task_id))


def to_minute(moment: str) -> str:
    """A UTC time without seconds, such as `2026-05-01 12:00 UTC`."""
    return f"{moment[:10]} {moment[11:16]} UTC"


def season_end(challenge: Challenge, now: datetime | None) -> str:
    """When the season ends, in words: with the last phase, if every task is in a phase that has an end.

    Once `pullrank season final` is merged, submissions have ended, whatever the phases say.
    """
    if challenge.is_final:
        return "submissions have ended"
    phases = [challenge.phase_of(task.id) for task in challenge.tasks]
    ends = [phase.end for phase in phases if phase and phase.end]
    if not phases or len(ends) < len(phases):
        return "no end date"
    last = max(ends, key=to_utc)
    if now is None:
        return f"until {format_utc(last)}"
    left = to_utc(last) - now
    if left.total_seconds() <= 0:
        return f"ended {format_utc(last)}"
    # In weeks while it is far away: each change of these words causes a new deployment of the site.
    days, weeks = left.days, left.days // 7
    if weeks > 1:
        return f"ends {format_utc(last)}, in {weeks} weeks"
    return f"ends {format_utc(last)}, in {days} days" if days > 1 else f"ends {format_utc(last)}"


def episode_picture(row: TaskRow, context: SiteContext, root: str) -> Markup:
    """The median episode of a leader as a small animation; empty if none is rendered."""
    shown = episode_replays.typical_episode(context.episodes.get(row.result.key, ()))
    return episode_replays.replay_thumbnail(shown, root) if shown else Markup()


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
    first: Side = 1 if won.index % 2 else 0
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


HOME_GLOBALS: Mapping[str, object] = {
    "episode_picture": episode_picture, "match_picture": match_picture, "card_file": social_cards.task_card,
    "leaders_win": leaders_win, "won_matches": won_matches,
    "HOME_ROWS": HOME_ROWS, "PAGE_ROWS": PAGE_ROWS, "HOME_FORMER": HOME_FORMER, "minute": to_minute,
    "feed_name": feed_name,
}  # fmt: skip
