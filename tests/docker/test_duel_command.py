"""`pullrank duel` and `verify` with both players in real containers."""

import json
from pathlib import Path

import pytest

from evaluator.host.docker.engine import OWNER_LABEL, Engine
from tests.scripts.checkouts import LAST_LEGAL, duels, game_board, run, start, submit

pytestmark = pytest.mark.docker


def test_a_tournament_in_containers_gives_what_processes_give(engine: Engine, tmp_path: Path) -> None:
    boards = {}
    for sandbox in ("docker", "process"):
        board = boards[sandbox] = tmp_path / sandbox
        board.mkdir()
        submit(game_board(board), "last", LAST_LEGAL)
        process = start(board, "tournament", "--game", "tictactoe", "--sandbox", sandbox)
        _, err = process.communicate(timeout=900)
        assert (process.returncode, "3 duels of 12 matches held" in err) == (0, True), err
        assert containers_of(engine, process.pid) == []

    records = [{name: json.loads(content) for name, content in duels(board).items()} for board in boards.values()]
    for name, held in records[0].items():
        assert held["sandbox"] == "docker"
        assert held["image_digest"]
        assert all(player["cost"]["cpu_seconds"] > 0 for player in held["players"])
        assert (held["matches"], held["moves"]) == (records[1][name]["matches"], records[1][name]["moves"])
    code, _, err = run(boards["docker"], "verify", "--rerun", "--sandbox", "docker")
    assert (code, "3 verified" in err) == (0, True), err


def containers_of(engine: Engine, pid: int) -> list[str]:
    """Containers that a process has made and not removed."""
    every = engine._api.containers(all=True, filters={"label": OWNER_LABEL})
    return [each["Id"] for each in every if json.loads(each["Labels"][OWNER_LABEL])["pid"] == pid]
