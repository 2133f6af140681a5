"""Standings: from the entries on main and everything recorded to the boards."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.config.moderation import Moderation
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import EligibleEntries, eligible_entries, is_official
from leaderboard.core.entry import AgentName
from leaderboard.core.owners import OwnerAttempts, OwnerGroups, owner_groups
from leaderboard.core.standings import Entry, Excluded, Failure, Row, Standings, TaskStandings, WithdrawnScore
from leaderboard.core.versions import VersionFolders, version_folders
from leaderboard.ratings.game_leaderboard import build_game_standings
from leaderboard.scoring.intervals import EstimateArrays, intervals, oriented, values
from leaderboard.scoring.metrics import by_value, known_metrics, other_metrics, ranking
from leaderboard.scoring.overall import overall_rows
from leaderboard.scoring.ranking import Key, name_order, ranks_beside
from leaderboard.scoring.score_all import ScoredTasks, score_all
from leaderboard.scoring.significance import paired


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The recorded outcome of one entry on one task."""

    entry: Entry
    """Who."""
    result: Result
    """The one that counts."""
    attempts: int
    """Versions of its owner, or of its team, that were evaluated on this task."""


def build_standings(
    challenge: Challenge,
    entries: Iterable[Entry],
    results: Iterable[Result],
    *,
    official: bool,
    moderation: Moderation | None = None,
    duels: Iterable[Duel] = (),
) -> Standings:
    """The boards of a challenge; the order of entries, results and duels never matters.

    Args:
        challenge: its tasks and its season.
        entries: the agents that stand on main now, each once.
        results: everything recorded; results of other seasons, task settings or versions do not rank.
        official: whether only official results count (design 4.6); else any class and sandbox does. Of the examples,
            entries of the login `local`, only baselines have a part in an official board.
        moderation: who is kept off the board: listed as excluded, never ranked; nobody when left out.
        duels: everything recorded of the games, under the same conditions.
    """
    entries = tuple(sorted(entries, key=name_order))
    field = eligible_entries(entries, moderation, official=official)
    results = list(results)
    recorded, own = _by_task(challenge, results, version_folders(entries)), owner_groups(entries, results)
    sorted_out = [_sorted_out(task, field, recorded[task.id], own, official=official) for task in challenge.solo_tasks]
    measured, columns = score_all([found.scores() for found in sorted_out])
    tasks = tuple(map(_task_board, sorted_out, measured))
    board = partial(
        build_game_standings,
        official=official,
        moderation=moderation,
        season=challenge.season,
        baselines=challenge.baselines,
    )
    played = list(duels)
    games = tuple(board(task, entries, played) for task in challenge.games)
    return Standings(challenge=challenge, official=official, overall=overall_rows(tasks, columns), tasks=tasks, games=games)


def _by_task(
    challenge: Challenge, results: Iterable[Result], at: VersionFolders
) -> dict[str, dict[AgentName, list[Result]]]:
    """The results of this season and the present task settings, by task and the folder in which the version stands."""
    digests = {task.id: task.digest() for task in challenge.solo_tasks}
    found: dict[str, dict[AgentName, list[Result]]] = {task_id: defaultdict(list) for task_id in digests}
    for result in results:
        if result.season == challenge.season and digests.get(result.task) == result.task_digest:
            found[result.task][at.of(result)].append(result)
    return found


@dataclass(frozen=True, kw_only=True)
class _ResultsByTask:
    """What is known of a task before anything is measured."""

    task: Task
    scored: Sequence[Measurement]
    failed: Sequence[Measurement]
    waiting: Sequence[Entry]
    excluded: tuple[Excluded, ...]
    withdrawn: tuple[WithdrawnScore, ...]

    def scores(self) -> ScoredTasks:
        return ScoredTasks(
            task=self.task, names=[m.entry.name for m in self.scored], results=[m.result for m in self.scored]
        )


def _sorted_out(
    task: Task, field: EligibleEntries, recorded: Mapping[AgentName, Sequence[Result]], sides: OwnerGroups, *, official: bool
) -> _ResultsByTask:
    attempts = OwnerAttempts(sides, ((name, result.submission_digest) for name, own in recorded.items() for result in own))
    scored: list[Measurement] = []
    failed: list[Measurement] = []
    waiting: list[Entry] = []
    for entry in field.ranking:
        if not entry.submission.plays(task):
            continue
        own = recorded.get(entry.name, ())
        measurement = _measurement(entry, own, attempts, official=official)
        if not measurement:
            waiting.append(entry)
        elif measurement.result.verdict is Verdict.OK:
            scored.append(measurement)
        else:
            failed.append(measurement)
    excluded, withdrawn = _off_the_board(task, field, recorded)
    return _ResultsByTask(task=task, scored=scored, failed=failed, waiting=waiting, excluded=excluded, withdrawn=withdrawn)


