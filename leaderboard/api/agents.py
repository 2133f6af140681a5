"""The document of each agent: its manifest, where it stands, and everything that was measured of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, cast
from urllib.parse import quote

from pydantic import Field
from typing_extensions import TypedDict

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.api.api_inputs import ApiInputs
from leaderboard.api.entry_json import (
    Address,
    ClosedObject,
    EntryJson,
    ExclusionJson,
    PlaceJson,
    SourceJson,
    UtcTime,
    entry_document,
    json_fields,
    place_document,
)  # fmt: skip
from leaderboard.api.game_leaderboards import PlayedJson, played_document
from leaderboard.api.rank_json import OverallScoresJson, overall_scores
from leaderboard.api.table_columns import failure_reason
from leaderboard.api.task_leaderboards import ClaimJson, CostJson, MeasuredJson, claim_document, measured_document
from leaderboard.charts.agent_charts import curve_points
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.game_standings import GameFailure, GameRow
from leaderboard.core.standings import Listed, ListedOnBoards, OverallRow, TaskFailure, TaskRow
from leaderboard.scoring.intervals import score_or_none
from leaderboard.scoring.metrics import episode_lengths, learning_curve
from leaderboard.site_context import FormerEntry
from leaderboard.text import serialise, urls

# Significant digits of returns: the result's file has all of them, and no chart shows more.
RETURN_DIGITS = 7
_EXPONENT = 1e16  # from here on, JSON has an exponent and no `.0`
# Versions of one agent on one task in its history, the newest.
HISTORY_VERSIONS = 50


class LengthJson(ClosedObject):
    """Of episodes, in steps."""

    mean: float
    least: int
    greatest: int


class ScriptJson(ClosedObject):
    """What a training script did."""

    claimed: float | None
    steps: int
    episodes: int
    unfinished: int


class ReplayJson(ClosedObject):
    """A rendered episode: `steps` are the steps that its frames show."""

    which: str
    number: int
    total: float
    length: int
    file: Address
    columns: int
    width: int
    height: int
    steps: list[int]


class VersionJson(ClosedObject):
    """An earlier version."""

    evaluated_at: UtcTime
    verdict: Verdict
    score: float | None
    digest: str | None
    key: str | None


class DetailsJson(ClosedObject):
    """What only some results have."""

    script: NotRequired[ScriptJson]
    curve: NotRequired[list[tuple[int, float]]]
    sealed: NotRequired[Literal[True]]
    counts: NotRequired[dict[str, float]]
    replays: NotRequired[list[ReplayJson]]
    lengths: NotRequired[Annotated[list[int], Field(description="where a metric is computed from them")]]
    length: NotRequired[LengthJson]


class HistoryJson(ClosedObject):
    """Earlier versions, oldest first, where there are some."""

    history: NotRequired[list[VersionJson]]


class AgentResultJson(DetailsJson, HistoryJson):
    """A result of an agent; `run` is an index into `runs`."""

    run: int
    returns: Annotated[list[int | float], Field(description="by episode, to seven significant digits")]


class AgentRankedJson(PlaceJson, MeasuredJson, AgentResultJson):
    """A task on which an agent ranks."""

    task: str
    state: Literal["ranked"]


class AgentFailedJson(AgentResultJson, ClaimJson):
    """A task on which an agent has no score that was measured."""

    task: str
    verdict: Verdict
    state: Literal["failed", "self-reported"]
    message: str
    log_tail: str
    attempts: int
    evaluated_at: UtcTime
    cost: CostJson


class AgentRatedJson(PlaceJson, PlayedJson):
    """A game in which an agent is rated."""

    task: str
    state: Literal["ranked"]


class AgentRefusedJson(ClosedObject):
    """A game that an agent may not enter."""

    task: str
    state: Literal["refused"]
    reason: str
    attempts: int
    evaluated_at: UtcTime


class AgentWaitingJson(ClosedObject):
    """A task on which nothing is recorded for the present version."""

    task: str
    state: Literal["waiting"]
    quarantine: NotRequired[Annotated[str, Field(description="there only where its record is in quarantine")]]


AgentTaskJson = AgentRankedJson | AgentFailedJson | AgentRatedJson | AgentRefusedJson | AgentWaitingJson

# `class` is a keyword, so this key cannot be written in a class.
_TierJson = TypedDict("_TierJson", {"class": str})


class RunJson(ClosedObject, _TierJson):
    """The circumstances of results."""

    season: str
    sandbox: str
    beacon: str | None
    beacon_verified: bool | None
    runtime_digest: str
    image_digest: str | None
    platform: str
    versions: dict[str, str]
    commit: str | None
    run_url: str | None
    memory_mib: int
    cpu_seconds: float


class OptionalManifestJson(ClosedObject):
    """Parts of a manifest, and of where it is from, that are left out where they have no value."""

    main_file: NotRequired[str]
    adapter: NotRequired[str]
    extras: NotRequired[list[str]]
    description: NotRequired[str]
    url: NotRequired[str]
    paper: NotRequired[str]
    license: NotRequired[str]
    meta: NotRequired[dict[str, str | bool]]
    digest: NotRequired[str]
    pull: NotRequired[int]
    source: NotRequired[str]


class AgentOverallJson(PlaceJson, OverallScoresJson):
    """An agent's place across all tasks."""


