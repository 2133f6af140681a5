"""What every sandbox offers the referee, whatever it is made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from evaluator.host.errors import AgentFault
from evaluator.host.sandboxes.channel import ByteStream
from evaluator.host.usage import Usage
from evaluator.model.config.challenge import Limits
from evaluator.model.config.submission import ImageReference
from evaluator.model.records.result import SandboxKind
from evaluator.model.records.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class OwnImage:
    """An image that an agent brings, to be run by its own entrypoint."""

    reference: ImageReference
    """Which one."""
    image_mib: int
    """How large it may be, in MiB: in its registry, and unpacked."""


@dataclass(frozen=True, kw_only=True)
class SandboxSpec:
    """What is to be locked in."""

    folder: Path
    """A private copy of the submission: regular files only."""
    entry: str
    """The file that defines `class Agent`."""
    limits: Limits
    """What it may use."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """All environment variables it gets."""
    adapter: str | None = None
    """Runs an agent that was written for another system."""
    extras: tuple[str, ...] = ()
    """What the evaluator image is to hold besides the usual, by name."""
    loopback: bool = False
    """Whether its processes may speak with each other over 127.0.0.1."""
    image: OwnImage | None = None
    """The agent's own image, in which nothing of ours is run."""
    wall_seconds: float | None = None
    """The watchdog's wall limit where it is not the limits' own: a player also waits for its opponent."""


class Sandbox(Protocol):
    """A jail with an agent in it, on its way to connect."""

    kind: SandboxKind
    image_digest: str | None

    def stream(self) -> ByteStream:
        """The connection to the agent; waits for it.

        Raises:
            FaultError: it did not come in time.
            HangupError: the sandbox ended before.
        """

    def pin(self, processor: int) -> None:
        """Keep it on one processor, where it is able to."""

    def usage(self) -> Usage:
        """What was used so far; callable until `close`."""

    def post_mortem(self) -> AgentFault:
        """Why the sandbox hung up, or what it is to be blamed for besides its own complaint."""

    def end(self) -> None:
        """Kill it, but keep its log to be read."""

    def log_tail(self) -> str:
        """The end of what the agent printed."""

    def close(self) -> None:
        """Kill it and remove every trace of it; may be called twice."""


SandboxFactory = Callable[[SandboxSpec], Sandbox]


class ExitError(AgentFault):
    """A sandbox that ended by itself, without a complaint."""

    def __init__(self, message: str, code: int | None) -> None:
        super().__init__(Verdict.CRASHED, message)
        self.code = code


def exit_fault(code: int | None) -> ExitError:
    """What a sandbox that ended with this code is blamed for; None if its process lives on without a connection."""
    if code is None:
        return ExitError("the agent closed its connection; it must answer until it is stopped", None)
    how = f"signal {code - 128}" if code > 128 else f"exit code {code}"
    return ExitError(f"the agent's process ended with {how} before all episodes were played", code)
