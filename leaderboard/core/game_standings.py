"""What the board of a game says: the values that ratings make and that pages, tables and feeds show."""

from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.model.config.challenge import Task
from evaluator.model.config.moderation import Exclusion
from evaluator.model.records.duel_record import Duel
from leaderboard.core.entry import AgentName, Entry


@dataclass(frozen=True, kw_only=True)
class Rating:
    """Strength on the Elo scale, the anchor at 0, and the 95 % interval of the difference to the anchor."""

    elo: float
    """400 points are odds of ten to one."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""


@dataclass(frozen=True, kw_only=True)
class WinCount:
    """Matches from one player's side; a forfeit is counted under wins or losses too."""

    wins: int = 0
    """Won, the opponent's forfeits included."""
    draws: int = 0
    """Drawn."""
    losses: int = 0
    """Lost, one's own forfeits included."""
    errors: int = 0
    """Losses by breaking a rule or failing to go on."""
    score: float = 0.0
    """Returns of all matches together."""

    @property
    def matches(self) -> int:
        """All of them."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> int:
        """Two for a win, one for a draw."""
        return 2 * self.wins + self.draws


@dataclass(frozen=True, kw_only=True)
class GameRow:
    """One rated player."""

    place: int
    """1 for the highest rating; equal ratings share a place."""
    rank_low: int
    """1 + players significantly stronger."""
    rank_high: int
    """N − players significantly weaker."""
    with_leader: bool
    """Not told apart from the leader."""
    entry: Entry
    """Who."""
    rating: Rating
    """How strong, and how sure that is."""
    count: WinCount
    """All its matches."""
    points_place: int
    """Place by (points, wins, score); equal ones share it, the next is skipped."""
    opponents: int
    """Players it met."""
    attempts: int
    """Versions of its owner, or of its team, that were validated."""
    since: str
    """When its present version was validated, in UTC."""


@dataclass(frozen=True, kw_only=True)
class HeadToHead:
    """What one player did against another."""

    count: WinCount
    """From the row's side."""
    duel: Duel
    """The recorded duel."""
    side: int
    """The row's side in it."""


@dataclass(frozen=True, kw_only=True)
class GameFailure:
    """A player that broke a rule against itself: it may not enter."""

    entry: Entry
    """Who."""
    duel: Duel
    """Its validation."""
    reason: str
    """Position and move, or what ended it, in one line."""
    attempts: int
    """Versions of its owner, or of its team, that were validated."""


@dataclass(frozen=True, kw_only=True)
class GameExcluded:
    """A player that moderation keeps off the board."""

    login: str
    """Whose."""
    agent: str
    """Its folder."""
    exclusion: Exclusion
    """Since when, by whom, why."""


@dataclass(frozen=True, kw_only=True)
class PreferenceCycle:
    """How far the data are from an order."""

    names: tuple[str, ...]
    """Each significantly beats the next, and the last the first; empty when there is none."""
    share: float
    """Circular triads among those whose three players all met, 0 to 1."""
    triads: int
    """Those whose three players all met."""


@dataclass(frozen=True, kw_only=True)
class RatingSnapshot:
    """The ratings after one day's duels."""

    day: str
    """UTC, `2026-05-01`."""
    elo: Mapping[AgentName, float]
    """Every player rated by then."""


@dataclass(frozen=True, kw_only=True)
class GameStandings:
    """The board of one game."""

    task: Task
    """Its settings."""
    rows: tuple[GameRow, ...]
    """By place, then the earlier player first."""
    failures: tuple[GameFailure, ...]
    """By login and agent."""
    waiting: tuple[Entry, ...]
    """Entered, but not validated or not yet met with anybody."""
    crosstable: Mapping[tuple[AgentName, AgentName], HeadToHead]
    """For each ordered pair that met."""
    anchor: str | None
    """The name of the player rated 0; None where there is no row."""
    prior: tuple[str, ...]
    """Names of those whose rating needs a prior, since they won, or lost, against all the others."""
    cycle: PreferenceCycle
    """Where the data have no order."""
    history: tuple[RatingSnapshot, ...] = ()
    """By day."""
    excluded: tuple[GameExcluded, ...] = ()
    """By login and agent."""
