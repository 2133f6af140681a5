"""`pullrank tournament` and the verbs around it: only what is missing is played, nothing finished is lost."""

import json
import os
import pty
import shutil
import signal
import time
from pathlib import Path

import pytest

from scripts.console import USAGE
from tests.scripts.checkouts import CRASHING, ILLEGAL, LAST_LEGAL, LEGAL, duels, game_board, records, run, start, submit

TICTACTOE = ("tournament", "--game", "tictactoe", "--sandbox", "process")
MODERATION = """\
exclusions:
  - {login: alice, agent: copied, since: "2026-05-01", who: host, why: copies a player, link: "https://example.org/1"}
"""


@pytest.fixture
def board(tmp_path: Path) -> Path:
    return game_board(tmp_path)


def test_a_newcomer_costs_its_own_duels_and_no_other(board: Path) -> None:
    submit(board, "last", LAST_LEGAL)
    first = json.loads(run(board, *TICTACTOE, "--json")[1])
    before = duels(board)

    assert sorted(before) == ["alice+last--alice+last", "alice+last--local+random", "local+random--local+random"]
    assert (first["held"], first["recorded_before"], first["failed"]) == (3, 0, 0)

    submit(board, "new", LEGAL + "# another\n", login="bob")
    code, out, err = run(board, *TICTACTOE)
    after = duels(board)

    assert code == 0
    assert {name: after[name] for name in before} == before
    assert sorted(set(after) - set(before)) == [
        "alice+last--bob+new",
        "bob+new--bob+new",
        "bob+new--local+random",
    ]
    assert "3 duels of 12 matches held, 3 recorded before." in err
    assert "won–drawn–lost" in out
    assert json.loads(run(board, *TICTACTOE, "--json")[1])["held"] == 0


