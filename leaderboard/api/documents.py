"""The type of every JSON document: mypy checks what is built against it, and `openapi.py` generates the schemas from it.

Objects are closed: they have no key that their type does not name. A `NotRequired` key is left out where it has no value.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, with_config
from typing_extensions import TypedDict

from evaluator.model.config.metric import Direction
from evaluator.model.config.submission import SubmissionKind
from evaluator.model.records.result import SandboxKind
from evaluator.model.records.verdict import Verdict

UtcTime = Annotated[str, Field(description="UTC, ISO 8601")]
Address = Annotated[str, Field(description="below the site's root")]
Medal = Literal["gold", "silver", "bronze"]


@with_config(extra="forbid")
class ClosedObject(TypedDict):
    """An object without further keys."""


class VerifiedJson(ClosedObject):
    """The host who vouches for an entry."""

    since: str
    who: str
    why: str
    link: str | None


class FlagsJson(ClosedObject):
    """What the hosts say of an entry; each key is there only where it is true."""

    baseline: NotRequired[Literal[True]]
    host: NotRequired[Literal[True]]
    anonymous: NotRequired[Literal[True]]
    verified: NotRequired[VerifiedJson]


class EntryJson(FlagsJson):
    """An agent on a leaderboard."""

    login: str
    agent: str
    name: str


class WaitingJson(EntryJson):
    """An agent without a record that counts."""

    quarantine: NotRequired[Annotated[str, Field(description="there only where its record is in quarantine")]]


class PlaceJson(ClosedObject):
    """Where a row stands."""

    place: Annotated[
        int | None, Field(description="null for baselines, hosts' own and rows with held_by: they take no place")
    ]
    rank_low: Annotated[int, Field(description="1 + entries significantly better, at 95 %")]
    rank_high: Annotated[int, Field(description="entries less those significantly worse")]
    with_leader: Annotated[bool, Field(description="statistically tied with the leader: the rank interval begins at 1")]
    tries: Annotated[int, Field(description="versions and draws that it was chosen from; 1 in final ranks")]
    held_by: NotRequired[
        Annotated[str, Field(description="in final ranks: the version of its owner that holds the place, login/agent")]
    ]


class EstimateJson(ClosedObject):
    """A score and its 95 % interval; null where there is none."""

    score: float | None
    low: float | None
    high: float | None


class CostJson(ClosedObject):
    """What an agent used."""

    cpu_seconds: float | None
    wall_seconds: float
    peak_memory_bytes: int | None
    steps: int


class MetricJson(ClosedObject):
    """A metric of a task."""

    name: str
    kind: str
    direction: Direction
    decimals: int
    description: str
    threshold: float | None


class SourceJson(ClosedObject):
    """What an entry's manifest says of its making."""

    algorithm: str
    authors: list[str]
    kind: SubmissionKind


class ImprovementJson(ClosedObject):
    """Probability that an episode of a row is better than one of another, a tie counted half, and its 95 % interval."""

    probability: float
    low: float
    high: float


class NextJson(ClosedObject):
    """A row against the next one of the leaderboard."""

    improvement_on_next: Annotated[
        ImprovementJson | None, Field(description="null in the last row and where episodes are not shown")
    ]


class LinksJson(ClosedObject):
    """An entry's page and its document."""

    page: Address
    api: Address


class ScoresJson(ClosedObject):
    """What one result amounts to."""

    estimate: EstimateJson
    metrics: dict[str, float | None]
    attempts: int
    episodes: int
    key: str | None


class MeasuredJson(ScoresJson):
    """What was measured for a row."""

    evaluated_at: UtcTime
    cost: CostJson
    medal: Medal | None


class RankedRowJson(PlaceJson, EntryJson, ScoresJson, NextJson):
    """A row as `pullrank rank --json` prints it."""


class RowJson(PlaceJson, EntryJson, MeasuredJson, NextJson, SourceJson, LinksJson):
    """A ranked entry of a task."""

    sandbox: Annotated[SandboxKind, Field(description="what held the agent")]
    since: Annotated[str, Field(description="when this version was first recorded; UTC, ISO 8601")]


class OverallScoresJson(ClosedObject):
    """The score of an entry across all tasks."""

    estimate: EstimateJson
    iqm: Annotated[float, Field(description="interquartile mean over all episodes of all tasks; it does not rank")]
    iqm_low: Annotated[float | None, Field(description="stratified bootstrap over tasks; null where a score is one number")]
    iqm_high: float | None
    normalised: dict[str, float | None]
    clipped: Annotated[list[str], Field(description="tasks whose normalised score counts as 0 or as 2")]
    played: Annotated[int, Field(description="tasks with a score, of those in `normalised`")]


class RankedOverallJson(PlaceJson, EntryJson, OverallScoresJson, NextJson):
    """A row of the overall leaderboard as `pullrank rank --json` prints it."""


class OverallRowJson(RankedOverallJson, LinksJson):
    """A row of the overall leaderboard."""


class RatingJson(ClosedObject):
    """Strength on the Elo scale and its 95 % interval."""

    elo: float
    low: float
    high: float


