"""Which of an entry's results count, and which version of an owner holds its place in the final ranks.

The version with the best live score holds the place. The final draws take no part in the choice, so that of an owner's
versions is one draw, however many stand at the end.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import OwnerGroups, superseded_entries
from leaderboard.scoring.intervals import PooledResults, pooled_values
from leaderboard.scoring.metrics import MISSING, by_value, metrics_of, ranking_metric
from leaderboard.scoring.ranking import Key, name_order
from leaderboard.scoring.score_all import common_scale, counted_scores


def counting_results(entry: Entry, results: Sequence[Result], *, official: bool) -> PooledResults:
    """The results of the entry's present version that count, oldest first; empty if there are none.

    The newest of each beacon counts; only official evaluations have seeds of several. If one of them failed, it is the only
    one: an agent may fail because it sees that a draw goes badly, so another draw does not make up for it.
    """
    return pooled_results([r for r in results if r.submission_digest == entry.digest and (is_official(r) or not official)])


def pooled_results(fitting: Sequence[Result]) -> PooledResults:
    """The same for the results of one version."""
    if len(fitting) < 2:
        return tuple(fitting)
    newest = max(fitting, key=precedence)
    if not is_official(newest) or newest.verdict is Verdict.INTERNAL_ERROR:
        return (newest,)
    by_beacon = {result.beacon: result for result in sorted(filter(is_official, fitting), key=precedence)}
    measured = [result for result in by_beacon.values() if result.verdict is not Verdict.INTERNAL_ERROR]
    pooled = sorted(measured, key=precedence)
    failed = [result for result in pooled if result.verdict is not Verdict.OK]
    return tuple(failed[-1:] or pooled)


def lacks_a_draw(entry: Entry, task: Task, pooled: PooledResults) -> bool:
    """Whether a version that came back to main was not drawn again yet: the results so far are those that it came back for.

    A failed result counts alone, whatever the others are.
    """
    return all(result.verdict is Verdict.OK for result in pooled) and not entry.presence_beacons.get(
        task.id, frozenset()
    ) <= {result.beacon for result in pooled}


def precedence(result: Result) -> tuple[bool, str, str, str]:
    """The newest result comes last, but our own failures come first, so that they never hide a measured result."""
    is_measured = result.verdict is not Verdict.INTERNAL_ERROR
    return (is_measured, result.provenance.evaluated_at, result.key, result.self_sha256)


Superseded = Mapping[AgentName, str]
"""As in `superseded_entries`."""


class FinalPlaces:
    """The choice on each leaderboard, from the results of a season whose submissions have ended."""

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
        return counting_results(entry, [one for one in results if one.beacon != self._final_beacon], official=True)


def _has_score(pooled: PooledResults) -> bool:
    return bool(pooled) and pooled[-1].verdict is Verdict.OK


def _first_recorded(pooled: PooledResults) -> tuple[bool, str]:
    """A sort key; without a result it comes last."""
    return not pooled, pooled[0].provenance.evaluated_at if pooled else ""


def _counts(task: Task, pooled: PooledResults) -> float:
    """What the score of pooled results counts on the overall leaderboard."""
    (scale,) = common_scale(task)
    return float(counted_scores(scale.normalised(np.array(pooled_values([pooled], task, ranking_metric(task)))))[0])
