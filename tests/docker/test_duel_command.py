"""`pullrank duel` and `verify` with both players in real containers."""

import json
from pathlib import Path

import numpy as np
import pytest

from evaluator.host.docker.engine import OWNER_LABEL, Engine
from leaderboard.games.playable_network import playable_document
from leaderboard.pages.render_pages import render_pages
from scripts.repository.checkout import open_checkout
from scripts.static_site.build_site import gather_site_inputs
from tests.docker.onnx_file import FLOAT, _field, _value
from tests.docker.test_hostile_models import graph_of, model, node, tensor
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


def test_a_network_plays_a_duel_and_its_leading_page_has_it(engine: Engine, tmp_path: Path) -> None:
    """It likes a diagonal, which whoever takes the first free cell leaves to it."""
    board = game_board(tmp_path)
    liked = np.zeros((1, 9), "<f4")
    liked[0, [4, 2, 6]] = 3, 2, 1
    weights = [tensor("w", [18, 9], FLOAT, bytes(4 * 18 * 9)), tensor("b", [1, 9], FLOAT, liked.tobytes())]
    nodes = [node("Flatten", ["x"], ["f"]), node("MatMul", ["f", "w"], ["s"]), node("Add", ["s", "b"], ["y"])]
    content = model(graph_of(nodes, weights, _field(11, _value("x", 3, 3, 2)) + _field(12, _value("y", 9))))
    folder = board / "submissions" / "alice" / "network"
    folder.mkdir(parents=True)
    (folder / "network.onnx").write_bytes(content)
    (folder / "submission.yml").write_text(
        "name: Network\nalgorithm: none\nadapter: onnx\nentry: network.onnx\nlicense: MIT\ntasks: [tictactoe]\n"
    )

    code, out, err = run(board, "tournament", "--game", "tictactoe", "--sandbox", "docker")

    assert code == 0, out + err
    (held,) = (json.loads(text) for name, text in duels(board).items() if "network" in name and "random" in name)
    side = [player["agent"] for player in held["players"]].index("network")
    assert [match["winner"] for match in held["matches"]] == [side] * 4
    pages = render_pages(*gather_site_inputs(open_checkout(board, is_lean=True), official=False))
    assert pages["tasks/tictactoe/network.json"] == playable_document(content)


def containers_of(engine: Engine, pid: int) -> list[str]:
    """Containers that a process has made and not removed."""
    every = engine._api.containers(all=True, filters={"label": OWNER_LABEL})
    return [each["Id"] for each in every if json.loads(each["Labels"][OWNER_LABEL])["pid"] == pid]
