"""The remote environment's end: a script asks, the referee makes, resets and steps, and keeps every return."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from evaluator import wire
from evaluator.host.envs.spaces import describe
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes.channel import ByteStream, clean_text, parse_object, read_complaint, read_json
from evaluator.host.sandboxes.cpu_affinity import Pin, shared_processor
from evaluator.host.training_scripts.episode_recorder import ScriptEpisode
from evaluator.host.training_scripts.remote_envs import RemoteEnvServer, ScriptTask
from evaluator.model.canonical_json import canonical
from evaluator.model.config.challenge import Limits
from evaluator.model.config.training_script import NOTICES
from evaluator.model.records.verdict import Verdict

BUFFER = 1 << 16
NOTICE = 300
# The referee tells how far a script is when it has taken so many steps more.
TOLD_STEPS = 1000


@dataclass(frozen=True, kw_only=True)
class ScriptSession:
    """Everything the referee needs to serve a script."""

    offer: ScriptTask
    """What it may play."""
    agent_seed: int
    """The script's own seed."""
    limits: Limits
    """The deadlines."""
    progress: Callable[[int], None]
    """Called with the number of steps taken."""
    pin_sandbox: Pin = lambda processor: None
    """Keeps the sandbox on a processor."""


@dataclass(frozen=True, kw_only=True)
class ServedScript:
    """What a script did."""

    episodes: tuple[ScriptEpisode, ...]
    """In the order of starting."""
    steps: int
    """Environment steps of all of them."""
    counts_from: int
    """Number of the first episode begun after the training steps; of all episodes if none was."""
    exhausted: bool
    """Whether it asked for more after all that counts had ended, or than its budget holds."""
    clipped: int
    """Numbers of float actions that were clipped to the space."""
    notices: tuple[str, ...]
    """What the script asked for and did not get, each once."""


class FrameReader:
    """Reads a script's frames with one kernel call each where they are small."""

    def __init__(self, stream: ByteStream, longest: int) -> None:
        self._stream = stream
        self._longest = longest
        self._view = memoryview(bytearray(BUFFER))

    def next(self, deadline: float) -> tuple[int, memoryview]:
        """The next frame: opcode and body, which is valid until the next call.

        Raises:
            FaultError: it is larger than any frame, or more than one question at a time.
            HangupError: the script is gone.
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


@dataclass(frozen=True, kw_only=True)
class ScriptOutcome:
    """How serving ended."""

    served: ServedScript
    """What was played until then."""
    exit_code: int | None
    """The script's exit code; None where it did not end by itself."""
    fault: AgentFault | None
    """What ended it before that."""
    hung_up: bool
    """Whether the sandbox closed its end."""


def serve_script(service: ScriptSession, stream: ByteStream) -> ScriptOutcome:
    """Serve a script to its end. Whatever it does, what was played until then is in the outcome."""
    desk = RemoteEnvServer(service.offer)
    exit_code: int | None = None
    fault: AgentFault | None = None
    hung_up = False
    notices: tuple[str, ...] = ()
    stream.spin = 0.0
    try:
        with shared_processor(service.pin_sandbox):
            exit_code, notices = _serve(service, desk, stream)
    except AgentFault as caught:
        fault = caught
    except SandboxClosed:
        hung_up = True
    episodes = desk.finish()
    served = ServedScript(
        episodes=episodes, steps=desk.steps, counts_from=desk.counts_from, exhausted=desk.exhausted,
        clipped=desk.clipped, notices=notices,
    )  # fmt: skip
    return ScriptOutcome(served=served, exit_code=exit_code, fault=fault, hung_up=hung_up)


def _serve(service: ScriptSession, desk: RemoteEnvServer, stream: ByteStream) -> tuple[int, tuple[str, ...]]:
    """Until the script is done; returns its exit code and what it did not get."""
    _greet(service, stream)
    asked = FrameReader(stream, max(desk.longest, wire.ERROR_BYTES))
    deadline = time.monotonic() + service.limits.wall_seconds
    shown = 0
    while True:
        op, body = asked.next(deadline)
        if op == wire.Op.DONE:
            return _done(body)
        if op == wire.Op.ERROR:
            raise read_complaint(bytes(body))
        stream.send(desk.answer(op, body), deadline)
        if desk.steps - shown >= TOLD_STEPS:
            shown = desk.steps
            service.progress(shown)


def _greet(service: ScriptSession, stream: ByteStream) -> None:
    world = service.offer.world
    hello = {
        "protocol": wire.VERSION,
        "mode": "serve",
        "task_id": world.task.id,
        "env_id": world.task.env_id,
        "observation_space": describe(world.observation_space),
        "action_space": describe(world.action_space),
        "max_episode_steps": world.time_limit,
        "kwargs": world.task.kwargs,
        "seed": service.agent_seed,
        "training_steps": service.offer.training_steps,
        "evaluation_episodes": service.offer.rules.last,
    }
    deadline = time.monotonic() + service.limits.start_seconds
    stream.send(wire.frame(wire.Op.HELLO, canonical(hello)), deadline)
    ready = read_json(stream, wire.Op.READY, deadline)
    if ready.get("protocol") != wire.VERSION:
        raise AgentFault(Verdict.PROTOCOL_ERROR, f"the sandbox does not speak protocol {wire.VERSION}")


def _done(body: memoryview) -> tuple[int, tuple[str, ...]]:
    """The script's own account of its end; a claim like everything else."""
    value = parse_object(bytes(body))
    code, notices = value.get("exit_code"), value.get("notices")
    texts = [text for text in notices[:NOTICES] if isinstance(text, str)] if isinstance(notices, list) else []
    return (code & 0xFF if isinstance(code, int) else 1), tuple(clean_text(text)[:NOTICE] for text in texts)
