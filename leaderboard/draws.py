"""Which of an entry's results count, and which of several comes last."""

from collections.abc import Sequence

from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import Entry
from leaderboard.scoring.intervals import Draws


def counting_draws(entry: Entry, results: Sequence[Result], *, official: bool) -> Draws:
    """The results of the entry's present version that count, oldest first; empty if there are none.

    The newest of each beacon counts; only official evaluations have seeds of several. If one of them failed, it is the only
    one: an agent may fail because it sees that a draw goes badly, so another draw does not make up for it.
    """
    fitting = [r for r in results if r.submission_digest == entry.digest and (is_official(r) or not official)]
    if not fitting:
        return ()
    newest = max(fitting, key=precedence)
    if not is_official(newest) or newest.verdict is Verdict.INTERNAL_ERROR:
        return (newest,)
    by_beacon = {result.beacon: result for result in sorted(filter(is_official, fitting), key=precedence)}
    measured = [result for result in by_beacon.values() if result.verdict is not Verdict.INTERNAL_ERROR]
    draws = sorted(measured, key=precedence)
    failed = [result for result in draws if result.verdict is not Verdict.OK]
    return tuple(failed[-1:] or draws)


def precedence(result: Result) -> tuple[bool, str, str, str]:
    """The newest result comes last, but our own failures come first, so that they never hide a measured result."""
    is_measured = result.verdict is not Verdict.INTERNAL_ERROR
    return (is_measured, result.provenance.evaluated_at, result.key, result.self_sha256)
