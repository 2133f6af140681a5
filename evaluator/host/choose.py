"""Which sandbox: the one asked for, or the best there is, with one line why."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

from evaluator.host import image
from evaluator.host.container import Engine, EngineError
from evaluator.host.jail import RUNTIMES, Jail, Walls
from evaluator.host.process import ProcessSandbox
from evaluator.host.sandbox import Opener
from evaluator.model.result import SandboxKind

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
    engine = Engine()
    runtime = RUNTIMES[kind]
    if runtime and runtime not in engine.runtimes():
        raise EngineError(f"the engine has no runtime {runtime}; install gVisor and name it in daemon.json")
    engine.reap()
    walls = Walls(
        engine=engine,
        image=image.ensure(engine, base, tell),
        with_extras=functools.cache(functools.partial(image.ensure_with, engine, base, tell)),
        kind=kind,
        over_socket=engine.is_local if over_socket is None else over_socket,
    )
    opener = functools.partial(Jail, walls)
    return Chosen(kind=kind, opener=opener, base=image.base_identity(engine, base), notice=None)
