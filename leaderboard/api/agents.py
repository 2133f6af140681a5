"""The document of each agent: what it is, where it stands, and everything that was measured of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.api import leaderboards
from leaderboard.api import rows as sheet
from leaderboard.api.inputs import ApiInputs
from leaderboard.api.standings_json import Document, flags, overall_row
from leaderboard.api.table import failure_reason
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.former_entries import FormerEntry
from leaderboard.core.game_standings import GameFailure, GameRow
from leaderboard.core.parallel import batches
from leaderboard.core.standings import Failure, OverallRow, Row, Standings, entries_of
from leaderboard.pages.episode_replays import EpisodeReplay
from leaderboard.scoring.bootstrap import Array
from leaderboard.scoring.intervals import values
from leaderboard.scoring.metrics import known_metrics, learning_curve, ranking
from leaderboard.text import serialise, urls

DIGITS = 7
# Powers of ten that floats hold exactly: what is rounded with them is the float nearest to its decimal digits.
_EXACT = 22
_POWERS = 10.0 ** np.arange(_EXACT + 1)


def json_number_lists(found: Sequence[Sequence[float]]) -> list[str]:
    """Each as a JSON list, of seven significant digits: the result's file has them all, and no picture shows more.

    Args:
        found: finite numbers.
    """
    if not found:
        return []
    rounded = _rounded(np.concatenate(found, dtype=np.float64)).tolist()
    ends = accumulate(map(len, found))
    whole = serialise.json_text([rounded[end - len(one) : end] for one, end in zip(found, ends, strict=True)])
    return [f"[{own}]" for own in whole.replace(".0,", ",").replace(".0]", "]")[2:-2].split("],[")]


def _rounded(values: Array) -> Array:
    """To seven significant digits; halves may go either way."""
    size = np.abs(values)
    with np.errstate(divide="ignore"):
        shift = np.where(size > 0, DIGITS - 1 - np.floor(np.log10(size)), 0).astype(np.intp)
    if np.abs(shift).max(initial=0) > _EXACT:
        return np.array([float(f"{value:.{DIGITS}g}") for value in values.tolist()])
    up, down = _POWERS[np.maximum(shift, 0)], _POWERS[np.maximum(-shift, 0)]
    rounded: Array = np.rint(values * up / down) / up * down
    return rounded


# Points of a learning curve: as many as its picture has.
POINTS = 200
# Versions of one agent on one task that its history shows, the newest.
VERSIONS = 50
# What a row says of its entry stands once at the top of the document.
_SAID = (
    "login", "agent", "name", "baseline", "host", "anonymous", "verified", "algorithm", "authors", "kind", "page", "api",
)  # fmt: skip

BoardRow = Row | Failure | GameRow | GameFailure | None
"""What a board knows of an entry; None while it waits."""


@dataclass(frozen=True, kw_only=True)
class TaskInfo:
    """One board, as far as the documents of its agents need it."""

    task: Task
    """Its settings."""
    digest: str
    """Their hash."""
    of_lengths: bool
    """Whether a metric is made of the lengths of episodes, so that readers need each of them."""


def omit_entry_fields(row: Document) -> Document:
    """A row without what it says of its entry."""
    return {name: value for name, value in row.items() if name not in _SAID}


def row_texts(agents: Iterable[Iterable[tuple[TaskInfo, BoardRow]]]) -> Mapping[int, str]:
    """What every row of some agents says, by its identity; a board's rows are written together."""
    found: dict[str, tuple[Task, list[Row]]] = {}
    for own in agents:
        for board, row in own:
            if isinstance(row, Row):
                found.setdefault(board.task.id, (board.task, []))[1].append(row)
    return {
        id(row): line for task, rows in found.values() for row, line in zip(rows, sheet.row_lines(task, rows), strict=True)
    }


def returns_texts(agents: Iterable[Iterable[tuple[TaskInfo, BoardRow]]]) -> Mapping[int, str]:
    """The returns behind every row and failure of some agents, by the identity of the result."""
    results = [row.result for own in agents for _, row in own if isinstance(row, Row | Failure)]
    return dict(zip(map(id, results), json_number_lists([result.returns for result in results]), strict=True))


