"""Builds the standings of a task for one agent: who has which place, and who does not rank."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash
from leaderboard.core.eligibility import EligibleEntries, is_official
from leaderboard.core.entry import AgentName, Entry, Excluded
from leaderboard.core.owners import OwnerGroups, OwnerTries, superseded_entries
from leaderboard.core.standings import TaskFailure, TaskRow, TaskStandings, WithdrawnScore
from leaderboard.scoring.counting_results import counting_results, lacks_a_beacon, precedence
from leaderboard.scoring.intervals import EstimateArrays, PooledResults, intervals, oriented, pooled_values, score_or_none
from leaderboard.scoring.metrics import MISSING, by_value, metrics_of, other_metrics, ranking_metric
from leaderboard.scoring.ranking import (
    Key,
    RankInterval,
    chosen_entries,
    in_order,
    name_order,
    rank_intervals,
    ranks_with_unranked,
)
from leaderboard.scoring.score_all import ScoredResults, common_scale, counted_scores
from leaderboard.scoring.significance import compare_same_episodes

Superseded = Mapping[AgentName, str]
"""As in `superseded_entries`."""


class FinalVersions:
    """Which version of an owner holds its place in the final ranks of a season: the one with the best live score.

    The final draws take no part in the choice, so that of an owner's versions is one draw, however many stand at the end.

    In a sealed season there are no final draws: all versions have played the same secret episodes, and the best score
    decides. An owner who enters one version after the other keeps that one, too, by the rounded scores; so both have all
    their versions as tries, and nothing is gained by folders, by an order of merges, or by a name.
    """

    def __init__(
        self,
        groups: OwnerGroups,
        entries: Iterable[Entry],
        recorded: Mapping[str, Mapping[AgentName, Sequence[Result]]],
        final_beacon: str,
    ) -> None:
        """Take the standing versions that take part, and all results by task and agent."""
        self._groups, self._entries = groups, tuple(entries)
        self._recorded, self._final_beacon = recorded, final_beacon
        self.is_sealed = secret_hash(final_beacon) is not None
        """Whether live and final draws are the same."""

    def of(self, task: Task) -> Superseded:
        """The versions without a place on a task."""
        return superseded_entries(self._groups, self._playing([task]), partial(self._live_place, task))

    def overall(self, tasks: Iterable[Task]) -> Superseded:
        """The versions without a place across tasks: the better live score of all tasks together decides."""
        scaled = [task for task in tasks if any(common_scale(task))]
        return superseded_entries(self._groups, self._playing(scaled), partial(self._live_overall, scaled))

    def final_results(self, results: Sequence[Result]) -> list[Result]:
        """Those of an entry's results that are of the final draw."""
        return [result for result in results if result.beacon == self._final_beacon]

    def _playing(self, tasks: Sequence[Task]) -> list[Entry]:
        return [entry for entry in self._entries if any(entry.submission.plays(task) for task in tasks)]

    def _live_place(self, task: Task, entry: Entry) -> Key:
        pooled = self._live(task, entry)
        by_name = {metric.name: metric for metric in metrics_of(task)}
        metrics = (ranking_metric(task), *(by_name[name] for name in task.ties))
        values = [
            (metric, pooled_values([pooled], task, metric)[0] if _has_score(pooled) else MISSING) for metric in metrics
        ]
        return *by_value(values), _first_recorded(pooled), name_order(entry)

    def _live_overall(self, tasks: Sequence[Task], entry: Entry) -> Key:
        played = [(task, self._live(task, entry)) for task in tasks if entry.submission.plays(task)]
        scored = [(task, pooled) for task, pooled in played if _has_score(pooled)]
        score = math.fsum(task.weight * _counts(task, pooled) for task, pooled in scored)
        return not scored, -score, max(_first_recorded(pooled) for _, pooled in played), name_order(entry)

    def _live(self, task: Task, entry: Entry) -> PooledResults:
        """The results of a version before its final draw that count."""
        results = self._recorded[task.id].get(entry.name, ())
        live = [result for result in results if (result.beacon == self._final_beacon) == self.is_sealed]
        return counting_results(entry, live, official=True)


