"""Values of the home page: the end of the season, and a small animation for each leader."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from urllib.parse import quote

from markupsafe import Markup

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.phase import to_utc
from evaluator.model.records.duel_record import Duel, MatchEnd, Side
from leaderboard.charts import social_cards
from leaderboard.core.game_standings import GameStandings, HeadToHead
from leaderboard.core.standings import Row
from leaderboard.game_pictures.board_registry import kind_of, moves_of
from leaderboard.game_pictures.svg import BoardKind, BoardMark
from leaderboard.pages import episode_replays
from leaderboard.site_context import SiteContext
from leaderboard.text.escape_markdown import escape
from leaderboard.text.format import format_utc
from leaderboard.text.serialise import segment

# Rows of the overall table on the home page, and on its own page.
HOME_ROWS, MOST_ROWS = 10, 100
# Events under "What is new", and former entries, on the home page.
NEWS, GONE = 8, 5


def feed_name(task_id: str) -> str:
    """The address of a task's feed, without folder and extension."""
    return quote(segment(task_id))


def to_minute(moment: str) -> str:
    """A UTC time without seconds, such as `2026-05-01 12:00 UTC`."""
    return f"{moment[:10]} {moment[11:16]} UTC"


def season_end(challenge: Challenge, now: datetime | None) -> str:
    """When the season ends, in words: with the last phase, if every task is in a phase that has an end."""
    phases = [challenge.phase_of(task.id) for task in challenge.tasks]
    ends = [phase.end for phase in phases if phase and phase.end]
    if not phases or len(ends) < len(phases):
        return "no end set"
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


def episode_picture(row: Row, context: SiteContext, root: str) -> Markup:
    """The best episode of a leader as a small animation; empty if none is rendered."""
    episodes = {episode.which: episode for episode in context.episodes.get(row.result.key, ())}
    shown = episodes.get("best") or next(iter(episodes.values()), None)
    return episode_replays.replay_thumbnail(shown, root) if shown else Markup()


def match_picture(board: GameStandings) -> Markup:
    """A match that the leader of a game won, as an animation of its moves; empty if the game cannot be drawn.

    The stylesheet plays it once, and shows only the last position to readers who prefer reduced motion.
    """
    kind, crossing = kind_of(board.task), _won_duel(board)
    if kind is None or crossing is None:
        return Markup()
    index = _won_match(crossing.duel, crossing.side)
    if index is None:
        return Markup()
    first: Side = 1 if index % 2 else 0
    moves = moves_of(crossing.duel)[index]
    words = f"the last position of a match that {board.rows[0].entry.shown} won"
    return _picture(kind, kind.render(moves, first, None), len(moves), words)


def _won_duel(board: GameStandings) -> HeadToHead | None:
    """The leader's duel against the best opponent that it has beaten at least once."""
    if not board.rows:
        return None
    leader = board.rows[0].entry.name
    duels = (board.crosstable.get((leader, row.entry.name)) for row in board.rows[1:])
    return next((duel for duel in duels if duel and _won_match(duel.duel, duel.side) is not None), None)


def _won_match(duel: Duel, side: Side | int) -> int | None:
    """The index of the first match that a side won and that was played to the end."""
    won = (i for i, match in enumerate(duel.matches) if match.winner == side and match.end is MatchEnd.PLAYED)
    return next(won, None)


def _picture(kind: BoardKind, marks: Iterable[BoardMark], count: int, words: str) -> Markup:
    wide, high = kind.look.board
    ground = "".join(f'<path class="{symbol.style}" d="M0 0{symbol.path}"/>' for symbol in kind.look.ground)
    drawn = "".join(
        f'<path class="{kind.look.symbols[mark.symbol].style} pr-comes" style="--pr-when:{mark.begin / max(1, count):.3f}" '
        f'd="M{mark.x:g} {mark.y:g}{kind.look.symbols[mark.symbol].path}"/>'
        for mark in marks
        if mark.end is None and mark.x <= wide and mark.y <= high
    )
    head = f'<svg class="pr-match" viewBox="0 0 {wide:g} {high:g}" role="img" aria-label="{escape(words)}">'
    # Our own shapes and numbers; the words are escaped.
    return Markup(f"{head}{ground}{drawn}</svg>")


HOME_GLOBALS: Mapping[str, object] = {
    "episode_picture": episode_picture, "match_picture": match_picture, "card_file": social_cards.task_card,
    "HOME_ROWS": HOME_ROWS, "MOST_ROWS": MOST_ROWS, "GONE": GONE, "minute": to_minute, "feed_name": feed_name,
}  # fmt: skip
