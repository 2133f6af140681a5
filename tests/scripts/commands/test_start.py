"""How little the command imports before it does what it was asked for; no times, which depend on the machine."""

import inspect
import json
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
import typer

from evaluator.host.deterministic import pinned_variables
from evaluator.model.records.stored_record import PREVIEW_BEACON
from leaderboard.planning.missing_work import MeasurementContext
from scripts.command_list import COMMANDS, PINNED
from scripts.console import say
from scripts.repository.checkout import open_checkout
from scripts.typer_application import _help_line
from tests.leaderboard.recorded import recorded
from tests.scripts.checkouts import LEGAL, ROOT, game_board, submit

FOREIGN = {"cryptography", "docker", "github", "gymnasium", "pettingzoo", "requests", "scipy"}
ARITHMETIC = {"numpy"}
MODELS = {"pydantic", "yaml"}
# Runs the command with the rest of its arguments and, whatever it does, writes which modules it imported to the first.
WATCHED = """
import atexit, json, pathlib, sys
place = pathlib.Path(sys.argv.pop(1))
atexit.register(lambda: place.write_text(json.dumps(sorted(sys.modules))))
from scripts.cli import main
main()
"""
# The same up to the second interpreter that a pinned command starts.
BEFORE = """
import json, os, pathlib, sys
place = pathlib.Path(sys.argv.pop(1))
def start(path, arguments, environment):
    place.write_text(json.dumps(sorted(sys.modules)))
    os._exit(0)
os.execve = start
from scripts.cli import main
main()
"""


def imported(board: Path, *words: str, watch: str = WATCHED, pinned: bool = False) -> tuple[set[str], str, str]:
    """The packages and modules that the command imports in one process, what machines read and what people read."""
    place = board / "imported.json"
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    if pinned:
        environment |= {**pinned_variables(), "PULLRANK_PINNED": "1"}
    command = [sys.executable, "-c", watch, str(place), *words]
    done = subprocess.run(command, cwd=board, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return set(json.loads(place.read_text())), done.stdout, done.stderr


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """A board with one agent of Alice's, and a result of it."""
    game_board(tmp_path)
    folder = tmp_path / submit(tmp_path, "first", LEGAL, "[CartPole-v1]")
    opened = open_checkout(tmp_path)
    entry, where = opened.find(folder).entry(), MeasurementContext(runtime_digest="0" * 64, beacon=PREVIEW_BEACON)
    opened.store.write(recorded(opened.challenge, entry, "CartPole-v1", where), None)
    return tmp_path


def test_the_help_of_all_verbs_imports_none(board: Path) -> None:
    packages, out, _ = imported(board, "--help")

    assert not packages & (FOREIGN | ARITHMETIC | MODELS)
    assert "leaderboard" not in packages
    assert all(name in out for name in COMMANDS)


def test_the_version_is_printed_and_nothing_else_imported(board: Path) -> None:
    packages, out, _ = imported(board, "--version")

    assert not packages & (FOREIGN | ARITHMETIC | MODELS | {"rich"})
    assert out == f"pullrank {tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']['version']}\n"


def test_a_new_agent_needs_no_environment_and_no_engine(board: Path) -> None:
    packages, _, err = imported(board, "new", "submissions/alice/second")

    assert not packages & (FOREIGN | ARITHMETIC | {"rich"})
    assert "pydantic" in packages
    assert "Wrote submissions/alice/second/submission.yml" in err
    assert (board / "submissions/alice/second/agent.py").is_file()


def test_a_check_needs_no_environment_and_no_engine(board: Path) -> None:
    packages, _, err = imported(board, "check", "submissions/alice/first")

    assert not packages & (FOREIGN | ARITHMETIC | {"rich"})
    assert "pydantic" in packages
    assert err == "challenge.yml and 1 folder are fine.\n"


def test_ranking_needs_arithmetic_only(board: Path) -> None:
    packages, out, _ = imported(board, "rank", "--json", pinned=True)

    assert not packages & (FOREIGN | {"rich"})
    assert packages >= ARITHMETIC
    assert [row["agent"] for task in json.loads(out)["tasks"] for row in task["rows"]] == ["first"]


def test_a_plan_needs_neither_environments_nor_ratings(board: Path) -> None:
    packages, out, _ = imported(board, "plan", "--json", "--sandbox", "process", pinned=True)

    assert not packages & (FOREIGN | {"leaderboard.ratings.fit_ratings", "leaderboard.build_standings"})
    assert {item["task"] for item in json.loads(out)} == {"CartPole-v1", "tictactoe", "five"}


@pytest.mark.parametrize("command", sorted(PINNED))
def test_what_is_started_anew_imports_little_before(board: Path, command: str) -> None:
    packages, _, _ = imported(board, command, watch=BEFORE)

    assert not packages & (FOREIGN | MODELS | ARITHMETIC | {"leaderboard", "rich", "typer"})


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_verbs_says_what_their_own_help_says(name: str) -> None:
    run = import_module(f"scripts.commands.{name.replace('-', '_')}").run
    text = run.info.help if isinstance(run, typer.Typer) else inspect.getdoc(run)

    assert _help_line(name) == text.split("\n\n")[0].replace("\n", " ")


def test_every_verb_is_listed() -> None:
    modules = {path.stem.replace("_", "-") for path in (ROOT / "scripts/commands").glob("[!_]*.py")}

    assert set(COMMANDS) == modules


def test_a_line_for_people_holds_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    say("one :smile: [red]two[/red]\x1b[2J\x9b2J\r\x07\tthree\nfour")

    assert capsys.readouterr().err == "one :smile: [red]two[/red]�[2J�2J �\tthree\nfour\n"
