"""What came of a script: its verdict by how it ended, the episodes that count, and what it claims beside them."""

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

# A line of the log that is longer than this is no script's last word.
CLAIM_BYTES = 1 << 16
_FORM = 'end with one line such as {"score": 21.5}'
NO_CLAIM = f"the script printed no score; {_FORM}"
NO_NUMBER = "the score that the script printed is {shown}, which is no finite number; {form}"
OWN_ENVIRONMENT = (
    "the script claims a score but never played here: it uses an environment of its own; "
    "make the task's with gymnasium.make(sys.argv[1])"
)
SELF_REPORTED = " The score that it claims is listed as self-reported, apart from the ranks"
ENDED = "the script ended with exit code {code}; the end of its log says why"


class ClaimFault(Exception):
    """A script's last word is no score."""


@dataclass(frozen=True, kw_only=True)
class ScriptPerformance:
    """One attempt of a script."""

    verdict: Verdict
    """How it ended."""
    message: str
    """What went wrong."""
    log_tail: str
    """The end of what it printed."""
    usage: Usage
    """What it used."""
    record: ScriptRecord | None = None
    """All its episodes, where it is ok; its claim, where that is listed apart."""
    counted: CountedEpisodes | None = None
    """The episodes that make the score, where it is ok."""
    episodes: tuple[ScriptEpisode, ...] = ()
    """All its episodes, where it is ok, for the trace."""
    clipped: int = 0
    """Numbers of float actions that were clipped to the space."""


def evaluate_script(service: ScriptSession, sandbox: Sandbox) -> ScriptPerformance:
    """Serve the script in a sandbox to its end and judge it."""
    outcome = serve_script(service, sandbox.stream())
    fault, code = _fault(outcome, sandbox.post_mortem)
    usage = sandbox.usage()
    sandbox.end()
    log = sandbox.log_tail()
    judged = _Ending(service.offer.rules, outcome, fault, code, log)
    return judged.performance(usage)


def _fault(outcome: ScriptOutcome, post_mortem: Callable[[], AgentFault]) -> tuple[AgentFault | None, int | None]:
    """What the script is to be blamed for, if anything, and its exit code. One that its process left with is as good."""
    if outcome.fault is None and not outcome.hung_up:
        return None, outcome.exit_code
    if outcome.fault is not None and outcome.fault.verdict is not Verdict.CRASHED:
        return outcome.fault, None
    found = post_mortem()
    if isinstance(found, ExitError) and outcome.fault is None and found.code is not None:
        return None, found.code
    return (outcome.fault if outcome.fault and found.verdict is Verdict.CRASHED else found), None


@dataclass(frozen=True)
class _Ending:
    """Everything that a verdict depends on."""

    rules: ScriptRules
    outcome: ScriptOutcome
    fault: AgentFault | None
    code: int | None
    log: str

    def performance(self, usage: Usage) -> ScriptPerformance:
        """The verdict, and what is kept with it."""
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
            said = message + (SELF_REPORTED if listed else "")
            return ScriptPerformance(verdict=verdict, message=said, log_tail=self.log, usage=usage, record=record)
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
        # Before its first episode nothing is over, though it may ask for more steps at once than there are.
        over = self.outcome.served.exhausted and bool(self.outcome.served.episodes)
        if self.fault is not None and not (over and self.fault.verdict is Verdict.CRASHED):
            return self.fault.verdict, str(self.fault)
        if over:  # whatever the script makes of it: all that it may play is played
            return Verdict.OK, ""
        if self.code:
            return Verdict.CRASHED, ENDED.format(code=self.code)
        if unclaimed is not None:
            return Verdict.INVALID, unclaimed
        if not self.outcome.served.episodes:
            return Verdict.INVALID, OWN_ENVIRONMENT
        return Verdict.OK, ""


def claimed_score(log: str) -> float:
    """The score in the last line of the log that is a JSON object with one.

    Raises:
        ClaimFault: there is none, or it is no finite number.
    """
    for line in reversed(log.splitlines()):
        found = _object(line.strip())
        if "score" in found:
            return _number(found["score"])
    raise ClaimFault(NO_CLAIM)


def _object(line: str) -> dict[str, Any]:
    """The JSON object that a line is; none where it is anything else."""
    if not (line.startswith("{") and line.endswith("}")) or len(line) > CLAIM_BYTES:
        return {}
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _number(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ClaimFault(NO_NUMBER.format(shown=clean_text(json.dumps(value))[:80], form=_FORM))
