"""Which sandbox: the one asked for, or the best there is, with one line why."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

from evaluator.host.docker import evaluator_image
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.sandboxes.docker_sandbox import RUNTIMES, DockerConfig, DockerSandbox
from evaluator.host.sandboxes.process_sandbox import ProcessSandbox
from evaluator.host.sandboxes.sandbox import SandboxFactory
from evaluator.model.records.result import SandboxKind


def open_container_sandbox(
    kind: SandboxKind, base: str, tell: Callable[[str], None], over_socket: bool | None
) -> tuple[SandboxFactory, str]:
    """What opens sandboxes of that kind, its image built if need be, and the identity of the base image.

    Raises:
        EngineError: there is no such engine or runtime, or the image cannot be had.
    """
    engine = Engine()
    runtime = RUNTIMES[kind]
    if runtime and runtime not in engine.runtimes():
        raise EngineError(f"the engine has no runtime {runtime}; install gVisor and name it in daemon.json")
    engine.reap()
    walls = DockerConfig(
        engine=engine,
        image=evaluator_image.ensure_evaluator_image(engine, base, tell),
        with_extras=functools.cache(functools.partial(evaluator_image.ensure_with_extras, engine, base, tell)),
        kind=kind,
        over_socket=engine.is_local if over_socket is None else over_socket,
    )
    return functools.partial(DockerSandbox, walls), evaluator_image.base_identity(engine, base)


PROCESS_NOTICE = "The process sandbox limits time and memory but is no security boundary: use it for your own code only."


@dataclass(frozen=True, kw_only=True)
class SelectedSandbox:
    """A sandbox kind, ready to be opened."""

    kind: SandboxKind
    """docker, gvisor or process."""
    opener: SandboxFactory
    """Opens one."""
    base: str
    """Identity of the base image, for the runtime digest; `process` where there is none."""
    notice: str | None
    """What a person should know about the choice."""


def select_sandbox(
    wanted: str, base: str, tell: Callable[[str], None], *, over_socket: bool | None = None
) -> SelectedSandbox:
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


def _process(notice: str) -> SelectedSandbox:
    return SelectedSandbox(kind=SandboxKind.PROCESS, opener=ProcessSandbox, base="process", notice=notice)


def _container(kind: SandboxKind, base: str, tell: Callable[[str], None], over_socket: bool | None) -> SelectedSandbox:
    # Docker's client is imported only where it is asked: the process sandbox starts without it.

    opener, identity = open_container_sandbox(kind, base, tell, over_socket)
    return SelectedSandbox(kind=kind, opener=opener, base=identity, notice=None)
