"""`import pullrank`, as notebook.md has it: what a notebook gets is what the command records."""

import importlib.util
import json
from pathlib import Path

import pytest

import pullrank
from scripts.console import CommandError
from tests.scripts.checkouts import game_board, run, submit
from tests.weights_server import WeightsServer, gives, serving

RULE = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return int(observation[2] > 0)\n"


@pytest.fixture
def board(tmp_path: Path) -> Path:
    root = tmp_path / "board"
    root.mkdir()
    return game_board(root)


def rule(observation: list[float]) -> int:
    return int(observation[2] > 0)


def test_a_folder_gives_the_recorded_numbers(board: Path) -> None:
    folder = submit(board, "rule", RULE, "[CartPole-v1]")
    assert run(board, "evaluate", folder, "--sandbox", "process")[0] == 0
    (recorded,) = (json.loads(path.read_text()) for path in (board / "results/CartPole-v1/alice").rglob("*.json"))

    evaluated = pullrank.evaluate(board / folder, "CartPole-v1", board=board, sandbox="process")

    assert list(evaluated.returns) == recorded["returns"]
    assert list(evaluated.seeds) == recorded["seeds"]
    frames = pullrank.replay(evaluated, 1)
    assert len(frames) == evaluated.lengths[1] + 1
    assert frames[0].shape[2] == 3


def test_functions_and_classes_are_compared_on_equal_episodes(board: Path) -> None:
    class Left:
        def act(self, observation: object) -> int:
            return 0

    good, bad = (pullrank.evaluate(agent, "CartPole-v1", board=board) for agent in (rule, Left))
    difference = pullrank.compare(good, bad)

    assert good.seeds == bad.seeds
    assert difference.is_paired
    assert difference.low <= difference.difference == good.score - bad.score <= difference.high
    assert len(pullrank.replay(bad, 0)) == bad.lengths[0] + 1
    with pytest.raises(CommandError, match="no episode 2"):
        pullrank.replay(bad, 2)


def test_a_failed_agent_says_why(board: Path) -> None:
    folder = submit(board, "broken", "class Agent:\n    def act(self, o):\n        return 7\n", "[CartPole-v1]")

    with pytest.raises(CommandError, match=r"protocol_error"):
        pullrank.evaluate(board / folder, "CartPole-v1", board=board, sandbox="process")


@pytest.mark.parametrize("place", ["http://owner.github.io/board/", "file:///srv/board", "no such folder"])
def test_a_place_without_a_board_is_named(place: str) -> None:
    with pytest.raises(CommandError, match=rf"^{place}: is neither a folder nor a site's https address"):
        pullrank.load_board(place)


@pytest.mark.skipif(importlib.util.find_spec("pandas") is not None, reason="says what happens without pandas")
def test_without_pandas_one_line_says_what_to_install(board: Path) -> None:
    with pytest.raises(CommandError, match="pip install pandas"):
        pullrank.evaluate(rule, "CartPole-v1", board=board).to_frame()


@pytest.mark.attack(
    "board_of_nonsense", family="pages", outcome="refused in one line, or without those rows",
    tries="Serves a board whose JSON is none, is nested without end, or has rows of other types.",
)  # fmt: skip
@pytest.mark.parametrize("content", [b"{", b"[" * 200_000, b'[{"id": 7}, 3, {"id": "x"}]', b"NaN", b"{}"])
def test_a_hostile_board_is_no_traceback(tmp_path: Path, content: bytes) -> None:
    from scripts.notebook import analysis

    with serving(tmp_path) as server:
        server.pages["/api/tasks.json"] = gives(content)
        server.pages["/api/tasks/x/leaderboard.json"] = gives(b'{"rows": [1, []]}')
        rows = analysis._site_rows("https://models.example", server.https())
        if content[:1] in b"[{" and content.endswith((b"]", b"{}")):
            assert list(rows) == []
        else:
            with pytest.raises(CommandError, match=r"is not a board's JSON"):
                list(rows)


def test_a_board_is_read_from_its_site(tmp_path: Path) -> None:
    from scripts.notebook import analysis

    row = {"place": 1, "login": "alice", "agent": "a", "estimate": {"score": 2.0, "low": 1.0, "high": 3.0}}
    with serving(tmp_path) as server:
        serve_board(server, row)
        (read,) = analysis._site_rows("https://models.example/", server.https())

    assert (read["task"], read["place"], read["score"], read["high"]) == ("ALE/Pong-v5", 1, 2.0, 3.0)


@pytest.mark.attack(
    "board_with_commands_to_a_terminal", family="pages", outcome="a mark in place of what commands or hides",
    tries="Serves names with commands to a terminal, which obeys them when the table is printed.",
)  # fmt: skip
def test_what_a_site_says_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    from scripts.notebook import analysis

    with serving(tmp_path) as server:
        nested = {"place": ["\x1b[2J"], "agent": {"\x1b[2J": 1}, "estimate": {"score": [["\u202ecod"]], "low": None}}
        serve_board(server, {"login": "alice\x1b[2J", "name": "\u202ecod", "episodes": 1, **nested})
        (read,) = analysis._site_rows("https://models.example/", server.https())

    assert (read["login"], read["name"], read["episodes"], read["low"]) == ("alice\ufffd[2J", "\ufffdcod", 1, None)
    assert {type(cell) for cell in read.values()} <= {str, int, float, type(None)}


def serve_board(server: WeightsServer, row: dict[str, object]) -> None:
    server.pages["/api/tasks.json"] = gives(json.dumps([{"id": "ALE/Pong-v5", "leaderboard": "x"}]).encode())
    server.pages["/api/tasks/ALE%2FPong-v5/leaderboard.json"] = gives(json.dumps({"rows": [row, 3]}).encode())
