"""The session with a training script: it asks, and the host makes, resets and steps its environments."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from evaluator import wire
from evaluator.host.envs.spaces import describe
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes.channel import ByteStream, clean_text, parse_object, read_error_frame, read_json
from evaluator.host.sandboxes.cpu_affinity import Pin, shared_processor
from evaluator.host.training_scripts.episode_recorder import ScriptEpisode
from evaluator.host.training_scripts.remote_envs import RemoteEnvServer, ScriptTask
from evaluator.model.canonical_json import canonical
from evaluator.model.config.challenge import Limits
from evaluator.model.config.training_script import MAX_NOTICES
from evaluator.model.records.verdict import Verdict

BUFFER_BYTES = 1 << 16
NOTICE_CHARACTERS = 300
# Steps between two reports of progress.
PROGRESS_STEPS = 1000


@dataclass(frozen=True, kw_only=True)
class ScriptSession:
    """What is needed to serve a script."""

    offer: ScriptTask
    agent_seed: int
    """The script's own seed."""
    limits: Limits
    progress: Callable[[int], None]
    """Gets the number of steps taken."""
    pin_sandbox: Pin = lambda processor: None
    """Keeps the sandbox on a processor."""


@dataclass(frozen=True, kw_only=True)
class ServedScript:
    """What a script played."""

    episodes: tuple[ScriptEpisode, ...]
    steps: int
    """Environment steps of all episodes."""
    counts_from: int
    """Number of the first episode begun after the training steps; the number of all episodes if none was."""
    exhausted: bool
    """Whether it asked for more than its budget, or after all counted episodes had ended."""
    clipped: int
    """Numbers of float actions that were clipped to the space."""
    notices: tuple[str, ...]
    """Requests of the script that were refused or ignored, each once."""


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


@dataclass(frozen=True, kw_only=True)
class ScriptOutcome:
    """How serving ended."""

    served: ServedScript
    exit_code: int | None
    """The script's exit code; None where it did not end by itself."""
    fault: AgentFault | None
    hung_up: bool
    """Whether the sandbox closed its end."""


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
    episodes = server.finish()
    served = ServedScript(
        episodes=episodes, steps=server.steps, counts_from=server.counts_from, exhausted=server.exhausted,
        clipped=server.clipped, notices=notices,
    )  # fmt: skip
    return ScriptOutcome(served=served, exit_code=exit_code, fault=fault, hung_up=hung_up)


def _serve(session: ScriptSession, server: RemoteEnvServer, stream: ByteStream) -> tuple[int, tuple[str, ...]]:
    """Answer until the script is done; returns its exit code and notices."""
    _greet(session, stream)
    reader = FrameReader(stream, max(server.longest, wire.ERROR_BYTES))
    deadline = time.monotonic() + session.limits.wall_seconds
    shown = 0
    while True:
        op, body = reader.next(deadline)
        if op == wire.Op.DONE:
            return _done(body)
        if op == wire.Op.ERROR:
            raise read_error_frame(bytes(body))
        stream.send(server.answer(op, body), deadline)
        if server.steps - shown >= PROGRESS_STEPS:
            shown = server.steps
            session.progress(shown)


def _greet(session: ScriptSession, stream: ByteStream) -> None:
    world = session.offer.world
    hello = {
        "protocol": wire.VERSION,
        "mode": "serve",
        "task_id": world.task.id,
        "env_id": world.task.env_id,
        "observation_space": describe(world.observation_space),
        "action_space": describe(world.action_space),
        "max_episode_steps": world.time_limit,
        "kwargs": world.task.kwargs,
        "seed": session.agent_seed,
        "training_steps": session.offer.training_steps,
        "evaluation_episodes": session.offer.rules.last,
    }
    deadline = time.monotonic() + session.limits.start_seconds
    stream.send(wire.frame(wire.Op.HELLO, canonical(hello)), deadline)
    ready = read_json(stream, wire.Op.READY, deadline)
    if ready.get("protocol") != wire.VERSION:
        raise AgentFault(Verdict.PROTOCOL_ERROR, f"the sandbox does not speak protocol {wire.VERSION}")


def _done(body: memoryview) -> tuple[int, tuple[str, ...]]:
    """The exit code and notices in a DONE frame, which are the script's claims."""
    value = parse_object(bytes(body))
    code, notices = value.get("exit_code"), value.get("notices")
    texts = [text for text in notices[:MAX_NOTICES] if isinstance(text, str)] if isinstance(notices, list) else []
    return (code & 0xFF if isinstance(code, int) else 1), tuple(clean_text(text)[:NOTICE_CHARACTERS] for text in texts)