def _task_board(found: _ResultsByTask, measured: EstimateArrays) -> TaskStandings:
    failures = tuple(Failure(entry=m.entry, result=m.result, attempts=m.attempts) for m in found.failed)
    return TaskStandings(
        task=found.task, rows=_rows(found.task, found.scored, measured), failures=failures, waiting=tuple(found.waiting),
        excluded=found.excluded, withdrawn=found.withdrawn,
    )  # fmt: skip


def _off_the_board(
    task: Task, field: EligibleEntries, recorded: Mapping[AgentName, Sequence[Result]]
) -> tuple[tuple[Excluded, ...], tuple[WithdrawnScore, ...]]:
    """Who is excluded and who was withdrawn; whoever is both is shown as excluded."""
    out = [(entry.login, entry.agent, why) for entry, why in field.excluded if entry.submission.plays(task)]
    withdrawn: list[WithdrawnScore] = []
    for last in _left(field, recorded):
        if exclusion := field.moderation.of(last.login, last.agent):
            out.append((last.login, last.agent, exclusion))
        else:
            withdrawn.append(WithdrawnScore(login=last.login, agent=last.agent, result=last, score=_score(task, last)))
    excluded = [Excluded(login=login, agent=agent, exclusion=exclusion) for login, agent, exclusion in out]
    return tuple(sorted(excluded, key=_folded)), tuple(sorted(withdrawn, key=_folded))


def _left(field: EligibleEntries, recorded: Mapping[AgentName, Sequence[Result]]) -> Iterator[Result]:
    """The last official result of each agent that has no folder on main; what only failed on our side says nothing."""
    for name, own in recorded.items():
        if name in field.names:
            continue
        said = [r for r in own if is_official(r) and r.verdict is not Verdict.INTERNAL_ERROR]
        if said:
            yield max(said, key=_precedence)


def _score(task: Task, result: Result) -> float | None:
    if result.verdict is not Verdict.OK:
        return None
    return known_metrics(values([result], task, ranking(task))[0])


def _folded(one: Excluded | WithdrawnScore) -> AgentName:
    return AgentName.folded(one.login, one.agent)


def _measurement(entry: Entry, own: Sequence[Result], attempts: OwnerAttempts, *, official: bool) -> Measurement | None:
    """The newest result of the entry's present version, if there is one."""
    fitting = [r for r in own if r.submission_digest == entry.digest and (is_official(r) or not official)]
    if not fitting:
        return None
    return Measurement(entry=entry, result=max(fitting, key=_precedence), attempts=attempts.of(entry.name))


def _precedence(result: Result) -> tuple[bool, str, str, str]:
    """The latest wins; but a failure of ours is not held against an entrant, so it never hides what was measured."""
    ours = result.verdict is Verdict.INTERNAL_ERROR
    return (not ours, result.provenance.evaluated_at, result.key, result.self_sha256)


def _rows(task: Task, scored: Sequence[Measurement], found: EstimateArrays) -> tuple[Row, ...]:
    """Ranked rows: by place, then the earlier entry first, then by name."""
    results = [m.result for m in scored]
    shown = list(zip(*(values(results, task, metric) for metric in other_metrics(task)), strict=True)) or [()] * len(scored)
    places = ranks_beside(
        oriented(found, ranking(task)), [m.entry.is_aside for m in scored], _ties(task, shown),
        lambda chosen: paired([results[index] for index in chosen], task) if chosen else None,
    )  # fmt: skip
    rows = [
        Row(**rank._asdict(), entry=m.entry, result=m.result, estimate=estimate, attempts=m.attempts, others=beside)
        for m, rank, estimate, beside in zip(scored, places, intervals(found), shown, strict=True)
    ]

    def order(row: Row) -> tuple[int, bool, str, tuple[str, ...]]:
        return row.place, not row.entry.is_aside, row.result.provenance.evaluated_at, name_order(row.entry)

    return tuple(sorted(rows, key=order))


def _ties(task: Task, shown: Sequence[tuple[float, ...]]) -> list[Key]:
    """What parts equal scores of a task, for each entry; nothing without `ties`."""
    at = {metric.name: index for index, metric in enumerate(other_metrics(task))}
    parting = [(other_metrics(task)[at[name]], at[name]) for name in task.ties]
    return [by_value((metric, beside[index]) for metric, index in parting) for beside in shown] if parting else []