class AgentJson(EntryJson, SourceJson, OptionalManifestJson):
    """An agent on main: where it stands, and everything measured of it."""

    state: Literal["entered"]
    entry: str
    enters: Literal["all"] | list[str]
    page: Address
    overall: AgentOverallJson | None
    tasks: list[AgentTaskJson]
    runs: list[RunJson]


class RecordedJson(ClosedObject):
    """A result of an agent that left."""

    task: str
    verdict: Verdict
    evaluated_at: UtcTime


class FormerAgentJson(ClosedObject):
    """An agent that left, or was excluded."""

    login: str
    agent: str
    name: str
    state: Literal["excluded", "withdrawn"]
    rehearsal: bool
    exclusion: ExclusionJson | None
    page: Address
    tasks: list[AgentTaskJson]
    runs: list[RunJson]
    recorded: list[RecordedJson]


@dataclass(frozen=True, kw_only=True)
class AgentContext:
    """What the tasks of one agent's document are built from."""

    entry: Entry
    inputs: ApiInputs
    runs: list[RunJson] = field(default_factory=list)
    """Filled while tasks are built: results of the same circumstances share an item."""

    def run_number(self, result: Result) -> int:
        """The index of a result's circumstances in `runs`."""
        run = _run(result, is_named=not self.entry.anonymous)
        if run not in self.runs:
            self.runs.append(run)
        return self.runs.index(run)


def short_numbers(numbers: Sequence[float]) -> list[int | float]:
    """Finite numbers rounded to seven significant digits; whole ones are integers, which JSON writes without `.0`."""
    rounded = (float(f"{value:.{RETURN_DIGITS}g}") for value in numbers)
    return [int(value) if value.is_integer() and abs(value) < _EXPONENT else value for value in rounded]


def agent_files(
    inputs: ApiInputs, agents: Mapping[AgentName, ListedOnBoards], former_entries: Iterable[FormerEntry]
) -> Iterator[tuple[str, bytes]]:
    """One document for each of these agents, and for each that left."""
    overall = {row.entry.name: row for row in inputs.standings.overall}
    for name, boards in agents.items():
        entry = inputs.standings.entries[name]
        document = agent_document(entry, boards, overall.get(name), inputs)
        yield urls.agent_file(entry.login, entry.agent), serialise.json_document(document)
    for former in former_entries:
        yield urls.agent_file(former.login, former.agent), serialise.json_document(_former_agent(former))


def agent_document(entry: Entry, boards: ListedOnBoards, overall: OverallRow | None, inputs: ApiInputs) -> AgentJson:
    """The document of an agent on main."""
    manifest, context = entry.submission, AgentContext(entry=entry, inputs=inputs)
    return {
        **entry_document(entry), "state": "entered", **json_fields(SourceJson, manifest), "entry": manifest.entry,
        "enters": "all" if manifest.tasks == "all" else list(manifest.tasks),
        "page": urls.agent_address(entry.login, entry.agent),
        **_optional_manifest(entry, inputs),
        "overall": None if overall is None else {**place_document(overall), **overall_scores(overall)},
        "tasks": [task_document_of_agent(board.task, listed, context) for board, listed in boards],
        "runs": context.runs,
    }  # fmt: skip


def _optional_manifest(entry: Entry, inputs: ApiInputs) -> OptionalManifestJson:
    """The parts of a manifest that have a value; nothing that leads to the owner of an anonymous entry."""
    manifest, is_named = entry.submission, not entry.anonymous
    hidden = {question.name for question in inputs.standings.challenge.people.fields if not question.shown}
    fields: dict[str, Any] = {
        "main_file": manifest.main_file, "adapter": manifest.adapter, "extras": list(manifest.extras),
        "description": manifest.description, "url": manifest.url, "paper": manifest.paper, "license": manifest.license,
        "meta": {name: value for name, value in manifest.meta.items() if name not in hidden},
        "digest": entry.digest if is_named else None, "pull": inputs.context.pulls.get(entry.name) if is_named else None,
        "source": urls.folder_url(inputs.repository, entry) if is_named else None,
    }  # fmt: skip
    return cast("OptionalManifestJson", {name: value for name, value in fields.items() if value not in (None, [], {})})


