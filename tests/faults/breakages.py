"""What is broken around a run, and mended before the plain run that follows; what is done while it stands still."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from tests.faults.own_engine import OwnEngine
from tests.faults.runs import Place

Mend = Callable[[], None]
Breakage = Callable[[Place], AbstractContextManager[Mend]]


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Mend]:
    """A file system that is full; mended it has room, and all that is on it."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], check=True)
    ballast = folder / ".ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass

    def mend() -> None:
        ballast.unlink()
        subprocess.run(["mount", "-o", "remount,size=256m", str(folder)], check=True)

    try:
        yield mend
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def full_results(place: Place) -> Iterator[Mend]:
    """No room for a record."""
    with small_disk(place.board / "results", "4k") as mend:
        yield mend


@contextmanager
def full_temporary(place: Place) -> Iterator[Mend]:
    """No room for what a run needs meanwhile."""
    with small_disk(place.root / "tmp", "8k") as mend:
        yield mend


@contextmanager
def full_build(place: Place) -> Iterator[Mend]:
    """No room for a site."""
    with small_disk(place.board / "build", "64k") as mend:
        yield mend


@contextmanager
def refusing_hook(place: Place, name: str) -> Iterator[Mend]:
    """The other side of a push dies."""
    hook = place.root / "origin.git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ncat >/dev/null\nkill -9 $PPID\nexit 1\n")
    hook.chmod(0o755)
    yield hook.unlink


@contextmanager
def cut_before(place: Place) -> Iterator[Mend]:
    """The connection is lost when all was sent and nothing was taken."""
    with refusing_hook(place, "pre-receive") as mend:
        yield mend


@contextmanager
def cut_after(place: Place) -> Iterator[Mend]:
    """The connection is lost when all was taken and nothing was answered."""
    with refusing_hook(place, "post-receive") as mend:
        yield mend


def truncated(pattern: str) -> Breakage:
    """Files that lose their second half after the run, as by a disk that lied."""

    @contextmanager
    def breakage(place: Place) -> Iterator[Mend]:
        def truncate() -> None:
            files = sorted(path for path in place.root.glob(pattern) if path.is_file())
            assert files, pattern
            for path in files:
                content = path.read_bytes()
                path.write_bytes(content[: len(content) // 2])

        yield truncate

    return breakage


@contextmanager
def beside_another(place: Place) -> Iterator[Mend]:
    """The same command runs a second time on the same board."""
    other = place.start(place.words)

    def wait() -> None:
        output, _ = other.communicate(timeout=300)
        assert other.returncode == 0, output

    try:
        yield wait
    finally:
        other.kill()
        other.communicate()


@contextmanager
def locked_index(place: Place) -> Iterator[Mend]:
    """A lock that a git of somebody else left in the clone."""
    locks = [place.board / ".git" / name for name in ("index.lock", "shallow.lock", "packed-refs.lock")]
    for lock in locks:
        lock.touch()
    yield lambda: [lock.unlink() for lock in locks] and None


BREAKAGES: dict[str, Breakage] = {
    "": lambda place: nullcontext(lambda: None),
    "no room for records": full_results,
    "no room for temporary files": full_temporary,
    "no room for the site": full_build,
    "the push is cut before it is taken": cut_before,
    "the push is cut after it was taken": cut_after,
    "another run beside it": beside_another,
    "a lock that somebody left": locked_index,
    "truncated results": truncated("board/results/**/*.json"),
    "truncated traces": truncated("board/traces/**/*.json"),
    "truncated notes of what was replayed": truncated("board/build/verified.txt"),
    "truncated pictures": truncated("board/build/episodes/*"),
    "a truncated shard": truncated("shards/shard-0/results/*/*/*/*.json"),
}


def kill_engine(process: subprocess.Popen[str], engine: OwnEngine | None) -> None:
    """SIGKILL, and the start that follows."""
    assert engine is not None
    engine.kill()
    engine.start()


def restart_engine(process: subprocess.Popen[str], engine: OwnEngine | None) -> None:
    """As an upgrade of the engine does it."""
    assert engine is not None
    engine.stop()
    engine.start()


def kill_session(process: subprocess.Popen[str], engine: OwnEngine | None) -> None:
    """The evaluator with all that it started in its session."""
    os.killpg(process.pid, signal.SIGKILL)


OUTSIDE: dict[str, Callable[[subprocess.Popen[str], OwnEngine | None], None]] = {
    "the engine is killed": kill_engine,
    "the engine is restarted": restart_engine,
    "the runner dies": kill_session,
}
