"""Every command of a board's day from its start, as people and machines start it; and a fork of it does the same."""

import json
from pathlib import Path

import pytest

from scripts.command_list import COMMANDS
from tests.scripts.checkouts import LAST_LEGAL, ROOT, duels, game_board, records, run, started, submit

SANDBOX = ("--sandbox", "process")
# What speaks to GitHub, to a container engine or for ever: only the start is shown here.
ELSEWHERE = {
    *("probe", "bot", "image", "recorded", "doctor", "init", "import-evalai", "season", "demo", "rehearse", "gvisor"),
    *("erase", "upgrade", "ready", "watch"),
}
RUN = {
    *("new", "check", "evaluate", "duel", "tournament", "rank", "verify", "plan", "site", "schemas", "quarantine"),
    *("show", "field", "grades", "completion"),
}


def test_no_verb_is_forgotten() -> None:
    assert set(COMMANDS) == ELSEWHERE | RUN
    assert not ELSEWHERE & RUN


def test_a_board_from_a_new_agent_to_its_site(tmp_path: Path) -> None:
    board = game_board(tmp_path)
    last = submit(board, "last", LAST_LEGAL, "[CartPole-v1, tictactoe]")

    assert started(board, "new", "submissions/alice/first", "--task", "CartPole-v1")[0] == 0
    assert started(board, "check")[::2] == run(board, "check")[::2] == (0, "challenge.yml and 3 folders are fine.\n")
    code, out, _ = started(board, "evaluate", "submissions/alice/first", *SANDBOX, "--json")
    assert (code, [one["verdict"] for one in json.loads(out)]) == (0, ["ok"])
    code, out, _ = started(board, "duel", last, "example_agents/random", "--game", "tictactoe", *SANDBOX, "--json")
    assert (code, json.loads(out)["num_matches"], sorted(duels(board))) == (0, 4, ["alice+last--local+random"])
    code, out, _ = started(board, "tournament", "--game", "tictactoe", *SANDBOX, "--json")
    assert (code, json.loads(out)["held"], json.loads(out)["recorded_before"]) == (0, 2, 1)
    assert started(board, "field", last, "--task", "tictactoe", *SANDBOX)[0] == 0
    before = records(board)
    shown = ("show", "submissions/alice/first")
    for words in (("rank", "--json"), ("plan", "--json", *SANDBOX), ("verify", "--json"), shown, ("completion", "bash")):
        assert started(board, *words) == run(board, *words), words
    assert [outcome["standing"] for outcome in json.loads(run(board, "verify", "--json")[1])] == ["verified"] * 4
    assert started(board, "grades", "--json") == run(board, "grades", "--json")
    assert started(board, "quarantine", "--lift") == run(board, "quarantine", "--lift")
    assert started(board, "site", "build")[0] == 0
    assert "Last" in (board / "build/site/tasks/tictactoe/index.html").read_text()
    assert records(board) == before


def test_the_schemas_are_not_stale() -> None:
    assert started(ROOT, "schemas", "--check")[0] == 0


@pytest.mark.parametrize("words", [("frobnicate",), ("rank",), ("new", "nowhere/Not Allowed"), ("--help",)])
def test_a_fork_fails_as_a_started_command_does(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert started(tmp_path, *words) == run(tmp_path, *words)
