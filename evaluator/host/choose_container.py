"""The sandboxes that a container engine gives."""

import functools
from collections.abc import Callable

from evaluator.host import image
from evaluator.host.answers import EngineError
from evaluator.host.container import Engine
from evaluator.host.jail import RUNTIMES, Jail, Walls
from evaluator.host.sandbox import Opener
from evaluator.model.records.result import SandboxKind


def open_container(
    kind: SandboxKind, base: str, tell: Callable[[str], None], over_socket: bool | None
) -> tuple[Opener, str]:
    """What opens sandboxes of that kind, its image built if need be, and the identity of the base image.

    Raises:
        EngineError: there is no such engine or runtime, or the image cannot be had.
    """
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
    return functools.partial(Jail, walls), image.base_identity(engine, base)
