"""An evaluation at home ends as the comment on a pull request does."""

import shutil
import subprocess
from pathlib import Path

import pytest

from leaderboard.text.escape_markdown import code, unmarked
from tests.scripts.checkouts import GAMES, put, run

GOOD = "class Agent:\n    def act(self, observation):\n        return int(observation[2] > 0)\n"
BAD = "class Agent:\n    def act(self, observation):\n        return 0\n"


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def board(tmp_path: Path) -> Path:
    root = tmp_path / "board"
    root.mkdir()
    (root / "challenge.yml").write_text(GAMES)
    put(root / "submissions/bob/first", BAD, "[CartPole-v1]")
    put(root / "submissions/alice/mine", GOOD, "all")
    git(root, "init", "-q", "-b", "main")
    return root


def test_recorded_results_are_fetched_and_the_place_among_them_is_said(board: Path, tmp_path: Path) -> None:
    assert run(board, "evaluate", "submissions/bob/first", "--sandbox", "process")[0] == 0
    origin = tmp_path / "origin"
    shutil.copytree(board / "results", origin)
    git(origin, "init", "-q", "-b", "results")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "Results")
    shutil.rmtree(board / "results")
    git(board, "remote", "add", "origin", str(origin))

    code_, out, err = run(board, "evaluate", "submissions/alice/mine", "--task", "CartPole-v1", "--sandbox", "process")

    assert (code_, "fetched" in err) == (0, False)
    end = out.split("\n\n")[-1].splitlines()
    assert end[0].startswith("✅ Preview: ")
    assert end[0].endswith(" on CartPole-v1, would take place 1 of 2")
    assert end[1].split("  ")[-1].strip() == "reference"
    assert "1 of 2" in end[2]
    assert "leads, +" in end[2]
    assert "to bob/first" in end[2]
    assert end[2].endswith(" 475")


def test_without_a_network_one_line_says_so(board: Path) -> None:
    git(board, "remote", "add", "origin", "https://127.0.0.1:9/nowhere.git")

    code_, out, err = run(board, "evaluate", "submissions/bob/first", "--sandbox", "process")

    assert code_ == 0
    assert "would take place 1 of 1" in out
    (line,) = [line for line in err.splitlines() if "fetched" in line]
    assert line.startswith("The recorded results could not be fetched (git ls-remote failed: fatal: ")


def test_an_agent_that_fails_elsewhere_at_once_is_asked_whether_it_is_for_one_task_only(board: Path) -> None:
    code_, out, err = run(board, "evaluate", "submissions/alice/mine", "--sandbox", "process")

    assert code_ == 1
    assert "Preview: 1 of 3 scored" in out
    assert err.endswith("Only for CartPole-v1? Write 'tasks: [CartPole-v1]' in submission.yml.\n")


@pytest.mark.parametrize("text", ["plain", "a`b", "``", "` `x` `", "a|b"])
def test_what_stood_in_code_is_plain_again(text: str) -> None:
    assert unmarked(f"**1** to {code(text)}, tied") == f"1 to {text.strip()}, tied"


def test_an_agent_in_any_folder_is_told_the_place_that_it_would_take(board: Path) -> None:
    assert run(board, "evaluate", "submissions/bob/first", "--sandbox", "process")[0] == 0
    put(board / "elsewhere", GOOD, "[CartPole-v1]")

    code_, out, _ = run(board, "evaluate", "elsewhere", "--sandbox", "process")

    assert code_ == 0
    assert " on CartPole-v1, would take place 1 of 2" in out
