"""`pullrank duel` and what is to be done with its file: one document, one line for an error, nothing played twice."""

import json
from pathlib import Path

import jsonschema
import pytest

from evaluator.model.records.duel_record import Duel
from tests.scripts.checkouts import (
    CRASHING,
    GAMES,
    ILLEGAL,
    LAST_LEGAL,
    LEGAL,
    ROOT,
    duels,
    game_board,
    put,
    records,
    run,
    submit,
)

FIELDS = [
    "result", "error_msg", "num_matches", "player_1_errors", "player_2_errors", "other_errors", "player_1_wins",
    "player_2_wins", "draws", "player_1_score", "player_2_score", "matches",
]  # fmt: skip
MATCH_FIELDS = ["result", "error_msg", "player_1_score", "player_2_score", "first_player", "states"]
RANDOM = "example_agents/random"
IN_PROCESS = ("--game", "tictactoe", "--sandbox", "process")


@pytest.fixture
def board(tmp_path: Path) -> Path:
    return game_board(tmp_path)


def test_a_duel_is_one_document_for_machines_with_the_first_named_as_player_1(board: Path) -> None:
    last = submit(board, "last", LAST_LEGAL)

    code, out, _ = run(board, "duel", RANDOM, last, *IN_PROCESS, "--json")
    turned = json.loads(run(board, "duel", last, RANDOM, *IN_PROCESS, "--json")[1])

    outcome = json.loads(out)
    assert (code, sorted(outcome), sorted(outcome["matches"][0])) == (0, sorted(FIELDS), sorted(MATCH_FIELDS))
    assert outcome["num_matches"] == 4
    assert outcome["player_1_wins"] + outcome["player_2_wins"] + outcome["draws"] == 4
    assert (turned["player_1_wins"], turned["player_1_score"]) == (outcome["player_2_wins"], outcome["player_2_score"])
    assert [match["first_player"] for match in turned["matches"]] != [m["first_player"] for m in outcome["matches"]]
    assert len(records(board)) == 1


def test_a_recorded_duel_is_recalled_unless_it_is_to_be_played_again(board: Path) -> None:
    words = ("duel", RANDOM, submit(board, "last", LAST_LEGAL), *IN_PROCESS)
    code, out, err = run(board, *words)
    (name,) = records(board)
    before = (board / name).stat().st_mtime_ns

    assert (code, "4 matches: 4 played to their end." in out) == (0, True)
    assert f"The duel is in {name}." in err
    assert "Recorded before; --again plays it anew." in run(board, *words)[2]
    assert (board / name).stat().st_mtime_ns == before
    assert "Recorded before" not in run(board, *words, "--again")[2]
    assert (board / name).stat().st_mtime_ns != before


def test_other_numbers_of_matches_are_not_recorded(board: Path) -> None:
    words = ("duel", RANDOM, submit(board, "last", LAST_LEGAL), *IN_PROCESS, "--json")

    assert json.loads(run(board, *words, "--matches", "2")[1])["num_matches"] == 2
    assert records(board) == {}


def test_a_folder_named_twice_plays_itself(board: Path) -> None:
    code, out, err = run(board, "duel", RANDOM, f"{RANDOM}/", *IN_PROCESS)

    assert code == 0
    assert "random is named twice: it plays itself, which is its validation" in err
    assert "It may enter." in out


def test_a_refused_validation_exits_with_1_and_shows_the_position_and_the_move(board: Path) -> None:
    cheat = submit(board, "cheat", ILLEGAL)

    code, out, _ = run(board, "duel", cheat, cheat, *IN_PROCESS)

    assert code == 1
    assert "4 matches: 4 ended by an illegal move." in out
    assert "match 1, after 1 moves: alice/cheat (2) " in out
    assert ". X ." in out
    assert "It may not enter" in out


def test_whoever_breaks_a_rule_against_another_only_loses(board: Path) -> None:
    outcome = json.loads(run(board, "duel", submit(board, "cheat", ILLEGAL), RANDOM, *IN_PROCESS, "--json")[1])

    assert (outcome["player_1_errors"], outcome["player_2_errors"], outcome["result"]) == (4, 0, "PLAYER_2_WIN")
    assert {match["result"] for match in outcome["matches"]} == {"PLAYER_1_ERROR"}