def by_task(results: Iterable[Result]) -> Mapping[str, Sequence[Result]]:
    """What is recorded of an agent, sorted out once for all its tasks."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.task, []).append(result)
    return found


_CIRCUMSTANCES = (
    "class", "season", "sandbox", "beacon", "beacon_verified", "runtime_digest", "image_digest", "platform", "versions",
    "commit", "run_url", "memory_mib", "cpu_seconds",
)  # fmt: skip


@lru_cache(maxsize=1024)
def _circumstances(made: tuple[Any, ...]) -> str:
    """As JSON; most agents share theirs."""
    said = dict(zip(_CIRCUMSTANCES, made, strict=True))
    return serialise.json_text({**said, "versions": dict(said["versions"])})


class _Runs:
    """Under which circumstances results came to be; each said once, since those of one agent are mostly the same."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], int] = {}

    def number(self, result: Result, *, is_named: bool) -> int:
        """The place of a result's circumstances in the list."""
        made = (
            result.tier.value, result.season, result.sandbox.value,
            # The beacon is a commit, which says whose it is.
            result.beacon if is_named else None, result.beacon_verified, result.runtime_digest, result.image_digest,
            result.platform, tuple(result.versions.items()), result.provenance.commit, result.provenance.run_url,
            result.limits.memory_mib, result.limits.cpu_seconds,
        )  # fmt: skip
        return self._seen.setdefault(made, len(self._seen))

    @property
    def said(self) -> str:
        """All of them, as JSON."""
        return f"[{','.join(map(_circumstances, self._seen))}]"


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentContext:
    """What the tasks of one agent are told from."""

    entry: Entry
    """Who."""
    facts: ApiInputs
    """Everything at hand."""
    rows: Mapping[int, str]
    """What was measured, by the identity of the row."""
    returns: Mapping[int, str]
    """The returns of episodes, by the identity of the result."""
    recorded: Mapping[str, Sequence[Result]]
    """What is recorded of it, by task."""
    runs: _Runs = field(default_factory=_Runs)
    """Under which circumstances."""


def task_document_of_agent(board: TaskInfo, found: BoardRow, told: AgentContext) -> str:
    """What is known of an agent on one task."""
    named = f'{{"task":{serialise.json_text(board.task.id)},'
    match found:
        case Row():
            return f'{named}"state":"ranked",{told.rows[id(found)]},{_measured(board, found, told)}}}'
        case Failure():
            failed = {"verdict": found.result.verdict.value, **_failed(found)}
            return f"{named}{serialise.json_text(failed)[1:-1]},{_measured(board, found, told)}}}"
        case GameRow():
            return (
                named + serialise.json_text({"state": "ranked", **omit_entry_fields(leaderboards.full_game_row(found))})[1:]
            )
        case GameFailure():
            at = found.duel.provenance.evaluated_at
            why = {"state": "refused", "reason": found.reason, "attempts": found.attempts, "evaluated_at": at}
            return named + serialise.json_text(why)[1:]
    return f'{named}"state":"waiting"}}'


def _measured(board: TaskInfo, found: Row | Failure, told: AgentContext) -> str:
    """What rows and failures have in common; numbers of episodes are written apart, since they are most of it."""
    result = found.result
    parts = [f'"run":{told.runs.number(result, is_named=not told.entry.anonymous)}']
    if optional := _optional(board, result, told.facts):
        parts.insert(0, serialise.json_text(optional)[1:-1])
    if board.of_lengths:
        parts.insert(-1, f'"lengths":{serialise.json_text(list(result.lengths))}')
    elif result.lengths:
        parts.insert(-1, _length(result.lengths))
    if earlier := _earlier(board, result, told):
        parts.append(f'"history":{serialise.json_text(earlier)}')
    return f'{",".join(parts)},"returns":{told.returns[id(result)]}'


