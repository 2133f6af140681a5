"""Evaluation of a training script: its verdict, the episodes that count, and the score that it claims."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evaluator.host.errors import AgentFault
from evaluator.host.sandboxes.channel import clean_text
from evaluator.host.sandboxes.sandbox import ExitError, Sandbox
from evaluator.host.training_scripts.episode_recorder import ScriptEpisode
from evaluator.host.training_scripts.server import ScriptOutcome, ScriptSession, serve_script
from evaluator.host.usage import Usage
from evaluator.model.config.training_script import CountedEpisodes, ScriptRecord, ScriptRules
from evaluator.model.records.verdict import Verdict

# A longer line of the log is no claimed score.
MAX_CLAIM_BYTES = 1 << 16
_CLAIM_FORM = 'end with one line such as {"score": 21.5}'
NO_CLAIM = f"the script printed no score; {_CLAIM_FORM}"
NO_NUMBER = "the score that the script printed is {shown}, which is no finite number; {form}"
OWN_ENVIRONMENT = (
    "the script claims a score but never played here: it uses an environment of its own; "
    "make the task's with gymnasium.make(sys.argv[1])"
)
SELF_REPORTED = " The score that it claims is listed as self-reported, apart from the ranks"
ENDED = "the script ended with exit code {code}; the end of its log says why"


class ClaimFault(Exception):
    """The script's log ends without a valid score."""


@dataclass(frozen=True, kw_only=True)
class ScriptPerformance:
    """How one attempt of a script ended."""

    verdict: Verdict
    message: str
    log_tail: str
    usage: Usage
    record: ScriptRecord | None = None
    """All its episodes, where it is ok; only its claim, where that is listed as self-reported."""
    counted: CountedEpisodes | None = None
    """The episodes that make the score, where it is ok."""
    episodes: tuple[ScriptEpisode, ...] = ()
    """All its episodes, where it is ok, for the trace."""
    clipped: int = 0
    """Numbers of float actions that were clipped to the space."""


def evaluate_script(session: ScriptSession, sandbox: Sandbox) -> ScriptPerformance:
    """Serve the script in a sandbox to its end, and decide its verdict."""
    outcome = serve_script(session, sandbox.stream())
    fault, code = _fault(outcome, sandbox.post_mortem)
    usage = sandbox.usage()
    sandbox.end()
    log = sandbox.log_tail()
    judged = _ScriptEnding(session.offer.rules, outcome, fault, code, log)
    return judged.performance(usage)


def _fault(outcome: ScriptOutcome, post_mortem: Callable[[], AgentFault]) -> tuple[AgentFault | None, int | None]:
    """The script's fault, if any, and its exit code, as the script or its process reported it."""
    if outcome.fault is None and not outcome.hung_up:
        return None, outcome.exit_code
    if outcome.fault is not None and outcome.fault.verdict is not Verdict.CRASHED:
        return outcome.fault, None
    cause = post_mortem()
    if isinstance(cause, ExitError) and outcome.fault is None and cause.code is not None:
        return None, cause.code
    return (outcome.fault if outcome.fault and cause.verdict is Verdict.CRASHED else cause), None


@dataclass(frozen=True)
class _ScriptEnding:
    """What a verdict depends on."""

    rules: ScriptRules
    outcome: ScriptOutcome
    fault: AgentFault | None
    code: int | None
    log: str

    def performance(self, usage: Usage) -> ScriptPerformance:
        """The verdict with its record."""
        try:
            claim = claimed_score(self.log)
            unclaimed = None
        except ClaimFault as fault:
            claim, unclaimed = None, str(fault)
        verdict, message = self._verdict(claim, unclaimed)
        served = self.outcome.served
        if verdict is not Verdict.OK:
            listed = self.rules.self_reported and verdict is Verdict.INVALID and claim is not None
            record = ScriptRecord(claimed=claim, exit_code=self.code) if listed else None
            message += SELF_REPORTED if listed else ""
            return ScriptPerformance(verdict=verdict, message=message, log_tail=self.log, usage=usage, record=record)
        record = ScriptRecord(
            claimed=claim,
            exit_code=self.code,
            exhausted=served.exhausted,
            returns=tuple(episode.total for episode in served.episodes),
            lengths=tuple(episode.length for episode in served.episodes),
            unfinished=tuple(episode.index for episode in served.episodes if not episode.finished),
            counts_from=served.counts_from,
            notices=served.notices,
        )
        return ScriptPerformance(
            verdict=verdict, message="", log_tail=self.log, usage=usage, record=record,
            counted=record.counted(self.rules), episodes=served.episodes, clipped=served.clipped,
        )  # fmt: skip

    def _verdict(self, claim: float | None, unclaimed: str | None) -> tuple[Verdict, str]:
        # Without an episode the run is not over, even if the script asked for more steps at once than there are.
        over = self.outcome.served.exhausted and bool(self.outcome.served.episodes)
        if self.fault is not None and not (over and self.fault.verdict is Verdict.CRASHED):
            return self.fault.verdict, str(self.fault)
        if over:  # all episodes that count are played, whatever the script did afterwards
            return Verdict.OK, ""
        if self.code:
            return Verdict.CRASHED, ENDED.format(code=self.code)
        if unclaimed is not None:
            return Verdict.INVALID, unclaimed
        if not self.outcome.served.episodes:
            return Verdict.INVALID, OWN_ENVIRONMENT
        return Verdict.OK, ""


def claimed_score(log: str) -> float:
    """The score in the last line of the log that is a JSON object with a score.

    Raises:
        ClaimFault: there is none, or it is no finite number.
    """
    for line in reversed(log.splitlines()):
        claim = _object(line.strip())
        if "score" in claim:
            return _number(claim["score"])
    raise ClaimFault(NO_CLAIM)


def _object(line: str) -> dict[str, Any]:
    """The JSON object in a line; empty where it holds anything else."""
    if not (line.startswith("{") and line.endswith("}")) or len(line) > MAX_CLAIM_BYTES:
        return {}
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ClaimFault(NO_NUMBER.format(shown=clean_text(json.dumps(value))[:80], form=_CLAIM_FORM))
