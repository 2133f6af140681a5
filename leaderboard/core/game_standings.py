"""The standings of a game: counts of matches and what they are worth, ratings, and what pages, tables and feeds show."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchRecord
from leaderboard.core.entry import AgentName, Entry, Estimate, Excluded, RankedEntry

WIN_POINTS, DRAW_POINTS = 2, 1


@dataclass(frozen=True, kw_only=True)
class MatchCount:
    """Matches counted for one player; a forfeit counts as a win or a loss too."""

    won: int = 0
    drawn: int = 0
    lost: int = 0
    errors: int = 0
    """Losses by breaking a rule or failing to go on."""
    score: float = 0.0
    """Sum of the returns of all matches."""

    @property
    def matches(self) -> int:
        """All of them."""
        return self.won + self.drawn + self.lost

    @property
    def points(self) -> int:
        """Those of the matches that it won and drew."""
        return WIN_POINTS * self.won + DRAW_POINTS * self.drawn

    @property
    def points_share(self) -> float:
        """Points as a share of what winning every match would give; a half without matches."""
        return self.points / (WIN_POINTS * self.matches) if self.matches else 0.5

    @classmethod
    def total(cls, counts: Iterable["MatchCount"]) -> "MatchCount":
        """The sum of some counts; that of the scores is exactly rounded."""
        counts = list(counts)
        return cls(
            won=sum(count.won for count in counts), drawn=sum(count.drawn for count in counts),
            lost=sum(count.lost for count in counts), errors=sum(count.errors for count in counts),
            score=math.fsum(count.score for count in counts),
        )  # fmt: skip


def count_matches(matches: Sequence[MatchRecord], side: int) -> MatchCount:
    """What one side did in these matches."""
    won = drawn = errors = 0
    for match in matches:
        won += match.winner == side
        drawn += match.winner is None and not match.offenders
        errors += side in match.offenders
    score = math.fsum(match.scores[side] for match in matches)
    return MatchCount(won=won, drawn=drawn, lost=len(matches) - won - drawn, errors=errors, score=score)


@dataclass(frozen=True, kw_only=True)
class Rating:
    """A difference on the Elo scale, and its 95 % interval; a player's rating is the difference to the anchor."""

    elo: float
    """400 points are odds of ten to one."""
    low: float
    high: float

    @property
    def estimate(self) -> Estimate:
        """In the form that charts of scores take."""
        return Estimate(score=self.elo, low=self.low, high=self.high)


@dataclass(frozen=True, kw_only=True)
class GameRow(RankedEntry):
    """One rated player."""

    rating: Rating
    count: MatchCount
    """All its matches."""
    points_place: int
    """Place by (points, wins, score); equal ones share it, the next is skipped."""
    opponents: int
    """Players with which it played a duel."""
    versions_tried: int
    """Versions of its owner, or of its team, that were validated."""
    since: str
    """When its present version was validated first, in UTC."""

    @property
    def estimate(self) -> Estimate:
        """Its rating, as rows of tasks have a score."""
        return self.rating.estimate


@dataclass(frozen=True, kw_only=True)
class HeadToHead:
    """What one player did against another."""

    count: MatchCount
    """From the row's side."""
    duel: Duel
    side: int
    """The row's side in the duel."""


@dataclass(frozen=True, kw_only=True)
class GameFailure:
    """A player that broke a rule in its validation: it may not enter."""

    entry: Entry
    duel: Duel
    """The validation."""
    reason: str
    """Position and move, or what ended it, in one line."""
    versions_tried: int
    """As in `GameRow`."""


@dataclass(frozen=True, kw_only=True)
class PreferenceCycle:
    """How far the results are from an order."""

    names: tuple[str, ...]
    """Each significantly beats the next, and the last the first; empty if there is no such cycle."""
    share: float
    """Circular triads among those whose three players all met, 0 to 1."""
    triads: int
    """Those whose three players all met."""


@dataclass(frozen=True, kw_only=True)
class RatingSnapshot:
    """The ratings after one day's duels."""

    day: str
    """In UTC, `2026-05-01`."""
    elo: Mapping[AgentName, float]
    """Of every player rated by then."""


@dataclass(frozen=True, kw_only=True)
class GameStandings:
    """The leaderboard of one game."""

    task: Task
    rows: tuple[GameRow, ...]
    """By place, then the earlier player first; those whose place another version holds come last."""
    failures: tuple[GameFailure, ...]
    """By login and agent."""
    waiting: tuple[Entry, ...]
    """Entered, but not validated, or without a duel yet."""
    crosstable: Mapping[tuple[AgentName, AgentName], HeadToHead]
    """For each ordered pair with a duel."""
    anchor: str | None
    """The player rated 0, `login/agent`; None if there is no row."""
    prior: tuple[str, ...]
    """Players whose rating needs a prior, since they won, or lost, against all others."""
    cycle: PreferenceCycle
    moving_first: Rating | None = None
    """What moving first is worth between equals; None if nobody moves first, or nobody is rated."""
    history: tuple[RatingSnapshot, ...] = ()
    """By day."""
    excluded: tuple[Excluded, ...] = ()
    """By login and agent."""
    superseded: Mapping[AgentName, str] = field(default_factory=dict)
    """As in `TaskStandings`."""

    def agent_title(self, player: str) -> str:
        """The display name of a player `login/agent`; the same text if it has no row."""
        return next((row.entry.submission.name for row in self.rows if row.entry.shown == player), player)


def shown_duels(board: GameStandings) -> Iterator[Duel]:
    """Every duel that has a page: one for each pair, and the validations that refused a player."""
    yield from {meeting.duel.key: meeting.duel for meeting in board.crosstable.values()}.values()
    yield from (failure.duel for failure in board.failures)
