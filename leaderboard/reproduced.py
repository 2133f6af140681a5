"""Which results came out again: measured officially more than once on the same seeds, with the same returns each time."""

from collections import defaultdict
from collections.abc import Iterable

from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official


def reproduced(results: Iterable[Result]) -> frozenset[str]:
    """The keys of all official results that another one confirms.

    A re-evaluation keeps the beacon, and with it the seeds, but has another key: other lock files, another image. Of
    equal seeds equal returns are asked, to the last bit. One that differs takes the mark from all of its kind.
    """
    found: defaultdict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        if result.verdict is Verdict.OK and result.sealed is None and is_official(result):
            found[result.submission_digest, result.task_digest, result.task, result.season, result.beacon].append(result)
    confirmed = (same for same in found.values() if len({one.key for one in same}) > 1 and _agree(same))
    return frozenset(one.key for same in confirmed for one in same)


def _agree(same: list[Result]) -> bool:
    return all(one.returns == same[0].returns for one in same)
