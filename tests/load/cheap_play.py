"""An agent's play without a container: the sandbox's own code answers the referee in a thread of this process.

Seeds, referee, result and trace are the product's; only the isolation is left out, and with it nine tenths of the time. The
agents here are the test's own.
"""

import contextlib
import os
import random
import socket
import sys
import threading
from pathlib import Path

import numpy as np

from evaluator import wire
from evaluator.host.errors import AgentFault
from evaluator.host.sandboxes.channel import ByteStream, SocketStream
from evaluator.host.sandboxes.sandbox import SandboxSpec, exit_fault
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.usage import Usage
from evaluator.model.records.stored_record import SandboxKind
from evaluator.sandbox import load_agent, main
from evaluator.sandbox.main import RefereeStream

# An image that nobody pulls: its digest alone is needed.
BASE = "base@sha256:" + "0" * 64


class ThreadSandbox:
    """See `Sandbox`."""

    kind = SandboxKind.DOCKER  # What the process sandbox played does not rank.
    image_digest: str | None = None

    def __init__(self, spec: SandboxSpec) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._spec = spec
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def stream(self) -> ByteStream:
        self._thread.start()
        return SocketStream(self._ours)

    def _serve(self) -> None:
        descriptor = self._theirs.detach()
        stream = RefereeStream(descriptor, descriptor)
        try:
            with contextlib.suppress(EOFError, OSError):
                self._answer(stream)
        finally:
            os.close(descriptor)

    def _answer(self, stream: RefereeStream) -> None:
        # What a sandbox changes of its process.
        state, numbers = random.getstate(), np.random.get_state()
        finders, paths, folder = list(sys.meta_path), list(sys.path), Path.cwd()
        try:
            main.serve(stream, Path(self._spec.folder), self._spec.entry, self._spec.adapter)
        except load_agent.AgentError as error:
            main._complain(stream, error.trouble, str(error), error.lane)
        except main.BadActionError as error:
            main._complain(stream, wire.ErrorReason.PROTOCOL, str(error))
        finally:
            os.chdir(folder)
            sys.meta_path[:], sys.path[:] = finders, paths
            random.setstate(state)
            np.random.set_state(numbers)

    def pin(self, processor: int) -> None:
        """Does nothing."""

    def limit_share(self) -> None:
        """Does nothing."""

    def charge(self, cpu_seconds: float, wall_seconds: float) -> None:
        """Does nothing: nothing here is limited."""

    def usage(self) -> Usage:
        return Usage(cpu_seconds=0.1, peak_memory_bytes=1 << 20)

    def post_mortem(self) -> AgentFault:
        return exit_fault(1)

    def log_tail(self) -> str:
        return ""

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)
        if self._thread.ident is not None:
            self._thread.join(60)

    def close(self) -> None:
        self.end()
        self._ours.close()


def select_thread(*_: object, **__: object) -> SelectedSandbox:
    """In place of `select_sandbox`."""
    return SelectedSandbox(kind=SandboxKind.DOCKER, opener=ThreadSandbox, base=BASE.partition("@")[2], notice=None)
