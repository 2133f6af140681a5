"""Evaluation of a training script: serving its environments, its verdict, and the score that it claims."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from evaluator import wire
from evaluator.host.attempts.attempt import EvaluationEnd, prefer_specific
from evaluator.host.envs.episode_recorder import most_steps, too_many_steps
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.progress import REPORT_STEPS, PlayProgress, ReportProgress
from evaluator.host.sandboxes.channel import ByteStream, clean_text, parse_error_frame, parse_object
from evaluator.host.sandboxes.handshake import Hello, Ready
from evaluator.host.sandboxes.sandbox import ExitError, Pin, Sandbox, shared_processor
from evaluator.host.training_scripts.script_env_server import RemoteEnvServer, ScriptEpisode, ScriptTask
from evaluator.model.config.limits import Limits
from evaluator.model.records.script_record import MAX_NOTICES, ScriptRecord
from evaluator.model.records.verdict import Verdict

BUFFER_BYTES = 1 << 16
NOTICE_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class ScriptSession:
    """What is needed to serve a script."""

    offer: ScriptTask
    agent_seed: int
    limits: Limits
    progress: ReportProgress
    pin_sandbox: Pin = lambda processor: None
    started: Callable[[], None] = lambda: None
    """Called when the script's own code begins, which may learn by luck before its first episode."""


@dataclass(frozen=True, kw_only=True)
class ScriptOutcome:
    """What a script played, and how serving it ended."""

    episodes: tuple[ScriptEpisode, ...]
    counts_from: int
    """Number of the first episode begun after the training steps; the number of all episodes if none was."""
    exhausted: bool
    """Whether it asked for more than its budget, or after all counted episodes had ended."""
    clipped: int
    """Numbers of float actions that were clipped to the space."""
    notices: tuple[str, ...]
    """Requests of the script that were refused or ignored, each once."""
    exit_code: int | None
    """The script's exit code; None where it did not end by itself."""
    fault: AgentFault | None
    hung_up: bool
    """Whether the sandbox closed its end."""


class FrameReader:
    """Reads a script's frames, with one system call each if they are small."""

    def __init__(self, stream: ByteStream, longest: int) -> None:
        self._stream = stream
        self._longest = longest
        self._view = memoryview(bytearray(BUFFER_BYTES))

    def next(self, deadline: float) -> tuple[int, memoryview]:
        """The next frame: its opcode, and its body, which is valid until the next call.

        Raises:
            AgentFault: the frame is too large, or another one follows before the answer.
            SandboxClosed: the script closed the connection.
        """
        head = wire.HEADER.size
        have = self._stream.fill(self._view, head, deadline)
        length, op = wire.HEADER.unpack_from(self._view)
        if length > self._longest:
            raise AgentFault(Verdict.PROTOCOL_ERROR, f"a frame of {length} bytes; the most is {self._longest}")
        end = head + length
        if end > len(self._view):
            larger = memoryview(bytearray(end))
            larger[:have] = self._view[:have]
            self._view = larger
        if have < end:
            have += self._stream.fill(self._view[have:end], end - have, deadline)
        if have > end:
            raise AgentFault(
                Verdict.PROTOCOL_ERROR, "the script's side sent a second question before the first was answered"
            )
        return op, self._view[head:end]


def serve_script(session: ScriptSession, stream: ByteStream) -> ScriptOutcome:
    """Serve a script to its end. However it ends, all that was played is in the outcome."""
    server = RemoteEnvServer(session.offer)
    exit_code: int | None = None
    fault: AgentFault | None = None
    hung_up = False
    notices: tuple[str, ...] = ()
    stream.spin = 0.0
    try:
        with shared_processor(session.pin_sandbox):
            exit_code, notices = _serve(session, server, stream)
    except AgentFault as caught:
        fault = caught
    except SandboxClosed:
        hung_up = True
    return ScriptOutcome(
        episodes=server.finish(), counts_from=server.counts_from, exhausted=server.exhausted, clipped=server.clipped,
        notices=notices, exit_code=exit_code, fault=fault, hung_up=hung_up,
    )  # fmt: skip


def _serve(session: ScriptSession, server: RemoteEnvServer, stream: ByteStream) -> tuple[int, tuple[str, ...]]:
    """Answer until the script is done; returns its exit code and notices."""
    _handshake(session, stream)
    session.started()
    reader = FrameReader(stream, max(server.longest, wire.ERROR_BYTES))
    deadline = time.monotonic() + session.limits.wall_seconds
    shown, most = 0, most_steps(session.offer.gym_task.decoder().leaves)
    while True:
        op, body = reader.next(deadline)
        if op == wire.Op.DONE:
            return _done(body)
        if op == wire.Op.ERROR:
            raise parse_error_frame(bytes(body))
        stream.send(server.answer(op, body), deadline)
        if server.steps > most:
            raise too_many_steps()
        if server.steps - shown >= REPORT_STEPS:
            shown = server.steps
            total = session.offer.rules.steps
            session.progress(PlayProgress(done=shown, total=total, steps=shown, share=shown / total))


