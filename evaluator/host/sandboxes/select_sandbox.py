"""Selection of a sandbox: the one asked for, or the best that this machine has."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evaluator.host.docker.engine_errors import OR_PROCESS
from evaluator.host.errors import SandboxError
from evaluator.host.machine import gpu_models, graphics_cards
from evaluator.host.process_owner import remove_abandoned_once
from evaluator.host.sandboxes.process_sandbox import ProcessSandbox, extras_fault, reap_processes
from evaluator.host.sandboxes.sandbox import SandboxFactory
from evaluator.model.records.stored_record import Devices, SandboxKind

if TYPE_CHECKING:
    from evaluator.host.docker.engine import Engine

PROCESS_NOTICE = "The process sandbox limits time and memory but is no security boundary: use it for your own code only."
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class SelectedSandbox:
    """A sandbox kind, ready to be opened."""

    kind: SandboxKind
    opener: SandboxFactory
    base: str
    """Identity of the base image, for the runtime digest; `process` where there is none."""
    notice: str | None
    """What the user should know about the choice."""
    is_fallback: bool = False
    """Whether it is no security boundary, and nobody asked for it by name."""
    gpus: Devices | None = None
    """The graphics cards that agents are handed, if some are wanted."""
    gpus_fault: str | None = None
    """Why they are handed none, in one line."""
    prepare: Callable[[tuple[str, ...]], str | None] = lambda extras: None
    """Builds what agents with these extras need, before several of them start at once; returns why it cannot."""
    warm: Callable[[tuple[str, ...]], None] = lambda extras: None
    """Reads all files of what agents with these extras run in: which are in memory would else tell what an agent read.

    Raises:
        SandboxError: they cannot be read.
    """


def select_sandbox(choice: str, base: str, tell: Say, *, over_socket: bool | None = None, gpus: int = 0) -> SelectedSandbox:
    """Prepare a sandbox.

    Args:
        choice: the name of a kind, or `auto` for docker, and the process sandbox where there is no engine.
        base: the base image's reference.
        tell: gets a line about what takes long.
        over_socket: whether a container is reached over a mounted Unix socket; None where the engine decides.
        gpus: how many graphics cards each agent is to be handed; where it cannot be, `gpus_fault` says why.

    Raises:
        SandboxError: the sandbox asked for is not available; `auto` falls back instead.
    """
    reap_processes()
    try:
        kind = SandboxKind.DOCKER if choice == "auto" else SandboxKind(choice)
        match kind:
            case SandboxKind.PROCESS:
                return process_sandbox(gpus=gpus)
            case SandboxKind.DOCKER | SandboxKind.GVISOR:
                return _container_sandbox(kind, base, tell, over_socket, gpus)
    except SandboxError as error:
        if choice != "auto":
            raise
        reason = str(error).removesuffix(OR_PROCESS)
        return replace(process_sandbox(f"{reason}. {PROCESS_NOTICE}", gpus), is_fallback=True)


def _handed_gpus(engine: "Engine", image: str, kind: SandboxKind, gpus: int) -> dict[str, Any]:
    from evaluator.host.sandboxes.docker_sandbox import RUNTIMES

    if not gpus:
        return {}
    cards = graphics_cards()
    fault = engine.gpus_fault(image, gpus, RUNTIMES[kind])
    if fault is None and len(cards) < gpus:
        fault = f"nvidia-smi shows {len(cards)} here"
    if fault:
        return {"gpus": Devices(wanted=gpus), "gpus_fault": fault}
    # The engine hands out the first ones.
    return {"gpus": Devices(wanted=gpus, cards=gpu_models(cards)[:gpus])}


def _container_sandbox(kind: SandboxKind, base: str, tell: Say, over_socket: bool | None, gpus: int) -> SelectedSandbox:
    # Docker's client is imported only where it is used: the process sandbox starts without it.
    from evaluator.host.docker import evaluator_image
    from evaluator.host.docker.engine import Engine
    from evaluator.host.sandboxes.docker_sandbox import DockerConfig, DockerSandbox

    engine = Engine()
    fault = engine.gvisor_fault() if kind is SandboxKind.GVISOR else None
    if fault:
        raise SandboxError(f"{fault}; 'pullrank gvisor --install' installs it, and nothing is evaluated without it")
    engine.remove_orphans()
    remove_abandoned_once()
    config = DockerConfig(
        engine=engine,
        image=evaluator_image.ensure_evaluator_image(engine, base, tell),
        with_extras=functools.cache(functools.partial(evaluator_image.ensure_evaluator_image, engine, base, tell)),
        kind=kind,
        over_socket=engine.is_local if over_socket is None else over_socket,
    )

    def prepare(extras: tuple[str, ...]) -> str | None:
        try:
            config.image_of(extras)
        except SandboxError as error:
            return str(error)
        return None

    def warm(extras: tuple[str, ...]) -> None:
        engine.read_whole(config.image_of(extras))

    return SelectedSandbox(
        kind=kind, opener=functools.partial(DockerSandbox, config), base=evaluator_image.base_identity(engine, base),
        notice=None, prepare=prepare, warm=warm, **_handed_gpus(engine, config.image, kind, gpus),
    )  # fmt: skip


def process_sandbox(notice: str = PROCESS_NOTICE, gpus: int = 0) -> SelectedSandbox:
    """The process sandbox, which needs nothing."""
    remove_abandoned_once()
    return SelectedSandbox(
        kind=SandboxKind.PROCESS, opener=ProcessSandbox, base="process", notice=notice, prepare=extras_fault,
        gpus=Devices(wanted=gpus) if gpus else None, gpus_fault="the process sandbox hands out none" if gpus else None,
    )  # fmt: skip
