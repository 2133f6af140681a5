"""The handshake: HELLO describes the task to the sandbox, and READY says how the agent wants to be asked.

The sandbox's side is `serve` in evaluator/sandbox/main.py; the frames are described in site/pages/protocol.md.
"""

import sys
import time
from dataclasses import dataclass
from typing import Any, Self

from evaluator import wire
from evaluator.host.errors import AgentFault
from evaluator.host.sandboxes.channel import AgentReportedFault, ByteStream, read_json
from evaluator.model.canonical_json import canonical
from evaluator.model.records.verdict import Verdict

_OTHER_PROTOCOL = f"the sandbox does not speak protocol {wire.PROTOCOL_VERSION}"


@dataclass(frozen=True, kw_only=True)
class Hello:
    """What every sandbox learns of its task."""

    mode: str
    """`act` for an agent alone, `play` for a player of a game, `serve` for a training script."""
    task_id: str
    observation_space: dict[str, Any]
    action_space: dict[str, Any]
    seed: int
    """For generators that the whole process shares."""

    def send(self, stream: ByteStream, seconds: float, **more: Any) -> float:
        """Send HELLO, with the keys of one mode in `more`; returns the deadline for READY, `seconds` from now.

        Raises:
            AgentFault: the sandbox takes nothing before the deadline.
            SandboxClosed: it closed the connection.
        """
        deadline = time.monotonic() + seconds
        document = {"protocol": wire.PROTOCOL_VERSION, **vars(self), **more}
        stream.send(wire.frame(wire.Op.HELLO, canonical(document)), deadline)
        return deadline


@dataclass(frozen=True, kw_only=True)
class Ready:
    """What an agent wants."""

    shared: bool
    """Whether one instance plays all episodes or matches."""
    lanes: Any = sys.maxsize
    """The most episodes at once, as the sandbox wrote it, so of any type."""
    ends: bool = False
    """Whether it wants to be told how matches end."""

    @classmethod
    def read(cls, stream: ByteStream, deadline: float, seconds: float, *, shared: bool | None = None) -> Self:
        """The agent's READY; `shared` is its value where an agent need not say it, `seconds` the limit of its start.

        Raises:
            AgentFault: the agent failed or is late, or the answer is no READY of this protocol.
            SandboxClosed: the sandbox closed the connection.
        """
        try:
            ready = read_json(stream, wire.Op.READY, deadline)
        except AgentReportedFault:
            raise
        except AgentFault as fault:
            late = f"the agent was not ready in time: its start may last {seconds:g} s"
            raise AgentFault(fault.verdict, late if fault.verdict is Verdict.TIMEOUT else str(fault)) from fault
        shared = ready.get("shared") if shared is None else shared
        if ready.get("protocol") != wire.PROTOCOL_VERSION or not isinstance(shared, bool):
            raise AgentFault(Verdict.PROTOCOL_ERROR, _OTHER_PROTOCOL)
        return cls(shared=shared, lanes=ready.get("lanes", sys.maxsize), ends=ready.get("ends") is True)