class CountJson(ClosedObject):
    """Matches from one player's side; `score` is the sum of what the game gave."""

    wins: int
    draws: int
    losses: int
    errors: int
    score: float
    points: int


class RatedJson(CountJson):
    """What was measured for a player."""

    rating: RatingJson
    points_place: int
    opponents: int
    attempts: int
    since: UtcTime


class RatedRowJson(PlaceJson, EntryJson, RatedJson):
    """A player as `pullrank rank --json` prints it."""


class PlayedJson(RatedJson):
    """All that is shown of a player's matches."""

    evaluated_at: UtcTime
    episodes: int
    medal: Medal | None


class GameRowJson(PlaceJson, EntryJson, PlayedJson, SourceJson, LinksJson):
    """A rated player of a game."""


class UnscoredJson(EntryJson):
    """An entry without a score as `pullrank rank --json` prints it."""

    verdict: Verdict
    message: str


class ClaimJson(ClosedObject):
    """The score that a training script says of itself, where it only claims one."""

    claimed: NotRequired[float | None]


class FailureJson(UnscoredJson, ClaimJson, LinksJson):
    """An entry without a score."""

    attempts: int
    evaluated_at: UtcTime


class GameFailureJson(EntryJson):
    """A player that may not enter."""

    reason: str
    attempts: int
    key: str


class ExclusionJson(ClosedObject):
    """Why moderation keeps an entry off the leaderboard."""

    since: str
    who: str
    why: str
    link: str


class ExcludedJson(ExclusionJson):
    """An entry that moderation keeps off the leaderboard."""

    login: str
    agent: str


class WithdrawnJson(ClosedObject):
    """An entry that was measured and is no longer on main."""

    login: str
    agent: str
    score: float | None
    verdict: Verdict
    evaluated_at: UtcTime
    key: str | None


class UnrankedJson(ClosedObject):
    """Entries of a task without a place."""

    waiting: list[WaitingJson]
    excluded: list[ExcludedJson]
    withdrawn: list[WithdrawnJson]


class TaskStandingsJson(UnrankedJson):
    """A task as `pullrank rank --json` prints it."""

    task: str
    metrics: list[MetricJson]
    ties: list[str]
    rows: list[RankedRowJson]
    failures: list[UnscoredJson]


class HeadToHeadJson(CountJson):
    """What the row's player did against the column's."""

    row: str
    column: str
    key: str


class CycleJson(ClosedObject):
    """Players each of whom beats the next, and the last the first."""

    names: list[str]
    share: float
    triads: int


class RatingsOfDayJson(ClosedObject):
    """All ratings after one day's duels."""

    day: str
    elo: dict[str, float]


class GameUnrankedJson(ClosedObject):
    """Players of a game without a place, and how far the ratings can be trusted."""

    failures: list[GameFailureJson]
    waiting: list[WaitingJson]
    excluded: list[ExcludedJson]
    anchor: str | None
    prior: list[str]
    cycle: CycleJson
    moving_first: RatingJson | None
    """What moving first is worth between equals; null if nobody moves first, or nobody is rated."""


class GameStandingsJson(GameUnrankedJson):
    """A game as `pullrank rank --json` prints it."""

    task: str
    rows: list[RatedRowJson]
    crosstable: list[HeadToHeadJson]
    history: list[RatingsOfDayJson]


class StandingsJson(ClosedObject):
    """What `pullrank rank --json` prints."""

    title: str
    season: str
    official: bool
    overall: list[RankedOverallJson]
    tasks: list[TaskStandingsJson]
    games: list[GameStandingsJson]


class TaskUnrankedJson(UnrankedJson):
    """Entries of a task without a place, failures too."""

    failures: list[FailureJson]


class LeaderboardHeadJson(ClosedObject):
    """Of which task, in which order; `count` is of all rows."""

    task: str
    order: Literal["place", "newest", "oldest"]
    count: int


class LeaderboardJson(LeaderboardHeadJson, TaskUnrankedJson):
    """A task's leaderboard by place."""

    rows: list[RowJson]


class GameLeaderboardJson(LeaderboardHeadJson, GameUnrankedJson):
    """A game's leaderboard by place."""

    rows: list[GameRowJson]
    withdrawn: list[WithdrawnJson]


class LeaderboardByDateJson(LeaderboardHeadJson):
    """A leaderboard in another order than by place: at most 500 rows, and rows alone."""

    rows: list[RowJson | GameRowJson]


class DuelsJson(ClosedObject):
    """A game's pairings and the history of its ratings."""

    task: str
    crosstable: list[HeadToHeadJson]
    history: list[RatingsOfDayJson]


ColumnKind = Literal["text", "number", "list", "metric"]


class ColumnHeadJson(ClosedObject):
    """How the page's script shows a column; without a label it is a part of another one, or the page has its head."""

    label: str
    title: str
    kind: ColumnKind


class TableJson(ClosedObject):
    """Values in the order of the columns, for the failures too; `heads` are in that order as well."""

    task: str
    columns: list[str]
    heads: list[ColumnHeadJson]
    rows: list[list[Any]]
    failures: list[list[Any]]
    decimals: int
    direction: Direction
    metrics: list[MetricJson]
    leader: int | None
