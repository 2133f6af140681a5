"""What a comment says of games: ratings, opponents and refusals in words. All of it is ours but what stands in code."""

from collections.abc import Iterable

from markupsafe import Markup

from leaderboard.comments.phrases import is_plain, title_of
from leaderboard.comments.states import AgentPreview, GamePreview, PreviewDuel
from leaderboard.comments.text_charts import LEADER, SCORE, TextBar, text_chart, text_shares
from leaderboard.core.game_standings import Rating
from leaderboard.core.standings import Estimate
from leaderboard.text.escape_markdown import cell
from leaderboard.text.format import counted, number, ranks, span

# Those that a template may print as they are: their Markdown is ours.
SENTENCES = (
    "game_name", "elo", "elo_interval", "game_place", "game_ranks", "elo_change", "elo_to_leader", "elo_bars", "record",
    "elo_scale", "opponents_title",
)  # fmt: skip
_HARD = "\N{NO-BREAK SPACE}"

Pair = tuple[AgentPreview, GamePreview]


def rated_phrase(agents: Iterable[AgentPreview]) -> list[Pair]:
    """Every player that met somebody, or has a rating."""
    return [(agent, game) for agent in agents for game in agent.games if game.rating or game.meetings]


def admitted_phrase(agents: Iterable[AgentPreview]) -> list[Pair]:
    """Every player that passed its validation and met nobody yet."""
    return [
        (agent, game)
        for agent in agents
        for game in agent.games
        if not game.rating and not game.meetings and game.refusal is None and game.failed is None
    ]


def refused_phrase(agents: Iterable[AgentPreview]) -> list[Pair]:
    """Every player that its validation refused, then what failed on our side."""
    found = [(agent, game) for agent in agents for game in agent.games if game.refusal is not None or game.failed]
    return sorted(found, key=lambda pair: pair[1].refusal is None)


def unsigned_number(pairs: Iterable[Pair]) -> bool:
    """Whether some seeds come from a commit that GitHub did not sign."""
    return any(not game.signed for _, game in pairs)


def game_name(game: GamePreview) -> Markup:
    """The game's title."""
    return title_of(game.task)


def elo(game: GamePreview) -> str:
    """The rating alone."""
    return _signed(game.rating.elo) if game.rating else "–"


def _signed(value: float) -> str:
    shown = number(value, 0)
    return f"+{shown}" if value > 0 and shown != "0" else shown


def elo_interval(game: GamePreview) -> str:
    """The 95 % interval of the difference to the anchor."""
    return span(game.rating.low, game.rating.high, 0).replace(" ", _HARD) if game.rating else "–"


def game_place(game: GamePreview) -> Markup:
    """The place, and what it is out of."""
    return Markup(f"**{game.place}** of {game.players}".replace(" ", _HARD)) if game.place else Markup("–")


def game_ranks(game: GamePreview) -> str:
    """The places that the data allows."""
    return ranks(game.rank_low, game.rank_high) if game.rank_low and game.rank_high else "–"


def elo_change(game: GamePreview) -> str:
    """The difference to the author's own last version."""
    return _signed(game.rating.elo - game.own_last.elo) if game.rating and game.own_last else "new"


def elo_to_leader(game: GamePreview) -> Markup:
    """The difference to the best of the others, and who that is."""
    if game.rating is None or game.leader is None:
        return Markup("–")
    gap = game.rating.elo - game.leader.elo
    shown = Markup("{} to {}").format(_signed(gap), cell(game.leader_name or "another"))
    if gap > 0:
        return Markup("**leads**, {}").format(shown)
    return shown + Markup(", not told apart") if game.with_leader else shown


def elo_bars(game: GamePreview) -> str:
    """The player, its last version and the leader on one scale."""
    leads = game.rating and game.leader and game.rating.elo > game.leader.elo
    best = "next" if leads else "leader"
    shown: list[tuple[str, Rating | None]] = [("this", game.rating), ("before", game.own_last), (best, game.leader)]
    drawn = [TextBar(name=name, estimate=_estimate(r), mark=LEADER if name == "leader" else SCORE) for name, r in shown if r]
    return text_chart(drawn, 0)


def _estimate(rating: Rating) -> Estimate:
    return Estimate(score=rating.elo, low=rating.low, high=rating.high)


def record(meeting: PreviewDuel) -> str:
    """Won, drawn, lost."""
    count = meeting.count
    return f"{count.wins} | {count.draws} | {count.losses}"


def record_bar(meeting: PreviewDuel) -> str:
    """The same as a bar."""
    return text_shares(meeting.count.wins, meeting.count.draws, meeting.count.losses)


def opponents_title(game: GamePreview) -> str:
    """The heading of a folded table, where GitHub reads no Markdown: a title stands there if it is plain."""
    title = game.task.title or game.task.id
    return f"Opponents on {title}" if is_plain(title) else "Opponents"


def elo_scale(pairs: Iterable[Pair]) -> Markup:
    """What a rating means."""
    anchors = sorted({game.anchor for _, game in pairs if game.rating and game.anchor})
    zero = Markup(", {} is 0").format(cell(anchors[0])) if len(anchors) == 1 else Markup("")
    return Markup("Ratings are on the Elo scale: 400 points are odds of ten to one{}.").format(zero)


def duels_in_words(game: GamePreview) -> Markup:
    """One game in a few words, for the headline."""
    place = f", place {game.place} of {game.players}" if game.place else ""
    if game.rating:
        return Markup("{} Elo on {}{}").format(elo(game), game_name(game), place)
    if not game.meetings:
        return Markup("may enter {}").format(game_name(game))
    count = game.count
    matches = counted(count.matches, "match", "matches")
    return Markup("{} of {} won on {}").format(str(count.wins), matches, game_name(game))