def _has_score(pooled: PooledResults) -> bool:
    return bool(pooled) and pooled[-1].verdict is Verdict.OK


def _first_recorded(pooled: PooledResults) -> tuple[bool, str]:
    """A sort key; without a result it comes last."""
    return not pooled, pooled[0].provenance.evaluated_at if pooled else ""


def _counts(task: Task, pooled: PooledResults) -> float:
    """What the score of pooled results counts on the overall leaderboard."""
    (scale,) = common_scale(task)
    return float(counted_scores(scale.normalised(np.array(pooled_values([pooled], task, ranking_metric(task)))))[0])


@dataclass(frozen=True, kw_only=True)
class CountedResult:
    """The result that counts of one entry on one task."""

    entry: Entry
    pooled_results: PooledResults
    versions_tried: int
    """As in `TaskRow`."""
    tries: int
    """As in `TaskRow`."""
    superseded_by: str | None
    """As in `TaskRow`."""
    since: str
    """As in `TaskRow`; empty without a score."""

    @property
    def result(self) -> Result:
        """The newest draw."""
        return self.pooled_results[-1]


@dataclass(frozen=True, kw_only=True)
class PartitionedResults:
    """The entries of a task by what is recorded of them, before scores are computed."""

    task: Task
    scored: Sequence[CountedResult]
    failed: Sequence[CountedResult]
    waiting: Sequence[Entry]
    excluded: tuple[Excluded, ...]
    withdrawn: tuple[WithdrawnScore, ...]
    superseded: Superseded

    def scores(self) -> ScoredResults:
        """What scores and intervals are computed from."""
        return ScoredResults(
            task=self.task, names=[m.entry.name for m in self.scored],
            pooled_results=[m.pooled_results for m in self.scored], tries=[m.tries for m in self.scored],
        )  # fmt: skip


def partition_results(
    task: Task,
    eligible: EligibleEntries,
    recorded: Mapping[AgentName, Sequence[Result]],
    owner_tries: OwnerTries,
    *,
    official: bool,
    final: FinalVersions | None,
) -> PartitionedResults:
    """Partition the entries of a task by what is recorded of them; see `build_standings` for the arguments."""
    superseded = final.of(task) if final else {}
    scored: list[CountedResult] = []
    failed: list[CountedResult] = []
    waiting: list[Entry] = []
    is_one_draw = final is not None and not final.is_sealed
    for entry in eligible.ranking:
        if not entry.submission.plays(task):
            continue
        results = recorded.get(entry.name, ())
        pooled = counting_results(entry, final.final_results(results) if final else results, official=official)
        if not pooled or (official and not final and lacks_a_beacon(entry, task, pooled)):
            if entry.is_awaited(task.id):
                waiting.append(entry)
            continue
        counted = CountedResult(
            entry=entry, pooled_results=pooled, versions_tried=owner_tries.versions(entry.name),
            tries=1 if is_one_draw else owner_tries.tries(entry.name), superseded_by=superseded.get(entry.name),
            since=_first_scored(entry, results, official=official),
        )  # fmt: skip
        if counted.result.verdict is Verdict.OK:
            scored.append(counted)
        else:
            failed.append(counted)
    excluded, withdrawn = _not_ranked(task, eligible, recorded)
    return PartitionedResults(
        task=task,
        scored=scored,
        failed=failed,
        waiting=waiting,
        excluded=excluded,
        withdrawn=withdrawn,
        superseded=superseded,
    )


def task_standings(results: PartitionedResults, measured: EstimateArrays) -> TaskStandings:
    """The standings of a task from its entries by result and their scores, in the order of `PartitionedResults.scored`."""
    failures = tuple(TaskFailure(entry=m.entry, result=m.result, versions_tried=m.versions_tried) for m in results.failed)
    return TaskStandings(
        task=results.task,
        rows=_rows(results.task, results.scored, measured),
        failures=failures,
        waiting=tuple(results.waiting),
        excluded=results.excluded,
        withdrawn=results.withdrawn,
        superseded=results.superseded,
    )


