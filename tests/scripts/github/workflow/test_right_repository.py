"""Whether this is the board's own repository: decided with the standard library, before anything is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.commands.init import with_fields
from scripts.github.workflow import right_repository

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('repository: "https://github.com/me/board"', "me/board"),
        ("repository: 'https://github.com/me/board'", "me/board"),
        ("repository: https://github.com/me/board", "me/board"),
        ("repository: https://github.com/me/board # ours", "me/board"),
        ("repository : https://github.com/me/board.git\r", "me/board"),
        ("repository: https://octo.ghe.com/me_corp/board.of-mine/", "me_corp/board.of-mine"),
        ("# repository: https://github.com/me/board", ""),
        ("  repository: https://github.com/me/board", ""),
        ("repository: me/board", ""),
        ("repository:", ""),
        ("repository: https://github.com/me/board/`::error::`", ""),
        ("", ""),
    ],
)
def test_the_line_of_the_repository_is_read(line: str, named: str) -> None:
    assert right_repository.named_repository(f"title: T\n{line}\nseason: '1'\n") == named


def test_what_init_writes_is_read() -> None:
    text = with_fields((ROOT / "challenge.yml").read_text(), {"title": "T", "repository": "https://github.com/me/board"})

    assert right_repository.named_repository(text) == "me/board"


def test_the_template_names_its_own_repository() -> None:
    assert right_repository.named_repository((ROOT / "challenge.yml").read_text()) == "pullrank/pullrank"


def test_capitals_make_no_other_repository() -> None:
    assert right_repository.is_here("Me/Board", "me/board")
    assert not right_repository.is_here("me/board", "me/board2")
    assert not right_repository.is_here("", "")


def decide(place: Path, repository: str) -> tuple[str, str, str]:
    """What the step writes: outputs, summary, log."""
    out, summary = place / "out", place / "summary"
    environ = {"GITHUB_REPOSITORY": repository, "GITHUB_OUTPUT": str(out), "GITHUB_STEP_SUMMARY": str(summary)}
    module = "scripts.github.workflow.right_repository"
    code = f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r}); runpy.run_module({module!r}, run_name='__main__')"
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, cwd=place, env=environ, capture_output=True, text=True, check=True)
    return out.read_text(), summary.read_text() if summary.exists() else "", done.stdout


def test_it_needs_nothing_installed_and_says_yes_in_the_boards_repository(tmp_path: Path) -> None:
    (tmp_path / "challenge.yml").write_text("repository: https://github.com/me/board\n")

    assert decide(tmp_path, "me/Board") == ("here=true\n", "", "")


@pytest.mark.parametrize("challenge", ["repository: https://github.com/pullrank/pullrank\n", "title: T\n", None])
def test_elsewhere_it_says_no_and_what_to_do(tmp_path: Path, challenge: str | None) -> None:
    if challenge is not None:
        (tmp_path / "challenge.yml").write_text(challenge)
    out, summary, log = decide(tmp_path, "me/board")

    assert out == "here=false\n"
    assert '`pullrank init --title "…" --owner me --repository me/board`' in summary
    assert "`repository: https://github.com/me/board`" in summary
    assert log.startswith("::warning::Nothing was run: challenge.yml names ")
    assert log.count("\n") == 1


def test_outside_a_workflow_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert right_repository.main({}, tmp_path) == 2
    assert "GITHUB_REPOSITORY is not set" in capsys.readouterr().err
