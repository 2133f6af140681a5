"""Scores of sealed results: rounded before the reveal, checked after it."""

from evaluator.host.seeds.encryption import open_result, seal
from evaluator.host.seeds.season_secret import Secret
from evaluator.host.solo.verify_result import parse_result
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.scoring.intervals import values
from leaderboard.scoring.metrics import is_missing, ranking
from scripts.console import OUR_FAULT, CommandError


def rounded(challenge: Challenge, result: Result) -> float | None:
    """The score that is public until the reveal; None unless the verdict is ok and there is a value."""
    task, rules = challenge.task(result.task), challenge.sealed
    if task is None or rules is None or result.verdict is not Verdict.OK:
        return None
    score = values([result], task, ranking(task))[0]
    # Adding 0 makes -0.0 the zero that everybody writes.
    return None if is_missing(score) else round(score, rules.decimals) + 0.0


def sealed_with(challenge: Challenge, secret: Secret, result: Result, trace: bytes | None) -> tuple[Result, bytes | None]:
    """A result and its trace as they may leave a machine that knows the secret.

    Raises:
        CommandError: the result is ok and has no score.
    """
    score = rounded(challenge, result)
    if score is None and result.verdict is Verdict.OK:
        raise CommandError(OUR_FAULT, "a metric has no value to rank by; a sealed season needs one that always has")
    return seal(result, trace, score, secret)


def is_score_right(challenge: Challenge, content: bytes, secret: Secret) -> bool:
    """Whether the score that a sealed result shows is that of its episodes; one that is not sealed shows none."""
    result = parse_result(content)
    if result.sealed is None:
        return True
    rules = challenge.sealed
    # Of an earlier season the rounding is not known any more.
    if rules is None or rules.secret_sha256 != secret.sha256:
        return True
    return rounded(challenge, open_result(result, secret)) == result.sealed.score
