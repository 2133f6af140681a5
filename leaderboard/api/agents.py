"""The document of each agent: what it is, where it stands, and everything that was measured of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluator.model.challenge import Task
from evaluator.model.result import Result
from evaluator.model.verdict import Verdict
from leaderboard import links
from leaderboard.api import boards, text
from leaderboard.api.documents import Document, overall_row
from leaderboard.api.facts import Facts
from leaderboard.api.games import flags
from leaderboard.api.table import reason
from leaderboard.curves import curve
from leaderboard.departed import Departed
from leaderboard.entry import Entry
from leaderboard.episodes import Episode
from leaderboard.estimate import values
from leaderboard.field import Name
from leaderboard.game_standings import GameFailure, GameRow
from leaderboard.metrics import known, ranking
from leaderboard.standings import Failure, OverallRow, Row

# Points of a learning curve: as many as its picture has.
POINTS = 200
# Versions of one agent on one task that its history shows, the newest.
VERSIONS = 50
# What a row says of its entry stands once at the top of the document.
_SAID = (
    "login", "agent", "name", "baseline", "host", "anonymous", "verified", "algorithm", "authors", "kind", "page", "api",
)  # fmt: skip

Known = Row | Failure | GameRow | GameFailure | None
"""What a board knows of an entry; None while it waits."""


@dataclass(frozen=True, kw_only=True)
class Board:
    """One board, as far as the documents of its agents need it."""

    task: Task
    """Its settings."""
    digest: str
    """Their hash."""
    row: Callable[[Row], Document]
    """What says a row."""
    of_lengths: bool
    """Whether a metric is made of the lengths of episodes, so that readers need each of them."""


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """One agent, and what every board says of it."""

    entry: Entry
    """Who."""
    found: list[tuple[Board, Known]] = field(default_factory=list)
    """In the order of the challenge."""


def gathered(facts: Facts) -> Mapping[Name, Gathered]:
    """Every agent that any board names as standing on main."""
    agents: dict[Name, Gathered] = {}

    def add(entry: Entry, board: Board, known: Known = None) -> None:
        agents.setdefault(entry.name, Gathered(entry=entry)).found.append((board, known))

    for solo in facts.standings.tasks:
        of_lengths = any(metric.kind == "mean_length" for metric in solo.task.metrics)
        row_of = boards.measured_row(solo)
        board = Board(task=solo.task, digest=solo.task.digest(), row=row_of, of_lengths=of_lengths)
        for row in solo.rows:
            add(row.entry, board, row)
        for failure in solo.failures:
            add(failure.entry, board, failure)
        for entry in solo.waiting:
            add(entry, board)
    for game in facts.standings.games:
        board = Board(task=game.task, digest="", row=_no_row, of_lengths=False)
        for player in game.rows:
            add(player.entry, board, player)
        for refused in game.failures:
            add(refused.entry, board, refused)
        for entry in game.waiting:
            add(entry, board)
    return agents


def _no_row(row: Row) -> Document:
    raise AssertionError(f"{row.entry.shown} has no row in a game")


def files(facts: Facts, agents: Mapping[Name, Gathered], departed: Iterable[Departed]) -> Iterator[tuple[str, bytes]]:
    """One document for each of these agents, and for each that was one."""
    overall = {row.entry.name: row for row in facts.standings.overall}
    unshown = {asked.name for asked in facts.standings.challenge.people.fields if not asked.shown}
    for name, agent in agents.items():
        head = {**_manifest(agent.entry, facts, unshown), "overall": _overall(overall.get(name))}
        path = text.agent_file(agent.entry.login, agent.entry.agent)
        yield path, _joined(head, agent, facts).encode("utf-8", "replace")
    for gone in departed:
        yield text.agent_file(gone.login, gone.agent), text.dumps(_departed(gone))


def _overall(row: OverallRow | None) -> Document | None:
    return None if row is None else _without(overall_row(row))


def _without(row: Document) -> Document:
    return {name: value for name, value in row.items() if name not in _SAID}


def _manifest(entry: Entry, facts: Facts, unshown: set[str]) -> Document:
    said = entry.submission
    is_known = not entry.anonymous
    optional = {
        "main_file": said.main_file, "adapter": said.adapter, "extras": list(said.extras), "description": said.description,
        "url": said.url, "paper": said.paper, "license": said.license,
        "meta": {name: value for name, value in said.meta.items() if name not in unshown},
        "digest": entry.digest if is_known else None, "pull": facts.context.pulls.get(entry.name) if is_known else None,
        "source": links.folder_url(facts.repository, entry) if is_known else None,
    }  # fmt: skip
    return {
        "login": entry.login, "agent": entry.agent, "name": said.name, **flags(entry), "state": "entered",
        "algorithm": said.algorithm, "authors": list(said.authors), "kind": said.kind.value, "entry": said.entry,
        "enters": said.tasks if said.tasks == "all" else list(said.tasks),
        "page": text.agent_address(entry.login, entry.agent),
        **{name: value for name, value in optional.items() if value not in (None, [], {})},
    }  # fmt: skip


_CIRCUMSTANCES = (
    "class", "season", "sandbox", "beacon", "beacon_verified", "runtime_digest", "image_digest", "platform", "versions",
    "commit", "run_url", "memory_mib", "cpu_seconds",
)  # fmt: skip


class _Runs:
    """Under which circumstances results came to be; each said once, since those of one agent are mostly the same."""

    def __init__(self) -> None:
        self.said: list[Document] = []
        self._seen: dict[tuple[Any, ...], int] = {}

    def number(self, result: Result, *, is_named: bool) -> int:
        """The place of a result's circumstances in the list."""
        made = (
            result.klass.value, result.season, result.sandbox.value,
            # The beacon is a commit, which says whose it is.
            result.beacon if is_named else None, result.beacon_verified, result.runtime_digest, result.image_digest,
            result.platform, tuple(result.versions.items()), result.provenance.commit, result.provenance.run_url,
            result.limits.memory_mib, result.limits.cpu_seconds,
        )  # fmt: skip
        if made not in self._seen:
            self._seen[made] = len(self.said)
            self.said.append({**dict(zip(_CIRCUMSTANCES, made, strict=True)), "versions": result.versions})
        return self._seen[made]