def test_a_crash_exits_with_1_and_shows_the_log(board: Path) -> None:
    code, out, _ = run(board, "duel", submit(board, "broken", CRASHING), RANDOM, *IN_PROCESS)

    assert code == 1
    assert "4 matches: 4 forfeited." in out
    assert "alice/broken: crashed." in out
    assert "ZeroDivisionError: division by zero at agent.py:4" in out
    assert "| hello" in out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((RANDOM, RANDOM, "--game", "chess"), 2, "there is no game 'chess'; the games are tictactoe, five"),
        (
            (RANDOM, RANDOM, "--game", "CartPole-v1"),
            2,
            "CartPole-v1 is played alone, with 'pullrank evaluate'; the games are",
        ),
        ((RANDOM, RANDOM), 2, "which game? Name one with --game: tictactoe, five"),
        ((RANDOM, "other/solo", "--game", "five"), 1, "other/solo: does not enter five; name it under 'tasks' in its"),
        ((RANDOM, "other/random", "--game", "tictactoe"), 1, "both are local/random; rename one of the folders"),
        ((RANDOM, "nowhere", "--game", "tictactoe"), 1, "nowhere: cannot be read (No such file or directory)"),
        ((RANDOM, RANDOM, "--game", "five", "--matches", "3"), 2, "--matches 3: it is an even number"),
        ((RANDOM, RANDOM, "--game", "five", "--sandbox", "vault"), 2, "'vault' is unknown"),
        ((RANDOM,), 2, "Missing argument 'B'; 'pullrank duel --help' says more"),
        ((RANDOM, RANDOM, "--colour"), 2, "No such option: --colour"),
    ],
)
def test_wrong_words_get_one_line_and_a_code(board: Path, words: tuple[str, ...], code: int, message: str) -> None:
    put(board / "other" / "solo", LEGAL)
    put(board / "other" / "random", LAST_LEGAL)

    got, out, err = run(board, "duel", *words)

    lines = [line for line in err.splitlines() if "is named twice" not in line]
    assert (got, len(lines), out) == (code, 1, "")
    assert message in lines[0]


def test_a_game_that_is_not_here_is_our_fault_in_one_line(board: Path) -> None:
    (board / "challenge.yml").write_text(GAMES.replace("tictactoe_v3", "halma_v1"))

    code, _, err = run(board, "duel", RANDOM, RANDOM, *IN_PROCESS)

    assert code == 3
    assert "task tictactoe names the game pettingzoo.classic.halma_v1, which is not here" in err.splitlines()[-1]


def test_a_damaged_duel_is_named_left_out_and_played_again(board: Path) -> None:
    words = ("duel", RANDOM, submit(board, "last", LAST_LEGAL), *IN_PROCESS)
    run(board, *words)
    (name,) = records(board)
    (board / name).write_text('{"kind": "duel"')

    code, out, err = run(board, "rank")
    assert (code, f"{name}: is not a duel (" in err.replace(f"{board}/", "")) == (0, True)
    assert "tictactoe: nobody is rated yet" in out
    code, _, err = run(board, *words)
    assert (code, "is damaged; it is played again" in err) == (0, True)
    assert len(json.loads((board / name).read_bytes())["matches"]) == 4


def test_a_duel_verifies_and_keeps_to_its_schema(board: Path) -> None:
    run(board, "duel", RANDOM, submit(board, "last", LAST_LEGAL), *IN_PROCESS)
    (name,) = records(board)
    schema = json.loads((ROOT / "site/pages/schemas/duel.json").read_bytes())

    jsonschema.validate(json.loads((board / name).read_bytes()), schema)
    assert run(board, "verify")[0] == 0
    (board / name).write_bytes((board / name).read_bytes().replace(b'"winner": 0', b'"winner": 1', 1))
    code, _, err = run(board, "verify")
    assert (code, f"{name}: refuted" in err.replace(f"{board}/", "")) == (1, True)


def test_rerun_finds_moves_that_the_players_would_not_have_made(board: Path) -> None:
    """The moves are legal and everything else fits, so only playing again can show it."""
    last = submit(board, "last", LAST_LEGAL)
    for words in ((RANDOM, last), (last, last)):
        run(board, "duel", *words, *IN_PROCESS)
    assert run(board, "verify", "--rerun", "--sandbox", "process")[0] == 0

    outcome = {name: json.loads(content) for name, content in duels(board).items()}
    honest, other = outcome["alice+last--local+random"], outcome["alice+last--alice+last"]
    (path,) = (board / "results").glob("*/alice+last--local+random/*.json")
    played = {name: other[name] for name in ("matches", "moves", "milliseconds")}
    for player, double in zip(honest["players"], other["players"], strict=True):
        player["cost"] = double["cost"]
    path.write_bytes(Duel.with_self_hash({**honest, **played}).serialised())

    assert run(board, "verify")[0] == 0
    code, _, err = run(board, "verify", "--rerun", "--sandbox", "process")
    assert (code, "played again, match 1 " in err) == (1, True)