def task_document_of_agent(task: Task, listed: Listed, context: AgentContext) -> AgentTaskJson:
    """What is known of an agent on one task."""
    match listed:
        case TaskRow():
            return {
                "task": task.id, "state": "ranked", **place_document(listed), **measured_document(listed, task),
                **_result(task, listed.result, context),
            }  # fmt: skip
        case TaskFailure():
            return _failed(task, listed, context)
        case GameRow():
            return {"task": task.id, "state": "ranked", **place_document(listed), **played_document(listed)}
        case GameFailure():
            return {
                "task": task.id, "state": "refused", "reason": listed.reason, "attempts": listed.versions_tried,
                "evaluated_at": listed.duel.provenance.evaluated_at,
            }  # fmt: skip
    waiting: AgentWaitingJson = {"task": task.id, "state": "waiting"}
    if words := context.entry.quarantined.get(task.id):
        waiting["quarantine"] = words
    return waiting


def _failed(task: Task, failure: TaskFailure, context: AgentContext) -> AgentFailedJson:
    result = failure.result
    return {
        "task": task.id, "verdict": result.verdict,
        "state": "failed" if failure.claimed is None else "self-reported", **claim_document(failure),
        "message": failure_reason(result), "log_tail": result.log_tail, "attempts": failure.versions_tried,
        "evaluated_at": result.provenance.evaluated_at, "cost": json_fields(CostJson, result.cost),
        **_result(task, result, context),
    }  # fmt: skip


def _result(task: Task, result: Result, context: AgentContext) -> AgentResultJson:
    """What rows and failures have in common."""
    return {
        **_details(task, result, context),
        "run": context.run_number(result),
        **_history(task, result, context),
        "returns": short_numbers(result.returns),
    }


def _details(task: Task, result: Result, context: AgentContext) -> DetailsJson:
    document: DetailsJson = _script(result, task)
    if result.sealed is not None:
        document["sealed"] = True
    if result.metrics:
        document["counts"] = result.metrics
    if replays := context.inputs.context.episodes.get(result.key):
        document["replays"] = [{**json_fields(ReplayJson, replay), "file": quote(replay.file)} for replay in replays]
    if by_length := next((metric for metric in task.metrics if metric.kind == "mean_length"), None):
        document["lengths"] = list(episode_lengths(task, by_length, result))
    elif lengths := result.lengths:
        mean = round(sum(lengths) / len(lengths), 3)
        document["length"] = {"mean": mean, "least": min(lengths), "greatest": max(lengths)}
    return document


def _script(result: Result, task: Task) -> DetailsJson:
    record = result.script
    if record is None:
        return {}
    curve = learning_curve(result, task.script)
    shown = curve_points(curve) if curve else []
    return {
        "script": {
            "claimed": serialise.finite(record.claimed), "steps": record.steps, "episodes": len(record.returns),
            "unfinished": len(record.unfinished),
        },
        "curve": [(steps, float(f"{value:.{RETURN_DIGITS}g}")) for steps, value in shown],
    }  # fmt: skip


def _history(task: Task, result: Result, context: AgentContext) -> HistoryJson:
    """Other results of the agent on this task under its present settings, the oldest first."""
    digest = context.inputs.task_digests[task.id]
    earlier = [
        other
        for other in context.inputs.recorded.get(context.entry.name, ())
        if (other.task, other.task_digest) == (task.id, digest) and other.key != result.key
    ]
    earlier.sort(key=lambda other: other.provenance.evaluated_at)
    is_named = not context.entry.anonymous
    versions = [_version(other, task, is_named=is_named) for other in earlier[-HISTORY_VERSIONS:]]
    return {"history": versions} if versions else {}


def _version(result: Result, task: Task, *, is_named: bool) -> VersionJson:
    return {
        "evaluated_at": result.provenance.evaluated_at,
        "verdict": result.verdict,
        "score": score_or_none(task, result),
        "digest": result.submission_digest if is_named else None, "key": result.key if is_named else None,
    }  # fmt: skip


def _run(result: Result, *, is_named: bool) -> RunJson:
    return {
        "class": result.tier.value, "season": result.season, "sandbox": result.sandbox.value,
        # The beacon is a commit, which says whose it is.
        "beacon": result.beacon if is_named else None, "beacon_verified": result.beacon_verified,
        "runtime_digest": result.runtime_digest, "image_digest": result.image_digest, "platform": result.platform,
        "versions": dict(result.versions), "commit": result.provenance.commit, "run_url": result.provenance.run_url,
        "memory_mib": result.limits.memory_mib, "cpu_seconds": result.limits.cpu_seconds,
    }  # fmt: skip


def _former_agent(former: FormerEntry) -> FormerAgentJson:
    exclusion = former.exclusion
    return {
        "login": former.login, "agent": former.agent, "name": former.agent,
        "state": "excluded" if exclusion else "withdrawn", "rehearsal": former.is_rehearsal,
        "exclusion": json_fields(ExclusionJson, exclusion) if exclusion else None,
        "page": urls.agent_address(former.login, former.agent), "tasks": [], "runs": [],
        "recorded": [
            {"task": result.task, "verdict": result.verdict, "evaluated_at": result.provenance.evaluated_at}
            for result in former.results
        ],
    }  # fmt: skip
