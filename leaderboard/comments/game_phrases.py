"""The phrases of a comment on games: ratings, opponents, refusals. Entrants' text stands only in code spans."""

from collections.abc import Iterable

from markupsafe import Markup

from leaderboard.charts.interval_chart import rating_estimate
from leaderboard.comments.phrases import compared_bars, is_plain, title_of
from leaderboard.comments.states import AgentPreview, GamePreview, PreviewDuel
from leaderboard.comments.text_charts import text_shares
from leaderboard.text.escape_markdown import cell
from leaderboard.text.format import counted, number, ranks, span

# The functions whose return value templates print without escaping.
GAME_PHRASES = (
    "game_name", "elo", "elo_interval", "game_place", "game_ranks", "elo_change", "elo_to_leader", "elo_bars", "record",
    "elo_scale", "opponents_title",
)  # fmt: skip
_HARD = "\N{NO-BREAK SPACE}"

PlayerInGame = tuple[AgentPreview, GamePreview]


def rated_players(agents: Iterable[AgentPreview]) -> list[PlayerInGame]:
    """Every player that has opponents or a rating."""
    return [(agent, game) for agent in agents for game in agent.games if game.rating or game.meetings]


def admitted_players(agents: Iterable[AgentPreview]) -> list[PlayerInGame]:
    """Every player that passed its validation and has no opponents yet."""
    return [
        (agent, game)
        for agent in agents
        for game in agent.games
        if not game.rating and not game.meetings and game.refusal is None and game.failed is None
    ]


def refused_players(agents: Iterable[AgentPreview]) -> list[PlayerInGame]:
    """Every player that its validation refused, then those that failed by our fault."""
    pairs = [(agent, game) for agent in agents for game in agent.games if game.refusal is not None or game.failed]
    return sorted(pairs, key=lambda pair: pair[1].refusal is None)


def any_unsigned(pairs: Iterable[PlayerInGame]) -> bool:
    """Whether some seeds come from a commit that GitHub did not sign."""
    return any(not game.signed for _, game in pairs)


def game_name(game: GamePreview) -> Markup:
    """The game's title."""
    return title_of(game.task)


def elo(game: GamePreview) -> str:
    """The rating without its interval."""
    return _signed(game.rating.elo) if game.rating else "–"


def _signed(value: float) -> str:
    shown = number(value, 0)
    return f"+{shown}" if value > 0 and shown != "0" else shown


def elo_interval(game: GamePreview) -> str:
    """The 95 % interval of the difference to the anchor."""
    return span(game.rating.low, game.rating.high, 0).replace(" ", _HARD) if game.rating else "–"


def game_place(game: GamePreview) -> Markup:
    """The place, and the number of players."""
    return Markup(f"**{game.place}** of {game.players}".replace(" ", _HARD)) if game.place else Markup("–")


def game_ranks(game: GamePreview) -> str:
    """The rank range."""
    return ranks(game.rank_low, game.rank_high) if game.rank_low and game.rank_high else "–"


def elo_change(game: GamePreview) -> str:
    """The difference to the author's previous version."""
    return _signed(game.rating.elo - game.own_last.elo) if game.rating and game.own_last else "new"


def elo_to_leader(game: GamePreview) -> Markup:
    """The difference to the best other player, and its name."""
    if game.rating is None or game.leader is None:
        return Markup("–")
    gap = game.rating.elo - game.leader.elo
    shown = Markup("{} to {}").format(_signed(gap), cell(game.leader_name or "another"))
    if gap > 0:
        return Markup("**leads**, {}").format(shown)
    return shown + Markup(", statistically tied") if game.with_leader else shown


def elo_bars(game: GamePreview) -> str:
    """A text chart of the player, its previous version, and the best other player."""
    ratings = (game.rating, game.own_last, game.leader)
    this, before, other = (rating_estimate(rating) if rating else None for rating in ratings)
    leads = bool(this and other and this.score > other.score)
    return compared_bars(this, before, other, 0, leads=leads)


def record(meeting: PreviewDuel) -> str:
    """Won, drawn and lost, as three table cells."""
    count = meeting.count
    return f"{count.wins} | {count.draws} | {count.losses}"


def record_bar(meeting: PreviewDuel) -> str:
    """Won, drawn and lost, as a bar."""
    return text_shares(meeting.count.wins, meeting.count.draws, meeting.count.losses)


def opponents_title(game: GamePreview) -> str:
    """The summary of a folded table. GitHub reads no Markdown there, so the title is used only if it is plain."""
    title = game.task.title or game.task.id
    return f"Opponents on {title}" if is_plain(title) else "Opponents"


def elo_scale(pairs: Iterable[PlayerInGame]) -> Markup:
    """The sentence that explains the rating scale."""
    anchors = sorted({game.anchor for _, game in pairs if game.rating and game.anchor})
    zero = Markup("; {} has rating 0").format(cell(anchors[0])) if len(anchors) == 1 else Markup("")
    return Markup("Ratings are on the Elo scale: a difference of 400 points means odds of 10 to 1{}.").format(zero)


def duels_in_words(game: GamePreview) -> Markup:
    """The result in one game, for the headline."""
    place = f", place {game.place} of {game.players}" if game.place else ""
    if game.rating:
        return Markup("{} Elo on {}{}").format(elo(game), game_name(game), place)
    if not game.meetings:
        return Markup("may enter {}").format(game_name(game))
    count = game.count
    matches = counted(count.matches, "match", "matches")
    return Markup("{} of {} won on {}").format(str(count.wins), matches, game_name(game))
