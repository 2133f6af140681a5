"""Standings: from the entries on main and everything recorded to the boards."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.model.challenge import Challenge, Task
from evaluator.model.moderation import Exclusion, Moderation
from evaluator.model.result import Class, Result, SandboxKind
from evaluator.model.verdict import Verdict
from leaderboard.estimate import estimates, intervals, scores
from leaderboard.overall import overall
from leaderboard.rank import name_order, ranks
from leaderboard.standings import Entry, Excluded, Failure, Row, Standings, TaskBoard, Withdrawn

# The `process` sandbox is no security boundary, so what it held has no place on an official board.
JAILS = (SandboxKind.DOCKER, SandboxKind.GVISOR)
# The owner of the example agents, which are no part of an official board.
LOCAL = "local"

Agent = tuple[str, str]
"""Login without capitals, and the agent's folder."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The recorded outcome of one entry on one task."""

    entry: Entry
    """Who."""
    result: Result
    """The one that counts."""
    attempts: int
    """Versions of this agent that were evaluated on this task."""


@dataclass(frozen=True, kw_only=True)
class _Field:
    """The entries on main, sorted out once for all tasks."""

    ranking: tuple[Entry, ...]
    """Those that take part."""
    excluded: tuple[tuple[Entry, Exclusion], ...]
    """Those that moderation keeps out."""
    names: frozenset[Agent]
    """All of them, the examples too: whoever is not among them has no folder."""
    moderation: Moderation
    """Keeps out also those that have no folder."""


def standings(
    challenge: Challenge,
    entries: Iterable[Entry],
    results: Iterable[Result],
    *,
    official: bool,
    moderation: Moderation | None = None,
) -> Standings:
    """The boards of a challenge; the order of entries and results never matters.

    Args:
        challenge: its tasks and its season.
        entries: the agents that stand on main now, each once.
        results: everything recorded; results of other seasons, task settings or versions do not rank.
        official: whether only official results count (design 4.6); else any class and sandbox does. The examples,
            entries of the login `local`, have no part in an official board.
        moderation: who is kept off the board: listed as excluded, never ranked; nobody when left out.
    """
    field = _field(tuple(entries), moderation or Moderation(), official=official)
    recorded = _by_task(challenge, results)
    tasks = tuple(_task_board(task, field, recorded[task.id], official=official) for task in challenge.tasks)
    return Standings(challenge=challenge, official=official, overall=overall(tasks), tasks=tasks)


def _field(entries: Sequence[Entry], moderation: Moderation, *, official: bool) -> _Field:
    ranking: list[Entry] = []
    excluded: list[tuple[Entry, Exclusion]] = []
    for entry in entries:
        if exclusion := moderation.of(entry.login, entry.agent):
            excluded.append((entry, exclusion))
        elif entry.login != LOCAL or not official:
            ranking.append(entry)
    names = frozenset((entry.login.casefold(), entry.agent) for entry in entries)
    return _Field(ranking=tuple(ranking), excluded=tuple(excluded), names=names, moderation=moderation)


def _by_task(challenge: Challenge, results: Iterable[Result]) -> dict[str, dict[Agent, list[Result]]]:
    """The results of this season and the present task settings, by task and agent."""
    digests = {task.id: task.digest() for task in challenge.tasks}
    found: dict[str, dict[Agent, list[Result]]] = {task_id: defaultdict(list) for task_id in digests}
    for result in results:
        if result.season == challenge.season and digests.get(result.task) == result.task_digest:
            found[result.task][result.login.casefold(), result.agent].append(result)
    return found


def _task_board(task: Task, field: _Field, recorded: Mapping[Agent, Sequence[Result]], *, official: bool) -> TaskBoard:
    scored: list[Measurement] = []
    failed: list[Measurement] = []
    waiting: list[Entry] = []
    for entry in sorted((e for e in field.ranking if e.submission.enters(task.id)), key=name_order):
        own = recorded.get((entry.login.casefold(), entry.agent), ())
        measurement = _measurement(entry, own, official=official)
        if not measurement:
            waiting.append(entry)
        elif measurement.result.verdict is Verdict.OK:
            scored.append(measurement)
        else:
            failed.append(measurement)
    failures = tuple(Failure(entry=m.entry, result=m.result, attempts=m.attempts) for m in failed)
    excluded, withdrawn = _off_the_board(task, field, recorded)
    return TaskBoard(
        task=task, rows=_rows(task, scored), failures=failures, waiting=tuple(waiting), excluded=excluded,
        withdrawn=withdrawn,
    )  # fmt: skip


def _off_the_board(
    task: Task, field: _Field, recorded: Mapping[Agent, Sequence[Result]]
) -> tuple[tuple[Excluded, ...], tuple[Withdrawn, ...]]:
    """Who is excluded and who was withdrawn; whoever is both is shown as excluded."""
    out = [(entry.login, entry.agent, why) for entry, why in field.excluded if entry.submission.enters(task.id)]
    withdrawn: list[Withdrawn] = []
    for last in _left(field, recorded):
        if exclusion := field.moderation.of(last.login, last.agent):
            out.append((last.login, last.agent, exclusion))
        else:
            withdrawn.append(Withdrawn(login=last.login, agent=last.agent, result=last, score=_score(task, last)))
    excluded = [Excluded(login=login, agent=agent, exclusion=exclusion) for login, agent, exclusion in out]
    return tuple(sorted(excluded, key=_folded)), tuple(sorted(withdrawn, key=_folded))


def _left(field: _Field, recorded: Mapping[Agent, Sequence[Result]]) -> Iterator[Result]:
    """The last official result of each agent that has no folder on main; what only failed on our side says nothing."""
    for name, own in recorded.items():
        said = [r for r in own if _is_official(r) and r.verdict is not Verdict.INTERNAL_ERROR]
        if said and name not in field.names:
            yield max(said, key=_precedence)


def _score(task: Task, result: Result) -> float | None:
    if result.verdict is not Verdict.OK:
        return None
    return float(scores(np.sort(np.array([result.returns])), task.score)[0])


def _folded(one: Excluded | Withdrawn) -> Agent:
    return one.login.casefold(), one.agent


def _measurement(entry: Entry, own: Sequence[Result], *, official: bool) -> Measurement | None:
    """The newest result of the entry's present version, if there is one."""
    fitting = [r for r in own if r.submission_digest == entry.digest and (_is_official(r) or not official)]
    if not fitting:
        return None
    attempts = len({result.submission_digest for result in own})
    return Measurement(entry=entry, result=max(fitting, key=_precedence), attempts=attempts)


def _is_official(result: Result) -> bool:
    return result.klass is Class.OFFICIAL and result.sandbox in JAILS


def _precedence(result: Result) -> tuple[bool, str, str, str]:
    """The latest wins; but a failure of ours is not held against an entrant, so it never hides what was measured."""
    ours = result.verdict is Verdict.INTERNAL_ERROR
    return (not ours, result.provenance.evaluated_at, result.key, result.self_sha256)


def _rows(task: Task, scored: Sequence[Measurement]) -> tuple[Row, ...]:
    """Ranked rows: by place, then the earlier entry first, then by name."""
    measured = estimates([m.result.returns for m in scored], task)
    rows = [
        Row(**rank._asdict(), entry=m.entry, result=m.result, estimate=estimate, attempts=m.attempts)
        for m, rank, estimate in zip(scored, ranks(measured), intervals(measured), strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: (row.place, row.result.provenance.evaluated_at, name_order(row.entry))))