def _length(lengths: Sequence[int]) -> str:
    # Three looks at an array would make every number an object three times.
    own = list(lengths)
    mean = round(sum(own) / len(own), 3)
    return f'"length":{{"mean":{mean!r},"least":{min(own)},"greatest":{max(own)}}}'


def _optional(board: TaskInfo, result: Result, facts: ApiInputs) -> Document:
    """What is there only where there is something to say, but for the numbers of episodes."""
    told: Document = _script(result, board.task)
    if result.sealed is not None:
        told["sealed"] = True
    if result.metrics:
        told["counts"] = result.metrics
    if shown := facts.context.episodes.get(result.key):
        told["replays"] = [_episode(one) for one in shown]
    return told


def _failed(found: Failure) -> Document:
    result = found.result
    claim = {"claimed": serialise.finite(found.claimed)} if found.claimed is not None else {}
    return {
        "state": "self-reported" if claim else "failed", **claim, "message": failure_reason(result),
        "log_tail": result.log_tail,
        "attempts": found.attempts, "evaluated_at": result.provenance.evaluated_at,
        "cost": leaderboards.cost_document(result.cost),
    }  # fmt: skip


def _script(result: Result, task: Task) -> Document:
    record = result.script
    if record is None:
        return {}
    drawn = learning_curve(result, task.script)
    points = list(drawn.points()) if drawn else []
    count = min(POINTS, len(points))
    shown = [points[index * (len(points) - 1) // max(1, count - 1)] for index in range(count)]
    counts = {"episodes": len(record.returns), "unfinished": len(record.unfinished)}
    said = {"claimed": serialise.finite(record.claimed), "steps": record.steps, **counts}
    return {"script": said, "curve": [[steps, float(f"{value:.7g}")] for steps, value in shown]}


def _episode(one: EpisodeReplay) -> Document:
    return {
        "which": one.which, "number": one.number, "total": one.total, "length": one.length,
        "file": serialise.address(one.file),
        "columns": one.columns, "width": one.width, "height": one.height, "steps": list(one.steps),
    }  # fmt: skip


def _earlier(board: TaskInfo, result: Result, told: AgentContext) -> list[Document]:
    """What else is recorded of it under the present settings, the oldest first; the row itself is the present version."""
    recorded = told.recorded.get(board.task.id, ())
    same = [one for one in recorded if one.key != result.key and one.task_digest == board.digest]
    same.sort(key=lambda one: one.provenance.evaluated_at)
    return [_version(one, board.task, is_named=not told.entry.anonymous) for one in same[-VERSIONS:]]


def _version(result: Result, task: Task, *, is_named: bool) -> Document:
    is_scored = result.verdict is Verdict.OK
    score = known_metrics(float(values([result], task, ranking(task))[0])) if is_scored else None
    told: Document = {"evaluated_at": result.provenance.evaluated_at, "verdict": result.verdict.value, "score": score}
    return told | ({"digest": result.submission_digest, "key": result.key} if is_named else {"digest": None, "key": None})


@dataclass(frozen=True, kw_only=True)
class AgentDocuments:
    """One agent, and what every board says of it."""

    entry: Entry
    """Who."""
    found: list[tuple[TaskInfo, BoardRow]] = field(default_factory=list)
    """In the order of the challenge."""


def entered_tasks(standings: Standings) -> Mapping[AgentName, Sequence[Entry]]:
    """Every agent that any board names as standing on main, as boards hold it: mostly one object for all of them."""
    each = {id(entry): entry for board in standings.boards for entry in entries_of(board)}
    found: dict[AgentName, list[Entry]] = {}
    for entry in each.values():
        found.setdefault(entry.name, []).append(entry)
    return found


def gather_documents(
    standings: Standings, entries: Mapping[AgentName, Sequence[Entry]]
) -> Mapping[AgentName, AgentDocuments]:
    """What boards say of these agents, in their order."""
    agents = {name: AgentDocuments(entry=own[0]) for name, own in entries.items()}
    # A look by identity: most rows may be somebody else's.
    places = {id(entry): agents[name].found for name, own in entries.items() for entry in own}

    def add(board: TaskInfo, rows: Iterable[Row | Failure | GameRow | GameFailure], waiting: Iterable[Entry]) -> None:
        for row in rows:
            if (place := places.get(id(row.entry))) is not None:
                place.append((board, row))
        for entry in waiting:
            if (place := places.get(id(entry))) is not None:
                place.append((board, None))

    for solo in standings.tasks:
        of_lengths = any(metric.kind == "mean_length" for metric in solo.task.metrics)
        board = TaskInfo(task=solo.task, digest=solo.task.digest(), of_lengths=of_lengths)
        add(board, (*solo.rows, *solo.failures), solo.waiting)
    for game in standings.games:
        add(TaskInfo(task=game.task, digest="", of_lengths=False), (*game.rows, *game.failures), game.waiting)
    return agents


def agent_files(
    facts: ApiInputs, agents: Mapping[AgentName, AgentDocuments], departed: Iterable[FormerEntry]
) -> Iterator[tuple[str, bytes]]:
    """One document for each of these agents, and for each that was one."""
    overall = {row.entry.name: row for row in facts.standings.overall}
    unshown = {asked.name for asked in facts.standings.challenge.people.fields if not asked.shown}
    for batch in batches(list(agents.items())):
        every = [agent.found for _, agent in batch]
        rows, returns = row_texts(every), returns_texts(every)
        for name, agent in batch:
            head = {**_manifest(agent.entry, facts, unshown), "overall": _overall(overall.get(name))}
            path = serialise.agent_file(agent.entry.login, agent.entry.agent)
            told = AgentContext(
                entry=agent.entry, facts=facts, rows=rows, returns=returns, recorded=by_task(facts.recorded.get(name, ()))
            )
            yield path, _joined(head, agent, told).encode("utf-8", "replace")
    for gone in departed:
        yield serialise.agent_file(gone.login, gone.agent), serialise.json_document(_departed(gone))


def _overall(row: OverallRow | None) -> Document | None:
    return None if row is None else omit_entry_fields(overall_row(row))


def _manifest(entry: Entry, facts: ApiInputs, unshown: set[str]) -> Document:
    said = entry.submission
    is_known = not entry.anonymous
    optional = {
        "main_file": said.main_file, "adapter": said.adapter, "extras": list(said.extras), "description": said.description,
        "url": said.url, "paper": said.paper, "license": said.license,
        "meta": {name: value for name, value in said.meta.items() if name not in unshown},
        "digest": entry.digest if is_known else None, "pull": facts.context.pulls.get(entry.name) if is_known else None,
        "source": urls.folder_url(facts.repository, entry) if is_known else None,
    }  # fmt: skip
    return {
        "login": entry.login, "agent": entry.agent, "name": said.name, **flags(entry), "state": "entered",
        "algorithm": said.algorithm, "authors": list(said.authors), "kind": said.kind.value, "entry": said.entry,
        "enters": said.tasks if said.tasks == "all" else list(said.tasks),
        "page": serialise.agent_address(entry.login, entry.agent),
        **{name: value for name, value in optional.items() if value not in (None, [], {})},
    }  # fmt: skip


def _joined(head: Document, agent: AgentDocuments, told: AgentContext) -> str:
    tasks = ",".join([task_document_of_agent(board, found, told) for board, found in agent.found])
    return f'{serialise.json_text(head)[:-1]},"tasks":[{tasks}],"runs":{told.runs.said}}}'


def _departed(gone: FormerEntry) -> Document:
    out = gone.exclusion
    return {
        "login": gone.login,
        "agent": gone.agent,
        "name": gone.agent,
        "state": "excluded" if out else "withdrawn",
        "rehearsal": gone.is_rehearsal,
        "exclusion": out.model_dump(include={"since", "who", "why", "link"}) if out else None,
        "page": serialise.agent_address(gone.login, gone.agent),
        "tasks": [],
        "runs": [],
        "recorded": [
            {"task": result.task, "verdict": result.verdict.value, "evaluated_at": result.provenance.evaluated_at}
            for result in gone.results
        ],
    }
