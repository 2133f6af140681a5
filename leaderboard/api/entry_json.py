"""The parts of JSON documents that are about an entry: the type of each, and how it is made.

Objects are closed: they have no key that their type does not name. A `NotRequired` key is left out where it has no value.
mypy checks what is made against the types, and `document_files.py` generates the schemas from them.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired, TypeVar, cast
from urllib.parse import quote

from pydantic import Field, with_config
from typing_extensions import TypedDict

from evaluator.model.config.submission import SubmissionKind
from evaluator.model.config.task import Task
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Entry, Estimate, Excluded
from leaderboard.core.game_standings import GameRow
from leaderboard.core.standings import OverallRow, TaskRow, WithdrawnScore
from leaderboard.scoring.metrics import value_or_none
from leaderboard.scoring.significance import Improvement, mean_improvement
from leaderboard.text import urls
from leaderboard.visibility import is_replaced_login

UtcTime = Annotated[str, Field(description="UTC, ISO 8601")]


Address = Annotated[str, Field(description="below the site's root")]


Medal = Literal["gold", "silver", "bronze"]


_MEDALS: dict[int, Medal] = {1: "gold", 2: "silver", 3: "bronze"}


@with_config(extra="forbid")
class ClosedObject(TypedDict):
    """An object without further keys."""


Json = TypeVar("Json")


def json_fields(form: type[Json], source: object) -> Json:
    """The document of a type whose keys a value has as attributes of the same names."""
    return cast("Json", {name: getattr(source, name) for name in form.__annotations__})


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


def flags(entry: Entry) -> FlagsJson:
    """What the hosts say of an entry; each flag is there only where it is set."""
    document: FlagsJson = {}
    if entry.baseline:
        document["baseline"] = True
    if entry.host:
        document["host"] = True
    if entry.anonymous:
        document["anonymous"] = True
    if entry.verified:
        document["verified"] = json_fields(VerifiedJson, entry.verified)
    return document


class EntryJson(FlagsJson):
    """An agent on a leaderboard."""

    login: str
    agent: str
    name: str


def entry_document(entry: Entry) -> EntryJson:
    """Which agent it is, and what the hosts say of it."""
    return {"login": entry.login, "agent": entry.agent, "name": entry.submission.name, **flags(entry)}


class WaitingJson(EntryJson):
    """An agent without a record that counts."""

    quarantine: NotRequired[Annotated[str, Field(description="there only where its record is in quarantine")]]


def waiting_document(entry: Entry, task: Task) -> WaitingJson:
    """An agent without a record that counts on a task."""
    words = entry.quarantined.get(task.id)
    return cast("WaitingJson", {**entry_document(entry), **({"quarantine": words} if words else {})})


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


def place_document(row: TaskRow | OverallRow | GameRow) -> PlaceJson:
    """Where a row stands."""
    document: PlaceJson = {
        "place": None if row.is_unranked else row.place,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "with_leader": row.with_leader,
        "tries": row.tries,
    }
    if row.superseded_by is not None:
        document["held_by"] = row.superseded_by
    return document


def medal(row: TaskRow | GameRow) -> Medal | None:
    """For the first three places."""
    return _MEDALS[row.place] if row.has_medal else None


class EstimateJson(ClosedObject):
    """A score and its 95 % interval; null where there is none."""

    score: float | None
    low: float | None
    high: float | None


def estimate_document(estimate: Estimate) -> EstimateJson:
    """A score and its interval; null where there is none."""
    return {"score": value_or_none(estimate.score), "low": value_or_none(estimate.low), "high": value_or_none(estimate.high)}


class SourceJson(ClosedObject):
    """What an entry's manifest says of its making."""

    algorithm: str
    authors: list[str]
    kind: SubmissionKind


class LinksJson(ClosedObject):
    """An entry's page and its document."""

    page: Address
    api: Address


def links_document(entry: Entry) -> LinksJson:
    """The addresses of an agent's page and document."""
    file = urls.agent_file(entry.login, entry.agent)
    return {"page": urls.agent_address(entry.login, entry.agent), "api": quote(file)}


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


def next_document(tasks: Sequence[Improvement]) -> NextJson:
    """How an entry compares with the next one, from its comparisons on tasks; none gives null."""
    if not tasks:
        return {"improvement_on_next": None}
    return {"improvement_on_next": json_fields(ImprovementJson, mean_improvement(tasks))}


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


def excluded_document(excluded: Excluded) -> ExcludedJson:
    """An entry that moderation keeps off the leaderboard."""
    return {"login": excluded.login, "agent": excluded.agent, **json_fields(ExclusionJson, excluded.exclusion)}


class WithdrawnJson(ClosedObject):
    """An entry that was measured and is no longer on main."""

    login: str
    agent: str
    score: float | None
    verdict: Verdict
    evaluated_at: UtcTime
    key: str | None


def withdrawn_document(withdrawn: WithdrawnScore) -> WithdrawnJson:
    """An entry that is no longer on main."""
    result = withdrawn.result
    return {
        "login": withdrawn.login,
        "agent": withdrawn.agent,
        "score": withdrawn.score,
        "verdict": result.verdict,
        "evaluated_at": result.provenance.evaluated_at,
        "key": None if is_replaced_login(withdrawn.login) else result.key,
    }
