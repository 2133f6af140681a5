"""The leaderboard of a game as JSON, as `pullrank rank --json` prints it and as the site has it."""

from leaderboard.api.entry_json import (
    ClosedObject,
    EntryJson,
    ExcludedJson,
    LinksJson,
    Medal,
    PlaceJson,
    SourceJson,
    UtcTime,
    WaitingJson,
    WithdrawnJson,
    entry_document,
    excluded_document,
    json_fields,
    links_document,
    medal,
    place_document,
    waiting_document,
)
from leaderboard.api.task_leaderboards import LeaderboardHeadJson, RowJson
from leaderboard.core.entry import AgentName
from leaderboard.core.game_standings import GameFailure, GameRow, GameStandings, HeadToHead, MatchCount


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


def _count(count: MatchCount) -> CountJson:
    return {
        "wins": count.won, "draws": count.drawn, "losses": count.lost, "errors": count.errors, "score": count.score,
        "points": count.points,
    }  # fmt: skip


class RatedJson(CountJson):
    """What was measured for a player."""

    rating: RatingJson
    points_place: int
    opponents: int
    attempts: int
    since: UtcTime


def rated_document(row: GameRow) -> RatedJson:
    """What was measured for a player."""
    return {
        "rating": json_fields(RatingJson, row.rating),
        **_count(row.count),
        "points_place": row.points_place,
        "opponents": row.opponents,
        "attempts": row.versions_tried,
        "since": row.since,
    }


class RatedRowJson(PlaceJson, EntryJson, RatedJson):
    """A player as `pullrank rank --json` prints it."""


class PlayedJson(RatedJson):
    """All that is shown of a player's matches."""

    evaluated_at: UtcTime
    episodes: int
    medal: Medal | None


def played_document(row: GameRow) -> PlayedJson:
    """What was measured for a player."""
    return {
        **rated_document(row), "evaluated_at": row.since, "episodes": row.count.matches,
        "medal": medal(row),
    }  # fmt: skip


class GameRowJson(PlaceJson, EntryJson, PlayedJson, SourceJson, LinksJson):
    """A rated player of a game."""


def game_row(row: GameRow) -> GameRowJson:
    """A row of a game."""
    return {
        **place_document(row), **entry_document(row.entry), **played_document(row),
        **json_fields(SourceJson, row.entry.submission), **links_document(row.entry),
    }  # fmt: skip


class GameFailureJson(EntryJson):
    """A player that may not enter."""

    reason: str
    attempts: int
    key: str


def _game_failure(failure: GameFailure) -> GameFailureJson:
    return {
        **entry_document(failure.entry), "reason": failure.reason, "attempts": failure.versions_tried,
        "key": failure.duel.key,
    }  # fmt: skip


class HeadToHeadJson(CountJson):
    """What the row's player did against the column's."""

    row: str
    column: str
    key: str


def _head_to_head(pair: tuple[AgentName, AgentName], meeting: HeadToHead) -> HeadToHeadJson:
    return {
        "row": _agent_path(pair[0]), "column": _agent_path(pair[1]), **_count(meeting.count), "key": meeting.duel.key,
    }  # fmt: skip


def _agent_path(name: AgentName) -> str:
    return f"{name[0]}/{name[1]}"


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


def game_document(board: GameStandings) -> GameStandingsJson:
    """One game's leaderboard."""
    return {
        "task": board.task.id,
        "anchor": board.anchor,
        "rows": [{**place_document(row), **entry_document(row.entry), **rated_document(row)} for row in board.rows],
        "failures": [_game_failure(failure) for failure in board.failures],
        "waiting": [waiting_document(entry, board.task) for entry in board.waiting],
        "excluded": [excluded_document(excluded) for excluded in board.excluded],
        "crosstable": [_head_to_head(pair, board.crosstable[pair]) for pair in sorted(board.crosstable)],
        "prior": list(board.prior),
        "cycle": json_fields(CycleJson, board.cycle),
        "moving_first": json_fields(RatingJson, board.moving_first) if board.moving_first else None,
        "history": [
            {"day": snapshot.day, "elo": {_agent_path(name): elo for name, elo in sorted(snapshot.elo.items())}}
            for snapshot in board.history
        ],
    }


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
