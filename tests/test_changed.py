"""What `make check` looks at."""

import re
import subprocess
from pathlib import Path

import pytest

from tests import changed
from tests.conftest import MARKS

ROOT = Path(__file__).parents[1]

TEXTS = {
    "tests/leaderboard/scoring/test_ranking.py": "from leaderboard.scoring.ranking import rank_intervals\n",
    "tests/leaderboard/test_build.py": "from leaderboard.scoring import ranking\nimport json\n",
    "tests/leaderboard/ratings/test_fit_ratings.py": "from leaderboard.scoring.rankings import other\n",
    "tests/docker/test_image.py": "from evaluator.host.docker import evaluator_image\n",
    "tests/evaluator/test_seeds.py": "import evaluator.host.docker.evaluator_image\n",
}


def test_a_module_brings_the_tests_that_bear_its_name_and_those_that_import_it() -> None:
    assert changed.tests_of("leaderboard/scoring/ranking.py", TEXTS) == [
        "tests/leaderboard/scoring/test_ranking.py",
        "tests/leaderboard/test_build.py",
    ]
    assert changed.tests_of("leaderboard/none.py", TEXTS) == []
    assert changed.tests_of("README.md", TEXTS) == []


def test_the_tests_of_every_change_are_run_once() -> None:
    paths = [
        "evaluator/host/docker/evaluator_image.py",
        "tests/leaderboard/ratings/test_fit_ratings.py",
        "tests/docker/test_image.py",
    ]

    assert changed.chosen(paths, TEXTS) == [
        *changed.ALWAYS,
        "tests/docker/test_image.py",
        "tests/evaluator/test_seeds.py",
        "tests/leaderboard/ratings/test_fit_ratings.py",
    ]


def test_what_is_marked_is_left_out_and_every_marked_path_is_there() -> None:
    assert [path for paths in MARKS.values() for path in paths if not (ROOT / path).exists()] == []
    assert set(re.findall(r"not (\w+)", changed.QUICK)) == {"docker", "act", *MARKS}


def test_only_what_changed_is_looked_at() -> None:
    assert changed.lints([]) == []
    assert changed.lints(["README.md"]) == [["codespell", "README.md"]]
    assert [one[0] for one in changed.lints(["tests/a.py", ".github/workflows/ci.yml"])] == [
        "ruff", "ruff", "codespell", "zizmor", "check-jsonschema",
    ]  # fmt: skip
    assert ["interrogate", "-q", "leaderboard/api/a.py"] in changed.lints(["leaderboard/api/a.py"])
    assert ["pullrank", "schemas", "--check"] in changed.lints(["leaderboard/api/a.py"])


def test_changes_are_those_of_the_branch_and_those_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    for name in ("same.py", "gone.py", "edited.py"):
        (tmp_path / name).write_text("1\n")
    git("init", "--initial-branch", "main")
    git("add", ".")
    git("commit", "-m", "one")
    git("switch", "-c", "branch")
    (tmp_path / "committed.py").write_text("1\n")
    git("add", ".")
    git("commit", "-m", "two")
    (tmp_path / "edited.py").write_text("2\n")
    (tmp_path / "gone.py").unlink()
    (tmp_path / "new.py").write_text("1\n")
    monkeypatch.setattr(changed, "ROOT", tmp_path)

    assert changed.changed() == ["committed.py", "edited.py", "new.py"]


def test_what_fails_is_counted(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, code in (("codespell", 3), ("python", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(changed, "TOOLS", tmp_path)
    monkeypatch.setattr(changed, "changed", lambda: ["README.md"])

    assert changed.main() == 1
    assert "Failed: codespell\n" in capfd.readouterr().out