@pytest.mark.attack(
    "players_where_no_engine_answers", family="supply", outcome="refused before anything of them runs",
    tries="Waits in a player's folder for whoever plays the tournament, measures the field or runs records again while no "
    "container engine answers, and reads that person's files.",
)  # fmt: skip
@pytest.mark.parametrize(
    "command",
    [
        ("tournament",), ("field", "submissions/bob/mine"), ("verify", "--rerun"),
        ("duel", "submissions/bob/mine", "submissions/alice/spy", "--game", "tictactoe"),
    ],
)  # fmt: skip
def test_several_peoples_agents_never_fall_back_to_no_sandbox(
    board: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """A note was said, and all of them ran with the rights of whoever had asked for no sandbox at all."""
    submit(board, "mine", LAST_LEGAL, login="bob")
    submit(board, "spy", f"open({str(tmp_path / 'seen')!r}, 'a').close()\n{LEGAL}")
    assert run(board, *TICTACTOE)[0] == 0  # Who names the sandbox gets it.
    (tmp_path / "seen").unlink()
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    if command[0] != "verify":
        shutil.rmtree(board / "results")

    code, _, err = run(board, *command)

    assert not (tmp_path / "seen").exists()
    assert code == USAGE
    assert "agents of 2 people would run without a security boundary" in err


def test_ones_own_agents_are_played_without_an_engine(board: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submit(board, "last", LAST_LEGAL)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")

    code, _, err = run(board, "tournament")

    assert code == 0
    assert "no security boundary" in err


def test_ratings_are_a_document_and_a_table(board: Path) -> None:
    submit(board, "last", LAST_LEGAL)
    (game,) = json.loads(run(board, *TICTACTOE, "--json")[1])["games"]

    assert game["anchor"] == "local/random"
    anchored = next(row for row in game["rows"] if row["agent"] == "random")
    assert anchored["rating"]["elo"] == 0
    assert {row["wins"] + row["draws"] + row["losses"] for row in game["rows"]} == {4}
    assert [(cell["row"], cell["column"]) for cell in game["crosstable"]] == [
        ("alice/last", "local/random"),
        ("local/random", "alice/last"),
    ]
    ranked = json.loads(run(board, "rank", "--json")[1])
    assert [outcome["task"] for outcome in ranked["games"]] == ["tictactoe", "five"]
    assert ranked["games"][0] == game
    assert [outcome["task"] for outcome in ranked["tasks"]] == ["CartPole-v1"]
    out = run(board, "rank", "--task", "tictactoe")[1]
    assert "The Elo scale is anchored at local/random = 0." in out
    assert "Overall" not in out


def test_who_breaks_a_rule_against_itself_meets_nobody(board: Path) -> None:
    submit(board, "cheat", ILLEGAL)
    submit(board, "broken", CRASHING)

    code, out, _ = run(board, *TICTACTOE)

    assert code == 0
    assert sorted(duels(board)) == ["alice+broken--alice+broken", "alice+cheat--alice+cheat", "local+random--local+random"]
    assert "Refused: alice/cheat: match 1, move 2: the illegal move 4" in out
    (game,) = json.loads(run(board, *TICTACTOE, "--json")[1])["games"]
    assert [outcome["agent"] for outcome in game["failures"]] == ["broken", "cheat"]


def test_who_is_excluded_or_unreadable_is_not_played(board: Path) -> None:
    submit(board, "copied", LAST_LEGAL)
    submit(board, "lost", LAST_LEGAL + "# 2\n", "[chess]")
    (board / "moderation.yml").write_text(MODERATION)

    code, out, err = run(board, *TICTACTOE)

    assert (code, sorted(duels(board))) == (0, ["local+random--local+random"])
    assert "excluded" in out
    assert err.count("there is no task 'chess'") == 1


def test_the_plan_lists_validations_and_then_pairs(board: Path) -> None:
    submit(board, "last", LAST_LEGAL)
    first = json.loads(run(board, "plan", "--json", "--sandbox", "process")[1])

    assert [item["task"] for item in first if "login" in item] == ["CartPole-v1"]
    validations = [item for item in first if "players" in item]
    assert {item["validation"] for item in validations} == {True}
    assert [(item["task"], item["players"][0]["agent"]) for item in validations] == [
        ("tictactoe", "last"),
        ("tictactoe", "random"),
        ("five", "random"),
    ]
    message = run(board, "plan", "--explain", "--sandbox", "process")[2]
    assert "alice/last against itself in tictactoe: new" in message
    assert "Opponents are chosen when the players have passed their validations." in message

    for folder in ("submissions/alice/last", "example_agents/random"):
        run(board, "duel", folder, folder, "--game", "tictactoe", "--sandbox", "process")
    assert "alice/last against local/random in tictactoe: new" in run(board, "plan", "--explain", "--sandbox", "process")[2]
    run(board, "tournament", "--sandbox", "process")
    left = json.loads(run(board, "plan", "--json", "--sandbox", "process")[1])
    assert [item["task"] for item in left] == ["CartPole-v1"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_tournament_keeps_what_was_finished(board: Path, how: signal.Signals) -> None:
    for number in range(3):
        submit(board, "agent", LEGAL + f"# {number}\n", login=f"user-{number}")
    process = start(board, *TICTACTOE)
    until = time.monotonic() + 300
    while len(duels(board)) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(how)
    _, err = process.communicate(timeout=300)

    kept = duels(board)
    assert 2 <= len(kept) < 10
    assert "Traceback" not in err
    if how is not signal.SIGKILL:
        assert process.returncode == 130
    assert run(board, *TICTACTOE)[0] == 0
    after = duels(board)
    assert {name: after[name] for name in kept} == kept
    assert len(after) == 10


def test_people_see_a_bar_and_files_do_not(board: Path) -> None:
    ours, theirs = pty.openpty()
    process = start(board, *TICTACTOE, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            seen += os.read(ours, 4096)
        except OSError:
            break
    process.communicate(timeout=300)
    os.close(ours)

    assert b"tictactoe: random with itself" in seen
    assert "with itself" not in run(board, *TICTACTOE)[2]


def test_evaluate_plays_alone_and_against_itself_and_the_baselines(board: Path) -> None:
    folder = submit(board, "last", LAST_LEGAL, "[CartPole-v1, tictactoe]")
    submit(board, "other", LEGAL)

    code, out, _ = run(board, "evaluate", folder, "--sandbox", "process", "--json")

    assert (code, sorted(duels(board))) == (0, ["alice+last--alice+last", "alice+last--local+random"])
    kinds = [(outcome["task"], outcome.get("kind", "result")) for outcome in json.loads(out)]
    assert kinds == [("CartPole-v1", "result"), ("tictactoe", "duel"), ("tictactoe", "duel")]
    code, out, err = run(board, "evaluate", folder, "--sandbox", "process")
    assert (code, err.count("recorded before")) == (0, 3)
    assert "local/random" in out
    assert "itself" in out


def test_evaluate_stops_at_a_refused_validation(board: Path) -> None:
    code, out, _ = run(board, "evaluate", submit(board, "cheat", ILLEGAL), "--sandbox", "process")

    assert (code, list(duels(board))) == (1, ["alice+cheat--alice+cheat"])
    assert "tictactoe: match 1, move 2: the illegal move 4" in out


def test_a_new_agent_keeps_to_the_rules_of_games(board: Path) -> None:
    run(board, "new", "submissions/alice/first")

    code, _, err = run(board, "evaluate", "submissions/alice/first", "--sandbox", "process", "--json")

    assert (code, len(records(board))) == (0, 5), err


def test_check_knows_what_an_adapter_asks_for(board: Path) -> None:
    folder = board / submit(board, "old", "class Agent:\n    pass\n")
    with (folder / "submission.yml").open("a") as manifest:
        manifest.write("adapter: rl-arena\n")

    code, _, err = run(board, "check", str(folder))
    assert (code, "agent.py:1: defines no class Player; rl-arena's players are a class" in err) == (1, True)

    (folder / "agent.py").write_text("class Player:\n    pass\n")
    assert run(board, "check", str(folder))[0] == 0


def test_demo_plays_verifies_ranks_and_shows_games(board: Path) -> None:
    submit(board, "last", LAST_LEGAL, "[tictactoe, five]")

    code, out, err = run(board, "demo", "--sandbox", "process")

    assert code == 0, err
    assert "6 duels of 18 matches held, 0 recorded before." in err
    assert "7 verified" in err
    assert "won–drawn–lost" in out
    pages = board / "build/site/tasks"
    assert (pages / "tictactoe/duels/alice+last--local+random/index.html").is_file()
    assert "data:image/png;base64," in (pages / "five/duels/alice+last--local+random/index.html").read_text()
    assert list((board / "build/frames").iterdir())
    before = records(board)
    code, _, err = run(board, "demo", "--sandbox", "process")
    assert (code, records(board)) == (0, before)
    assert "0 duels of 0 matches held, 6 recorded before." in err


def test_a_board_without_games_says_so(board: Path) -> None:
    path = board / "challenge.yml"
    path.write_text(path.read_text().partition("  - id: tictactoe")[0])

    assert run(board, "tournament")[::2] == (
        2,
        "this challenge has no game; challenge.yml names one with 'game' instead of 'env'\n",
    )
