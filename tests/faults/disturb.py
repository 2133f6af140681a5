"""Disturbs a run at a point, runs it again as a person would, and compares what there is with an undisturbed run."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from evaluator.host.docker.engine import OWNER_LABEL, Engine
from evaluator.host.process_owner import _tag, start_time, this_process
from tests.faults.breakages import BREAKAGES, OUTSIDE
from tests.faults.own_engine import OwnEngine, at_engine, own_engine
from tests.faults.points import FaultPoint
from tests.faults.runs import Place, Run, Snapshot, runs

PATIENCE = 300.0
CONTROL_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, kw_only=True)
class Disturbed:
    """What was there after a disturbed run and after the plain run that followed."""

    code: int
    """How the disturbed run ended."""
    output: str
    again: int
    """How the plain run ended."""
    said: str
    records: Snapshot
    expected: Snapshot
    left: list[str]
    """What is left of both, in words."""


@contextmanager
def placed(run: Run, root: Path) -> Iterator[Place]:
    """A prepared place."""
    root.mkdir(parents=True)
    place = Place(root)
    try:
        run.prepare(place)
        place.words = run.words()
        yield place
    finally:
        for stop in place.stops:
            stop()


def undisturbed(name: str, root: Path) -> Snapshot:
    """The records of the run without a fault, made once."""
    if name not in _UNDISTURBED:
        run = runs()[name]
        with placed(run, root / f"undisturbed-{name}") as place, engine_of(place, "", run):
            code, output = ended(place.start(place.words))
            assert code == 0, output
            _UNDISTURBED[name] = run.snapshot(place)
    return _UNDISTURBED[name]


_UNDISTURBED: dict[str, Snapshot] = {}


@contextmanager
def engine_of(place: Place, outside: str, run: Run) -> Iterator[OwnEngine | None]:
    """An engine of the place's own, where it is to be broken or has to be bare."""
    if "engine" not in outside and not run.own_engine:
        yield None
        return
    with own_engine(with_evaluator=not run.own_engine) as engine:
        place.variables["DOCKER_HOST"] = engine.address
        yield engine


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code and what it printed."""
    output, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, output


def disturb(point: FaultPoint, root: Path, session: Path) -> Disturbed:
    """Disturb the point's run, and run the same command again."""
    run = runs()[point.run]
    expected = undisturbed(point.run, session)
    with ExitStack() as stack:
        place = stack.enter_context(placed(run, root))
        engine = stack.enter_context(engine_of(place, point.outside, run))
        mend = stack.enter_context(BREAKAGES[point.breakage](place))
        process = place.start(place.words, **_fault(point, root))
        stack.callback(end, process)
        tags = {_tag_of(process.pid)}
        if point.outside:
            _wait_for(root / "reached", process)
            OUTSIDE[point.outside](process, engine)
            (root / "go").touch()
        code, output = ended(process)
        assert not point.at or (root / "reached").exists(), f"the run never came to this point: {output}"
        mend()
        process = place.start(place.words)
        stack.callback(end, process)
        tags.add(_tag_of(process.pid))
        again, said = ended(process)
        left = list(leftovers(place, tags, needs_engine=run.needs_engine))
        if engine is not None:
            left += [f"of the engine: {line}" for line in engine.below()]
        return Disturbed(
            code=code, output=output, again=again, said=said, records=run.snapshot(place), expected=expected, left=left
        )


def end(process: subprocess.Popen[str]) -> None:
    """End it with its session, where a test failed before it did."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _fault(point: FaultPoint, root: Path) -> dict[str, str]:
    """The variable that the hook reads."""
    if not point.at:
        return {}
    act = "wait" if point.outside else point.act
    fault = {"place": point.at, "when": point.when, "call": point.call, "act": act, "room": str(root)}
    return {"PULLRANK_FAULT": json.dumps(fault)}


def _wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE
    while not path.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    assert path.exists(), process.communicate()[0]


def _tag_of(pid: int) -> str:
    """The process in names of scratch folders and control groups."""
    owner = this_process()
    return _tag(type(owner)(pid=pid, start=start_time(pid), boot=owner.boot, namespace=owner.namespace))


def leftovers(place: Place, tags: set[str], *, needs_engine: bool) -> Iterator[str]:
    """A line for everything that runs should have taken away."""
    until = time.monotonic() + 20
    while (processes := list(running(place))) and time.monotonic() < until:
        time.sleep(0.1)  # such as a git that has lost its parent and is about to end
    yield from processes
    yield from (f"temporary: {path.name}" for path in sorted((place.root / "tmp").iterdir()))
    for pattern in ("pullrank-*", "*/pullrank-*"):
        groups = (path for path in CONTROL_GROUPS.glob(pattern) if any(tag in path.name for tag in tags))
        yield from (f"control group: {path}" for path in groups)
    for path in sorted(place.root.rglob("*")):
        if path.name.endswith(".lock") or path.name.startswith(".writing-") or path.is_socket():
            yield f"file: {path.relative_to(place.root)}"
    if needs_engine:
        with at_engine(place.variables["DOCKER_HOST"]) if "DOCKER_HOST" in place.variables else nullcontext():
            yield from containers(str(place.root))


def running(place: Place) -> Iterator[str]:
    """Processes of the place: they inherit a variable that names it, or their folder is in it."""
    mark = f"PULLRANK_FAULT_ROOM={place.root}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = mark in (path / "environ").read_bytes().split(b"\0")
            is_ours |= (path / "cwd").readlink().is_relative_to(place.root)
            words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if is_ours and words:
            yield f"process: {words}"


def containers(root: str) -> Iterator[str]:
    """Containers that mount something of the place."""
    engine = Engine()
    try:
        for container in engine._api.containers(all=True, filters={"label": OWNER_LABEL}):
            if any(str(mount.get("Source", "")).startswith(root) for mount in container["Mounts"]):
                yield f"container: {container['Id']} ({container['State']})"
    finally:
        engine.close()
