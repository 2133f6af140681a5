"""What an agent's folder holds changes nothing of what the board's own checks do: a queue waits for them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path("submissions", "mallory", "a")
CHECKS = {
    "ruff": ("ruff", "check", "."),
    "format": ("ruff", "format", "--check", "."),
    "spelling": ("codespell",),
    "types": ("mypy",),
}
# Tools take these from the folder of the file that they look at.
SETTINGS = {
    "ruff.toml": 'required-version = "==0.0.1"\n',
    "pyproject.toml": "[tool.ruff\n",
    "setup.cfg": "[codespell\n",
    "mypy.ini": "[mypy\n",
    "agent.py": "import os\nx=1\nclass Agent:\n  def act(self,o): return 0  # a \x74eh\n",
    "broken.py": "this is (no python\n",
}


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """The settings of the board's tools, and one agent."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in ("evaluator", "leaderboard", "scripts"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text('"""A package."""\n')
    (tmp_path / "pullrank.py").write_text('"""A module."""\n')
    (tmp_path / FOLDER).mkdir(parents=True)
    return tmp_path


@pytest.mark.attack(
    "settings_for_the_boards_tools", family="supply", outcome="not read",
    tries="Brings settings of linters and source that breaks their rules, so that the checks of everybody's changes fail.",
)  # fmt: skip
@pytest.mark.parametrize("check", CHECKS)
def test_an_agents_folder_fails_none_of_the_boards_checks(board: Path, check: str) -> None:
    for name, text in SETTINGS.items():
        (board / FOLDER / name).write_text(text)
    tool, *arguments = CHECKS[check]

    done = subprocess.run(
        [Path(sys.executable).with_name(tool), *arguments], cwd=board, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_boards_own_files_are_checked(board: Path) -> None:
    (board / "scripts" / "wrong.py").write_text("import os\nx=1  # a \x74eh\n")

    for check in ("ruff", "format", "spelling"):
        tool, *arguments = CHECKS[check]
        done = subprocess.run(
            [Path(sys.executable).with_name(tool), *arguments], cwd=board, capture_output=True, check=False
        )
        assert done.returncode != 0, check
