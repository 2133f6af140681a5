"""The command without its start answers for a checkout only where that checkout's code is this one's."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked_command import CODE, ROOT, forked_pullrank

pytestmark = pytest.mark.slow


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in CODE:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pullrank").write_text(forked_pullrank(tmp_path))
    (tmp_path / "pullrank").chmod(0o755)
    return tmp_path


def call(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([checkout / "pullrank", *words], cwd=checkout, capture_output=True, text=True, check=False)


def test_it_says_and_exits_as_the_command_does(checkout: Path) -> None:
    done = call(checkout, "rank")
    started = subprocess.run(
        [sys.executable, "-m", "scripts.cli", "rank"], cwd=checkout, capture_output=True, text=True, check=False
    )
    assert done.returncode == started.returncode != 0
    assert (done.stdout, done.stderr) == (started.stdout, started.stderr)
    assert "challenge.yml" in done.stderr
    assert call(checkout, "--version").returncode == 0


@pytest.mark.parametrize("file", ["scripts/cli.py", "leaderboard/new.py", "evaluator/requirements.txt"])
def test_other_code_is_run_itself(checkout: Path, file: str) -> None:
    with (checkout / file).open("a") as source:
        source.write("# changed\n")
    cli = checkout / "scripts" / "cli.py"
    cli.write_text(cli.read_text().replace("def main() -> NoReturn:\n", "def main() -> NoReturn:\n    print('mine')\n", 1))
    assert call(checkout, "--version").stdout.startswith("mine\n")
