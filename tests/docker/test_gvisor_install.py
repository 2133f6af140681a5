"""gVisor on an engine of its own: missing, it stops everything with one line; what is installed is the pinned package."""

import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.docker.gvisor_runtime import RUNTIME_ARGUMENTS
from evaluator.host.errors import SandboxError
from evaluator.host.sandboxes.select_sandbox import select_sandbox
from scripts.commands import gvisor
from scripts.console import OUR_FAULT, CommandError
from scripts.runs.install_gvisor import RUNSC_PACKAGES, InstallPaths, RunscPackage, install_gvisor
from scripts.runs.local_evaluator import choose_sandbox
from tests.needs import without_gvisor

pytestmark = pytest.mark.docker
MISSING = "gVisor is missing here: the engine has no runtime runsc"


@dataclass(frozen=True, kw_only=True)
class LocalPackage(RunscPackage):
    """A package whose addresses are files here."""

    places: tuple[Path, ...]

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(place.as_uri() for place in self.places)


@dataclass(frozen=True, kw_only=True)
class OwnEngine:
    """A container engine that only this file uses."""

    room: Path
    process: subprocess.Popen[bytes]

    @property
    def settings(self) -> Path:
        return self.room / "daemon.json"

    def runtimes(self, runtimes: dict[str, object]) -> None:
        """Give the engine these runtimes and nothing else."""
        self.settings.write_text(json.dumps({"debug": False, "runtimes": runtimes}))
        self.process.send_signal(signal.SIGHUP)
        until = time.monotonic() + 60
        while ("runsc" in self.engine().runtimes()) is not bool(runtimes) and time.monotonic() < until:
            time.sleep(0.05)

    def engine(self) -> Engine:
        return Engine()

    def places(self, package: RunscPackage) -> InstallPaths:
        reload = ("kill", "-HUP", str(self.process.pid))
        return InstallPaths(
            program=self.room / "bin/runsc", settings=self.settings, reload=reload, packages={platform.machine(): package}
        )


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnEngine]:
    dockerd, runsc = shutil.which("dockerd"), shutil.which("runsc")
    if dockerd is None or runsc is None or os.geteuid() != 0:
        without_gvisor()
    room = tmp_path_factory.mktemp("engine")
    (room / "daemon.json").write_text("{}")
    folders = ("--data-root", str(room / "data"), "--exec-root", str(room / "exec"), "--pidfile", str(room / "pid"))
    address = f"unix://{room}/docker.sock"
    # In a network of its own, since an engine without a bridge removes the one that it finds: another engine's.
    network = ("--bridge=none", "--iptables=false", "--ip6tables=false")
    command = [
        "unshare",
        "--net",
        dockerd,
        "--config-file",
        str(room / "daemon.json"),
        *folders,
        "--host",
        address,
        *network,
    ]
    with (room / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", address)
        until = time.monotonic() + 60
        while True:
            try:
                Engine().close()
                break
            except EngineError:
                assert time.monotonic() < until, (room / "log").read_text()[-2000:]
                time.sleep(0.1)
        yield OwnEngine(room=room, process=process)
        process.terminate()
        process.wait(60)


@pytest.fixture
def own(started: OwnEngine) -> OwnEngine:
    """The engine without gVisor."""
    started.runtimes({})
    shutil.rmtree(started.room / "bin", ignore_errors=True)
    return started


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A leaderboard that evaluates in gVisor, as the current folder."""
    (tmp_path / "challenge.yml").write_text(
        "title: Test\nseason: one\nrunners: {sandbox: gvisor}\ntasks: [{id: CartPole-v1}]\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> LocalPackage:
    """This machine's runsc as a package like Debian's."""
    room = tmp_path_factory.mktemp("package")
    (room / "tree/usr/bin").mkdir(parents=True)
    (room / "tree/DEBIAN").mkdir()
    shutil.copy(str(shutil.which("runsc")), room / "tree/usr/bin/runsc")
    (room / "tree/DEBIAN/control").write_text(
        "Package: runsc\nVersion: 1\nArchitecture: all\nMaintainer: T <t@t>\nDescription: t\n"
    )
    built = room / "runsc.deb"
    subprocess.run(["dpkg-deb", "--build", "-Znone", str(room / "tree"), str(built)], check=True, capture_output=True)
    digest = hashlib.sha256(built.read_bytes()).hexdigest()
    return LocalPackage(file="runsc.deb", sha256=digest, sha1="0" * 40, places=(built,))


def test_without_gvisor_nothing_is_evaluated_in_anything_else(own: OwnEngine, board: Path) -> None:
    with pytest.raises(SandboxError, match=MISSING):
        select_sandbox("gvisor", "any", lambda line: None)
    with pytest.raises(CommandError, match=MISSING) as stopped:
        choose_sandbox("gvisor")
    with pytest.raises(CommandError, match=MISSING) as checked:
        gvisor.run()

    assert (stopped.value.code, checked.value.code) == (OUR_FAULT, OUR_FAULT)
    assert len(str(stopped.value).splitlines()) == len(str(checked.value).splitlines()) == 1
    assert sorted(path.name for path in board.iterdir()) == ["challenge.yml"]


def test_a_gvisor_that_filters_nothing_counts_as_none(own: OwnEngine, board: Path) -> None:
    own.runtimes({"runsc": {"path": str(shutil.which("runsc")), "runtimeArgs": ["--network=none"]}})

    with pytest.raises(CommandError, match="lacks --oci-seccomp"):
        choose_sandbox("gvisor")
    with pytest.raises(CommandError, match="lacks --oci-seccomp"):
        gvisor.run()


def test_the_pinned_package_is_installed_and_other_settings_stay(own: OwnEngine, package: LocalPackage, board: Path) -> None:
    engine, spoilt = own.engine(), own.room / "spoilt.deb"
    spoilt.write_bytes(package.places[0].read_bytes()[:-1] + b"!")
    nowhere = own.room / "nowhere.deb"

    install_gvisor(own.places(replace(package, places=(nowhere, spoilt, *package.places))), engine.gvisor_fault)

    assert engine.gvisor_fault() is None
    assert gvisor.run() == 0
    settings = json.loads(own.settings.read_text())
    assert settings["debug"] is False
    assert settings["runtimes"]["runsc"] == {"path": str(own.room / "bin/runsc"), "runtimeArgs": list(RUNTIME_ARGUMENTS)}
    assert (own.room / "bin/runsc").read_bytes() == Path(str(shutil.which("runsc"))).read_bytes()


def test_another_package_is_not_unpacked(own: OwnEngine, package: LocalPackage) -> None:
    wrong = replace(package, sha256="0" * 64)

    with pytest.raises(CommandError, match="its SHA-256 is") as refused:
        install_gvisor(own.places(wrong), own.engine().gvisor_fault)

    assert refused.value.code == OUR_FAULT
    assert not (own.room / "bin").exists()
    assert own.engine().gvisor_fault() == MISSING


def test_where_docker_is_wanted_nothing_is_looked_at(board: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = board / "challenge.yml"
    path.write_text(path.read_text().replace("gvisor", "docker"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")

    assert gvisor.run() == 0
    with pytest.raises(CommandError) as asked:
        gvisor.run(always=True)
    assert asked.value.code == OUR_FAULT


def test_every_pin_names_its_version_and_two_addresses() -> None:
    for pinned in RUNSC_PACKAGES.values():
        assert "20240729" in pinned.file
        assert [len(pinned.sha256), len(pinned.sha1)] == [64, 40]
        assert [url.partition("/")[0] for url in pinned.urls] == ["https:", "https:"]
