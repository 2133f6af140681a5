"""How `make` installs: by uv where there is one, by pip where there is none or where it fails, never without hashes."""

import os
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.workflows.files import ROOT

LINE = "install --quiet"
# A Python that makes environments with a copy of itself, installs nothing, and writes down what it was asked.
PYTHON = """\
#!/bin/sh
echo "python $*" >> "{log}"
case "$*" in
  -c*) exit 0 ;;
  "-m venv"*) for last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python" ;;
  *"--target build/uv"*) [ -e "{log}.no-uv" ] && exit 1; mkdir -p build/uv/bin; cp "{log}.uv" build/uv/bin/uv ;;
esac
"""
UV = """\
#!/bin/sh
echo "uv $*" >> "{log}"
[ "$1" = --version ] || [ ! -e "{log}.uv-fails" ]
"""


class Place:
    """A checkout with stand-ins for Python and uv."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.log = place / "log"
        shutil.copy(ROOT / "Makefile", place)
        shutil.copytree(ROOT / "requirements", place / "requirements")
        shutil.copy(ROOT / "pyproject.toml", place)
        self.script("log.uv", UV)
        self.python = self.script("python3", PYTHON)

    def script(self, name: str, text: str) -> Path:
        """An executable file."""
        path = self.place / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.format(log=self.log))
        path.chmod(0o755)
        return path

    def make(self, target: str = "runtime", **environment: str) -> list[str]:
        """What was asked of Python and uv to install."""
        path = f"{self.place}/path:/usr/bin:/bin"
        subprocess.run(
            ["make", "--silent", target, f"PYTHON={self.python}"], cwd=self.place, check=True, capture_output=True,
            env={"PATH": path, "HOME": str(self.place), **environment},
        )  # fmt: skip
        return [line for line in self.log.read_text().splitlines() if LINE in line]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    assert shutil.which("uv", path="/usr/bin:/bin") is None
    return Place(tmp_path)


def test_a_person_without_uv_installs_with_pip_alone(place: Place) -> None:
    asked = place.make()

    assert [line.split()[:3] for line in asked] == [["python", "-m", "pip"]] * 2
    assert "--require-hashes -r requirements/runtime.txt" in asked[0]
    assert asked[1].endswith("--no-build-isolation --no-deps --editable .")
    assert "--without-pip" not in place.log.read_text()


def test_on_githubs_machines_uv_comes_with_its_hashes_and_installs(place: Place) -> None:
    first, *asked = place.make(GITHUB_ACTIONS="true")

    assert first.startswith("python -m pip install")
    assert "--require-hashes -r requirements/uv.txt" in first
    assert [line.split()[:3] for line in asked] == [["uv", "pip", "install"]] * 2
    assert "--require-hashes -r requirements/runtime.txt" in asked[0]


def test_a_persons_own_uv_is_taken(place: Place) -> None:
    place.script("path/uv", UV)

    assert [line.split()[0] for line in place.make()] == ["uv", "uv"]


@pytest.mark.parametrize("fault", ["log.no-uv", "log.uv-fails"])
def test_where_uv_is_not_had_or_fails_pip_does_the_same_with_the_same_hashes(place: Place, fault: str) -> None:
    (place.place / fault).touch()
    asked = [line for line in place.make(GITHUB_ACTIONS="true") if line.startswith("python")][1:]

    assert [line.split()[:4] for line in asked] == [["python", "-m", "pip", "install"]] * 2
    assert "--require-hashes -r requirements/runtime.txt" in asked[0]
    assert (place.place / ".venv" / "runtime.done").exists()


def test_nothing_is_installed_without_hashes_but_this_checkout() -> None:
    makefile = (ROOT / "Makefile").read_text()
    asked = re.findall(r"\$\(call INSTALL,(.*?)\)|-m pip install(.*)", makefile)
    given = ["".join(one) for one in asked]

    assert len(given) >= 6
    assert [one for one in given if "--require-hashes" not in one] == [
        " --quiet --disable-pip-version-check $(1); \\", "--no-build-isolation --no-deps --editable .",
    ]  # fmt: skip


@pytest.mark.parametrize("lock", ["runtime", "dev"])
def test_a_lock_pins_each_package_with_the_extras_that_another_requires(lock: str) -> None:
    """Without them, the pip of Python 3.11 takes the newest version of the package, which has no hash in the lock."""
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    pinned = {
        canonicalize_name(match[1]): set((match[2] or "").split(","))
        for match in re.finditer(r"^([\w.-]+)(?:\[(.*)\])?==", text, re.MULTILINE)
    }
    needed: dict[str, set[str]] = {}
    for name in pinned:
        try:
            requires = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another operating system or Python
        for requirement in map(Requirement, requires):
            marker = requirement.marker
            if requirement.extras and (marker is None or any(marker.evaluate({"extra": extra}) for extra in pinned[name])):
                needed.setdefault(canonicalize_name(requirement.name), set()).update(requirement.extras)

    assert "crypto" in needed["pyjwt"]
    assert {name: extras for name, extras in needed.items() if not extras <= pinned[canonicalize_name(name)]} == {}


def test_uv_itself_is_pinned_with_hashes_in_a_lock_of_its_own() -> None:
    lock = (ROOT / "requirements" / "uv.txt").read_text()

    assert (ROOT / "requirements" / "uv.in").read_text().splitlines()[-1] == re.findall(r"^uv==\S+", lock, re.MULTILINE)[0]
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", lock)) >= 10
    assert os.linesep.join(re.findall(r"^[a-z0-9-]+==", lock, re.MULTILINE)) == "uv=="
