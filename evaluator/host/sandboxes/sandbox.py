"""The interface of a sandbox, and the processor that it shares with the referee."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from evaluator.host.errors import AgentFault
from evaluator.host.sandboxes.channel import ByteStream
from evaluator.host.usage import Usage
from evaluator.model.config.image_reference import OwnImage
from evaluator.model.config.limits import Limits
from evaluator.model.records.stored_record import SandboxKind
from evaluator.model.records.verdict import Verdict

Pin = Callable[[int], None]


def own_processors() -> tuple[int, ...]:
    """The processors that this process may use; plain numbers where the system has no such sets."""
    return tuple(sorted(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)))


def handed_processors() -> tuple[int, ...]:
    """The processors of this process where it may not use all of the machine's, such as beside other evaluations."""
    processors = own_processors()
    return processors if len(processors) < (os.cpu_count() or 1) else ()


@contextlib.contextmanager
def shared_processor(pin_sandbox: Pin) -> Iterator[None]:
    """Keep this thread and the sandbox on one processor within the block.

    In strict question and answer only one side works at a time. A switch on one processor takes a third of the time of
    waking an idle one (11 against 37 microseconds for a round trip, as measured).
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = own_processors()
    processor = before[os.getpid() % len(before)]
    pin_sandbox(processor)
    os.sched_setaffinity(0, {processor})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


# Whoever serves an agent's files by a host of its own knows the seeds by then, and chooses the second in which they arrive.
# An agent that reads the clock could be told by it how to play; so it starts at a full multiple of this.
START_SLOT_SECONDS = 600.0


def wait_for_start_slot() -> None:
    """Wait until the next full multiple of `START_SLOT_SECONDS` of the clock."""
    time.sleep(-time.time() % START_SLOT_SECONDS)


@dataclass(frozen=True, kw_only=True)
class SandboxSpec:
    """What a sandbox is opened for."""

    folder: Path
    """A private copy of the submission: regular files only."""
    entry: str
    """The file that defines `class Agent`."""
    limits: Limits
    environment: Mapping[str, str] = field(default_factory=dict)
    adapter: str | None = None
    extras: tuple[str, ...] = ()
    """Names of the extras that the evaluator image must hold."""
    loopback: bool = False
    """Whether its processes may connect to each other over 127.0.0.1."""
    image: OwnImage | None = None
    """The agent's own image; none of our code runs in it."""
    gpus: int = 0
    waits_for_slot: bool = False
    """Whether it starts at a full multiple of `START_SLOT_SECONDS`, if its image is from its owner's own registry."""
    wall_seconds: float | None = None
    """Overrides the wall limit of `limits`: a player of a duel also waits for its opponent."""


class Sandbox(Protocol):
    """An isolated process with the agent in it."""

    kind: SandboxKind
    image_digest: str | None

    def stream(self) -> ByteStream:
        """Wait for the agent's connection.

        Raises:
            AgentFault: it did not connect in time.
            SandboxClosed: the sandbox ended first.
        """

    def pin(self, processor: int) -> None:
        """Keep it on one processor, where the sandbox can."""

    def limit_share(self) -> None:
        """Before its first observation: from now on it has its share of processor time; it may start with more.

        Raises:
            SandboxError: the share cannot be set, so nothing may be shown to it.
        """

    def charge(self, cpu_seconds: float, wall_seconds: float) -> None:
        """Count against its limits what an interrupted attempt at the same evaluation has used."""

    def usage(self) -> Usage:
        """The resources used so far; can be called until `close`."""

    def post_mortem(self) -> AgentFault:
        """Why the sandbox closed its connection, or the fault behind a crash that it reported."""

    def end(self) -> None:
        """Kill it, but keep its log."""

    def log_tail(self) -> str:
        """The end of what the agent printed."""

    def close(self) -> None:
        """Kill and remove it; may be called twice."""


SandboxFactory = Callable[[SandboxSpec], Sandbox]


class ExitError(AgentFault):
    """A sandbox ended by itself without reporting an error."""

    def __init__(self, message: str, code: int | None) -> None:
        super().__init__(Verdict.CRASHED, message)
        self.code = code


def exit_fault(code: int | None) -> ExitError:
    """The fault of a sandbox that ended with this exit code; None if its process still runs without a connection."""
    if code is None:
        return ExitError("the agent closed its connection; it must answer until it is stopped", None)
    how = f"signal {code - 128}" if code > 128 else f"exit code {code}"
    return ExitError(f"the agent's process ended with {how} before all episodes were played", code)
