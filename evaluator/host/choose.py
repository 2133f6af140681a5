"""Which sandbox: the one asked for, or the best there is, with one line why."""

from collections.abc import Callable
from dataclasses import dataclass

from evaluator.host.answers import EngineError
from evaluator.host.process import ProcessSandbox
from evaluator.host.sandbox import Opener
from evaluator.model.records.result import SandboxKind

PROCESS_NOTICE = "The process sandbox limits time and memory but is no security boundary: use it for your own code only."


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A sandbox kind, ready to be opened."""

    kind: SandboxKind
    """docker, gvisor or process."""
    opener: Opener
    """Opens one."""
    base: str
    """Identity of the base image, for the runtime digest; `process` where there is none."""
    notice: str | None
    """What a person should know about the choice."""


def choose(wanted: str, base: str, tell: Callable[[str], None], *, over_socket: bool | None = None) -> Chosen:
    """Open the way to a sandbox. `wanted`: auto, docker, gvisor or process.

    Raises:
        EngineError: what was asked for is not to be had; `auto` falls back instead.
    """
    if wanted == "process":
        return _process(PROCESS_NOTICE)
    try:
        return _container(SandboxKind.DOCKER if wanted == "auto" else SandboxKind(wanted), base, tell, over_socket)
    except EngineError as error:
        if wanted != "auto":
            raise
        return _process(f"{error}. {PROCESS_NOTICE}")


def _process(notice: str) -> Chosen:
    return Chosen(kind=SandboxKind.PROCESS, opener=ProcessSandbox, base="process", notice=notice)


def _container(kind: SandboxKind, base: str, tell: Callable[[str], None], over_socket: bool | None) -> Chosen:
    # Docker's client is imported only where it is asked: the process sandbox starts without it.
    from evaluator.host.choose_container import open_container

    opener, identity = open_container(kind, base, tell, over_socket)
    return Chosen(kind=kind, opener=opener, base=identity, notice=None)
