"""Installs gVisor's runsc for this machine's container engine: the pinned package, checked before anything is unpacked."""

import hashlib
import os
import platform
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.host.docker.gvisor_runtime import with_runtime
from scripts.console import OUR_FAULT, CommandError

FETCH_SECONDS = 60
RELOAD_SECONDS = 30
MAX_PACKAGE_BYTES = 64 << 20
# gVisor's release of 29 July 2024 as Debian 12 builds it, one static binary: the newest that the attacks of our tests were
# played in. Its platform systrap needs nothing of the machine.
RUNSC_VERSION = "0.0~20240729.0-4~bpo12+2"


@dataclass(frozen=True, kw_only=True)
class RunscPackage:
    """Debian's package of runsc for one architecture, pinned by its bytes."""

    file: str
    sha256: str
    sha1: str
    """Its name in Debian's archive of all packages that ever were."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Where it can be had: Debian's mirrors while it is the newest there, its archive after that."""
        return (
            f"https://deb.debian.org/debian/pool/main/g/golang-gvisor-gvisor/{self.file}",
            f"https://snapshot.debian.org/file/{self.sha1}",
        )


RUNSC_PACKAGES: Mapping[str, RunscPackage] = {
    "x86_64": RunscPackage(
        file=f"runsc_{RUNSC_VERSION}_amd64.deb",
        sha256="afdde883e3876ea807e19c708d4432674a20cb10186a7a5b554d62f38ea8de46",
        sha1="22dfdfc034fafe96521c363749972cb50e66038d",
    ),
    "aarch64": RunscPackage(
        file=f"runsc_{RUNSC_VERSION}_arm64.deb",
        sha256="b984477f968f9dfe15564d19f6654863327e01244935526d8eecd1741a0bd49d",
        sha1="c2eeb6d0ec72f57ddfeb28eff2a8d31453b0973b",
    ),
}


@dataclass(frozen=True, kw_only=True)
class InstallPaths:
    """Where runsc and the engine's settings lie, and how the engine is told to read them again."""

    program: Path = Path("/usr/local/bin/runsc")
    settings: Path = Path("/etc/docker/daemon.json")
    reload: Sequence[str] = ("systemctl", "reload", "docker")
    packages: Mapping[str, RunscPackage] = field(default_factory=lambda: RUNSC_PACKAGES)


def install_gvisor(places: InstallPaths, fault: Callable[[], str | None]) -> None:
    """Install runsc and name it in the engine's settings.

    `fault`: says what is wrong with the engine's gVisor now.

    Raises:
        CommandError: it cannot be had, is not the pinned one, or the engine does not take it.
    """
    package = places.packages.get(platform.machine())
    if package is None:
        raise CommandError(
            OUR_FAULT, f"there is no pinned runsc for {platform.machine()}; use machines of x86_64 or aarch64"
        )
    with tempfile.TemporaryDirectory(prefix="pullrank-gvisor-") as temporary:
        room = Path(temporary)
        archive = room / package.file
        archive.write_bytes(fetch_package(package))
        _run("unpack runsc", "dpkg-deb", "--extract", str(archive), str(room / "unpacked"))
        settings = room / "daemon.json"
        try:
            before = places.settings.read_text(encoding="utf-8") if places.settings.exists() else ""
            settings.write_text(with_runtime(before, str(places.program)), encoding="utf-8")
        except (OSError, ValueError, TypeError) as error:
            raise CommandError(OUR_FAULT, f"{places.settings} cannot be read ({error}); correct it") from error
        _as_root("install runsc", "install", "-D", "-m", "755", str(room / "unpacked/usr/bin/runsc"), str(places.program))
        _as_root("write the engine's settings", "install", "-D", "-m", "644", str(settings), str(places.settings))
    _as_root("make the engine read its settings", *places.reload)
    until = time.monotonic() + RELOAD_SECONDS
    while (remaining := fault()) and time.monotonic() < until:
        time.sleep(0.2)
    if remaining:
        raise CommandError(OUR_FAULT, f"runsc was installed, and still {remaining}; restart the container engine")


def fetch_package(package: RunscPackage) -> bytes:
    """The package's bytes, from the first address that has them.

    Raises:
        CommandError: no address does; the message says what each answered.
    """
    answers = []
    for url in package.urls:
        try:
            with urllib.request.urlopen(url, timeout=FETCH_SECONDS) as response:
                content = response.read(MAX_PACKAGE_BYTES + 1)
        except (OSError, urllib.error.URLError) as error:
            answers.append(f"{url}: {' '.join(str(error).split())[:120]}")
            continue
        digest = hashlib.sha256(content).hexdigest()
        if digest == package.sha256:
            return bytes(content)
        answers.append(f"{url}: its SHA-256 is {digest}, not {package.sha256}")
    raise CommandError(OUR_FAULT, f"{package.file} cannot be had; {'; '.join(answers)}")


def _as_root(doing: str, *command: str) -> None:
    _run(doing, *(() if os.geteuid() == 0 else ("sudo", "--non-interactive")), *command)


def _run(doing: str, *command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(OUR_FAULT, f"could not {doing}: {error}") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise CommandError(OUR_FAULT, f"could not {doing}: {last[:200]}")