def _joined(head: Document, agent: Gathered, facts: Facts) -> str:
    runs = _Runs()
    tasks = ",".join(_task(agent.entry, board, found, facts, runs) for board, found in agent.found)
    return f'{text.dumped(head)[:-1]},"tasks":[{tasks}],"runs":{text.dumped(runs.said)}}}'


def _task(entry: Entry, board: Board, found: Known, facts: Facts, runs: _Runs) -> str:
    """What is known of an agent on one task; returns are written apart, since they are most of it."""
    told: Document = {"task": board.task.id}
    match found:
        case None:
            return text.dumped({**told, "state": "waiting"})
        case GameRow():
            return text.dumped({**told, "state": "ranked", **_without(boards.full_game_row(found))})
        case GameFailure():
            at = found.duel.provenance.evaluated_at
            why = {"reason": found.reason, "attempts": found.attempts, "evaluated_at": at}
            return text.dumped({**told, "state": "refused", **why})
        case Row():
            told |= {"state": "ranked", **_without(board.row(found))}
        case _:
            told |= {"verdict": found.result.verdict.value, **_failed(found)}
    told |= _measured(entry, board, found.result, facts) | {"run": runs.number(found.result, is_named=not entry.anonymous)}
    if earlier := _earlier(entry, board, found, facts):
        told["history"] = earlier
    return f'{text.dumped(told)[:-1]},"returns":{_numbers(found.result.returns)}}}'


def _measured(entry: Entry, board: Board, result: Result, facts: Facts) -> Document:
    """What is there only where there is something to say, but for the returns."""
    told: Document = _script(result, board.task)
    if result.sealed is not None:
        told["sealed"] = True
    if result.metrics:
        told["counts"] = result.metrics
    if shown := facts.context.episodes.get(result.key):
        told["replays"] = [_episode(one) for one in shown]
    if board.of_lengths:
        told["lengths"] = list(result.lengths)
    elif result.lengths:
        lengths = result.lengths
        mean = round(sum(lengths) / len(lengths), 3)
        told["length"] = {"mean": mean, "least": min(lengths), "greatest": max(lengths)}
    return told


def _numbers(found: tuple[float, ...]) -> str:
    """With seven significant digits: the result's file has them all, and no picture shows more."""
    return f"[{','.join(['%.7g'] * len(found)) % tuple(found)}]"


def _failed(found: Failure) -> Document:
    result = found.result
    claim = {"claimed": text.finite(found.claimed)} if found.claimed is not None else {}
    return {
        "state": "self-reported" if claim else "failed", **claim, "message": reason(result), "log_tail": result.log_tail,
        "attempts": found.attempts, "evaluated_at": result.provenance.evaluated_at,
        "cost": boards.cost_document(result.cost),
    }  # fmt: skip


def _script(result: Result, task: Task) -> Document:
    record = result.script
    if record is None:
        return {}
    drawn = curve(result, task.script)
    points = list(drawn.points()) if drawn else []
    count = min(POINTS, len(points))
    shown = [points[index * (len(points) - 1) // max(1, count - 1)] for index in range(count)]
    counts = {"episodes": len(record.returns), "unfinished": len(record.unfinished)}
    said = {"claimed": text.finite(record.claimed), "steps": record.steps, **counts}
    return {"script": said, "curve": [[steps, float(f"{value:.7g}")] for steps, value in shown]}


def _episode(one: Episode) -> Document:
    return {
        "which": one.which, "number": one.number, "total": one.total, "length": one.length, "file": text.address(one.file),
        "columns": one.columns, "width": one.width, "height": one.height, "steps": list(one.steps),
    }  # fmt: skip


def _earlier(entry: Entry, board: Board, found: Row | Failure, facts: Facts) -> list[Document]:
    """What else is recorded of it under the present settings, the oldest first; the row itself is the present version."""
    result = found.result
    same = [one for one in facts.of(entry, board.task.id) if one.key != result.key and one.task_digest == board.digest]
    same.sort(key=lambda one: one.provenance.evaluated_at)
    return [_version(one, board.task, is_named=not entry.anonymous) for one in same[-VERSIONS:]]


def _version(result: Result, task: Task, *, is_named: bool) -> Document:
    is_scored = result.verdict is Verdict.OK
    score = known(float(values([result], task, ranking(task))[0])) if is_scored else None
    told: Document = {"evaluated_at": result.provenance.evaluated_at, "verdict": result.verdict.value, "score": score}
    return told | ({"digest": result.submission_digest, "key": result.key} if is_named else {"digest": None, "key": None})


def _departed(gone: Departed) -> Document:
    out = gone.exclusion
    return {
        "login": gone.login,
        "agent": gone.agent,
        "name": gone.agent,
        "state": "excluded" if out else "withdrawn",
        "exclusion": out.model_dump(include={"since", "who", "why", "link"}) if out else None,
        "page": text.agent_address(gone.login, gone.agent),
        "tasks": [],
        "runs": [],
        "recorded": [
            {"task": result.task, "verdict": result.verdict.value, "evaluated_at": result.provenance.evaluated_at}
            for result in gone.results
        ],
    }
