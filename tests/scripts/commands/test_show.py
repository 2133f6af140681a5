"""`pullrank show` for players of games."""

from pathlib import Path

from tests.scripts.checkouts import ILLEGAL, game_board, put, run


def test_a_players_duels_are_shown_with_what_went_wrong(tmp_path: Path) -> None:
    game_board(tmp_path)
    put(tmp_path / "example_agents" / "rogue", ILLEGAL)
    run(tmp_path, "evaluate", "example_agents/rogue", "--sandbox", "process")

    code, out, err = run(tmp_path, "show", "example_agents/rogue")

    assert code == 0, err
    assert "tictactoe" in out
    assert "itself" in out
    assert "match 1, after" in out

    code, out, err = run(tmp_path, "show", "example_agents/rogue", "--json")
    assert (code, '"players"' in out) == (0, True), err
