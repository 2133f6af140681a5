"""Which results of a version count: the newest of each draw, or a failure alone."""

from collections.abc import Sequence

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import Entry
from leaderboard.scoring.intervals import PooledResults


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


def lacks_a_beacon(entry: Entry, task: Task, pooled: PooledResults) -> bool:
    """Whether a version that came back to main lacks a result on seeds of one of its stays there.

    A failed result counts alone, whatever the others are.
    """
    return all(result.verdict is Verdict.OK for result in pooled) and not entry.stay_beacons.get(task.id, frozenset()) <= {
        result.beacon for result in pooled
    }


def precedence(result: Result) -> tuple[bool, str, str, str]:
    """The newest result comes last, but our own failures come first, so that they never hide a measured result."""
    is_measured = result.verdict is not Verdict.INTERNAL_ERROR
    return (is_measured, result.provenance.evaluated_at, result.key, result.self_sha256)