def _not_ranked(
    task: Task, eligible: EligibleEntries, recorded: Mapping[AgentName, Sequence[Result]]
) -> tuple[tuple[Excluded, ...], tuple[WithdrawnScore, ...]]:
    """Excluded and withdrawn agents; an agent that is both is listed as excluded."""
    out = [(entry.login, entry.agent, why) for entry, why in eligible.excluded if entry.submission.plays(task)]
    withdrawn: list[WithdrawnScore] = []
    for last in _without_folder(eligible, recorded):
        if exclusion := eligible.moderation.exclusion_of(last.login, last.agent, last.submission_digest):
            out.append((last.login, last.agent, exclusion))
        else:
            withdrawn.append(
                WithdrawnScore(login=last.login, agent=last.agent, result=last, score=score_or_none(task, last))
            )
    excluded = [Excluded(login=login, agent=agent, exclusion=exclusion) for login, agent, exclusion in out]
    return tuple(sorted(excluded, key=_name)), tuple(sorted(withdrawn, key=_name))


def _without_folder(eligible: EligibleEntries, recorded: Mapping[AgentName, Sequence[Result]]) -> Iterator[Result]:
    """The newest official result of each agent without a folder on main; failures on our side do not count."""
    for name, results in recorded.items():
        if name in eligible.names:
            continue
        counting = [r for r in results if is_official(r) and r.verdict is not Verdict.INTERNAL_ERROR]
        if counting:
            yield max(counting, key=precedence)


def _name(row: Excluded | WithdrawnScore) -> AgentName:
    return AgentName.folded(row.login, row.agent)


def _rows(task: Task, scored: Sequence[CountedResult], measured: EstimateArrays) -> tuple[TaskRow, ...]:
    """Ranked rows: by place, then the earlier entry first, then by name; those whose place another holds come last."""
    pooled, tries = [m.pooled_results for m in scored], [m.tries for m in scored]
    columns = [pooled_values(pooled, task, metric) for metric in other_metrics(task)]
    shown = list(zip(*columns, strict=True)) or [()] * len(scored)
    better, ties = oriented(measured, ranking_metric(task)), _tie_breaks(task, shown)

    def rank(chosen: Sequence[int]) -> list[RankInterval]:
        compared = compare_same_episodes([pooled[i] for i in chosen], [tries[i] for i in chosen], task) if chosen else None
        return rank_intervals(chosen_entries(better, chosen), [ties[i] for i in chosen] if ties else (), compared)

    places, among_all = ranks_with_unranked([m.entry.is_unranked or m.superseded_by is not None for m in scored], rank)
    rows = [
        TaskRow(
            **place._asdict(), entry=m.entry, pooled_results=m.pooled_results, estimate=estimate,
            versions_tried=m.versions_tried, tries=m.tries, superseded_by=m.superseded_by, since=m.since, others=others,
        )
        for m, place, estimate, others in zip(scored, places, intervals(measured), shown, strict=True)
    ]  # fmt: skip
    return in_order(rows, among_all, [row.since for row in rows])


def _first_scored(entry: Entry, results: Iterable[Result], *, official: bool) -> str:
    """When the present version of an entry was evaluated first and had a score; empty if never."""
    own = (
        result for result in results if result.submission_digest == entry.digest and (is_official(result) or not official)
    )
    return min((result.provenance.evaluated_at for result in own if result.verdict is Verdict.OK), default="")


def _tie_breaks(task: Task, others: Sequence[tuple[float, ...]]) -> list[Key]:
    """A sort key for each entry that breaks ties of its score; none without `ties` in the task."""
    position = {metric.name: index for index, metric in enumerate(other_metrics(task))}
    metrics = [(other_metrics(task)[position[name]], position[name]) for name in task.ties]
    return [by_value((metric, row[index]) for metric, index in metrics) for row in others] if metrics else []
