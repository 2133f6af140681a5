"""A container engine of the tests' own, which they may kill: its own data, socket and pid file."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.docker.evaluator_image import base_identity, image_tag
from tests.hostile.arena import base

START_SECONDS = 120
# An engine without a bridge would remove docker0, which is another engine's.
BRIDGE, BRIDGE_ADDRESS = "faults0", "198.18.77.1/24"


class OwnEngine:
    """A dockerd."""

    def __init__(self, room: Path) -> None:
        self._room = room
        self.address = f"unix://{room}/sock"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        room = self._room
        # Those of one that was killed: where nobody waits for orphans, its containerd seems to live.
        for name in ("pid", "exec/containerd/containerd.pid"):
            (room / name).unlink(missing_ok=True)
        command = [
            "dockerd", "--data-root", f"{room}/data", "--exec-root", f"{room}/exec", "--pidfile", f"{room}/pid",
            "--host", self.address, "--bridge", BRIDGE, "--iptables=false", "--cgroup-parent", f"/{room.name}",
            "--config-file", f"{room}/daemon.json",
        ]  # fmt: skip
        (room / "daemon.json").write_text("{}")
        _make_bridge()
        with (room / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            if time.monotonic() > until or self.process.poll() is not None:
                raise AssertionError((room / "log").read_text()[-2000:])
            time.sleep(0.1)

    def _answers(self) -> bool:
        with at_engine(self.address):
            try:
                Engine(timeout=5).close()
            except EngineError:
                return False
        return True

    def kill(self) -> None:
        """As the kernel does it for lack of memory."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """As a machine's service manager does it."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(START_SECONDS)

    def processes(self) -> dict[int, str]:
        """Command lines of everything that runs for it, by process."""
        mark = str(self._room).encode()
        lines = {}
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if mark in (words := path.read_bytes()):
                    lines[int(path.parent.name)] = words.replace(b"\0", b" ").decode("utf-8", "replace")
        return lines

    def below(self) -> list[str]:
        """Command lines of what runs besides the engine itself and its containerd."""
        return [line for line in self.processes().values() if not line.startswith(("dockerd ", "containerd "))]


@contextlib.contextmanager
def at_engine(address: str) -> Iterator[None]:
    """Within the block this process's clients go to that engine."""
    before = os.environ.get("DOCKER_HOST")
    os.environ["DOCKER_HOST"] = address
    try:
        yield
    finally:
        if before is None:
            del os.environ["DOCKER_HOST"]
        else:
            os.environ["DOCKER_HOST"] = before


@contextlib.contextmanager
def own_engine(*, with_evaluator: bool = True) -> Iterator[OwnEngine]:
    """An engine with the base image, and with the evaluator image unless that is to be built."""
    room = Path(tempfile.mkdtemp(prefix="fault-engine-"))
    engine = OwnEngine(room)
    try:
        engine.start()
        usual = Engine()
        names = [base(), *([image_tag(base_identity(usual, base()))] if with_evaluator else [])]
        usual.close()
        saved = subprocess.Popen(["docker", "save", *names], stdout=subprocess.PIPE)
        loaded = ["docker", "--host", engine.address, "load", "--quiet"]
        subprocess.run(loaded, stdin=saved.stdout, check=True, stdout=subprocess.DEVNULL)
        assert saved.wait() == 0
        yield engine
    finally:
        if engine.process is not None and engine.process.poll() is None:
            engine.stop()
        for pid in engine.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(["ip", "link", "delete", BRIDGE], check=False, capture_output=True)
        _unmount(room)
        shutil.rmtree(room, ignore_errors=True)
        for group in [*Path("/sys/fs/cgroup").glob(f"*/{room.name}"), Path("/sys/fs/cgroup", room.name)]:
            with contextlib.suppress(OSError):
                group.rmdir()


def _make_bridge() -> None:
    if Path("/sys/class/net", BRIDGE).exists():
        return
    for words in (("link", "add", BRIDGE, "type", "bridge"), ("addr", "add", BRIDGE_ADDRESS, "dev", BRIDGE)):
        subprocess.run(["ip", *words], check=True)


def _unmount(room: Path) -> None:
    """What an engine that was killed left mounted."""
    places = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for place in sorted((place for place in places if place.startswith(str(room))), reverse=True):
        subprocess.run(["umount", "--lazy", place], check=False)
