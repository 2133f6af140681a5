"""The pages of duels, with every match to be replayed."""

from collections.abc import Callable, Mapping

from markupsafe import Markup

from evaluator.model.records.duel_record import Duel
from leaderboard.charts.social_cards import duel_card
from leaderboard.core.entry import AgentName
from leaderboard.core.game_standings import GameStandings, count_matches, shown_duels
from leaderboard.games.game_drawings import moves_of, position_text
from leaderboard.games.match_replay import FIRST_MATCHES, match_replay, side_names
from leaderboard.site_context import AllFrames
from leaderboard.text import format, urls


def last_position(board: GameStandings, duel: Duel) -> str | None:
    """The position of the first match in which a player broke a rule, as text."""
    broken = next((index for index, match in enumerate(duel.matches) if match.offenders), None)
    return None if broken is None else position_text(board.task, moves_of(duel)[broken])


def render_duel_pages(board: GameStandings, page: Callable[..., str], frames: AllFrames) -> Mapping[str, str]:
    """The pages of a game's duels; `page` renders a template."""
    pages = {}
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