def _handshake(session: ScriptSession, stream: ByteStream) -> None:
    gym_task = session.offer.gym_task
    hello = Hello(mode="serve", seed=session.agent_seed, **gym_task.hello_fields())
    deadline = hello.send(
        stream, session.limits.start_seconds, env_id=gym_task.task.env_id, max_episode_steps=gym_task.time_limit,
        kwargs=gym_task.task.kwargs, training_steps=session.offer.training_steps,
        evaluation_episodes=session.offer.rules.last,
    )  # fmt: skip
    Ready.read(stream, deadline, session.limits.start_seconds, shared=False)


def _done(body: memoryview) -> tuple[int, tuple[str, ...]]:
    """The exit code and notices in a DONE frame, which are the script's claims."""
    value = parse_object(bytes(body))
    code, notices = value.get("exit_code"), value.get("notices")
    texts = [text for text in notices[:MAX_NOTICES] if isinstance(text, str)] if isinstance(notices, list) else []
    return (code & 0xFF if isinstance(code, int) else 1), tuple(clean_text(text)[:NOTICE_CHARACTERS] for text in texts)


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


class ReportedScoreError(Exception):
    """The script's log ends without a valid score."""


def evaluate_script(session: ScriptSession, sandbox: Sandbox) -> EvaluationEnd:
    """Serve the script in a sandbox to its end, and decide its verdict."""
    served, rules = serve_script(session, sandbox.stream()), session.offer.rules
    usage = sandbox.usage()  # before anything else: a container that has ended cannot be measured
    fault, code = _fault(served, sandbox.post_mortem)
    sandbox.end()
    log = sandbox.log_tail()
    try:
        claim, unclaimed = claimed_score(log), None
    except ReportedScoreError as error:
        claim, unclaimed = None, str(error)
    verdict, message = _verdict(served, fault, code, unclaimed)
    end = EvaluationEnd(
        verdict=verdict, message=message, log_tail=log, usage=usage, sandbox=sandbox.kind, image_digest=sandbox.image_digest
    )
    if verdict is Verdict.OK:
        record = _record(served, claim, code)
        return replace(end, script=record, counted=record.counted(rules), episodes=served.episodes, clipped=served.clipped)
    if rules.self_reported and verdict is Verdict.INVALID and claim is not None:
        return replace(end, message=message + SELF_REPORTED, script=ScriptRecord(claimed=claim, exit_code=code))
    return end


def _fault(outcome: ScriptOutcome, post_mortem: Callable[[], AgentFault]) -> tuple[AgentFault | None, int | None]:
    """The script's fault, if any, and its exit code, as the script or its process reported it."""
    if outcome.fault is None and not outcome.hung_up:
        return None, outcome.exit_code
    if outcome.fault is not None and outcome.fault.verdict is not Verdict.CRASHED:
        return outcome.fault, None
    cause = post_mortem()
    if isinstance(cause, ExitError) and outcome.fault is None and cause.code is not None:
        return None, cause.code
    return (prefer_specific(outcome.fault, cause) if outcome.fault else cause), None


def _record(served: ScriptOutcome, claim: float | None, code: int | None) -> ScriptRecord:
    return ScriptRecord(
        claimed=claim,
        exit_code=code,
        exhausted=served.exhausted,
        returns=tuple(episode.total for episode in served.episodes),
        lengths=tuple(episode.length for episode in served.episodes),
        ended_at=tuple(episode.ended_at for episode in served.episodes),
        unfinished=tuple(episode.index for episode in served.episodes if not episode.finished),
        counts_from=served.counts_from,
        notices=served.notices,
    )


def _verdict(
    served: ScriptOutcome, fault: AgentFault | None, code: int | None, unclaimed: str | None
) -> tuple[Verdict, str]:
    # Without an episode the run is not over, even if the script asked for more steps at once than there are.
    over = served.exhausted and bool(served.episodes)
    if fault is not None and not (over and fault.verdict is Verdict.CRASHED):
        return fault.verdict, str(fault)
    if over:  # no other episode could count, with whatever exit code the script ended
        return Verdict.OK, ""
    if code:
        return Verdict.CRASHED, ENDED.format(code=code)
    if unclaimed is not None:
        return Verdict.INVALID, unclaimed
    if not served.episodes:
        return Verdict.INVALID, OWN_ENVIRONMENT
    return Verdict.OK, ""


def claimed_score(log: str) -> float:
    """The score in the last line of the log that is a JSON object with a score.

    Raises:
        ReportedScoreError: there is none, or it is no finite number.
    """
    for line in reversed(log.splitlines()):
        claim = _object(line.strip())
        if "score" in claim:
            return _number(claim["score"])
    raise ReportedScoreError(NO_CLAIM)


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
    raise ReportedScoreError(NO_NUMBER.format(shown=clean_text(json.dumps(value))[:80], form=_CLAIM_FORM))
