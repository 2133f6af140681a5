"""`import pullrank`, as notebook.md has it: what a notebook gets is what the command records."""

import importlib.util
import json
import time
from pathlib import Path

import pytest

import pullrank
from scripts.console import CommandError
from scripts.notebook.analysis import EvaluatedAgent
from tests.needs import lacking
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


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    """The packages of requirements/notebook.txt, which `make notebook` installs."""
    if any(importlib.util.find_spec(name) is None for name in ("pandas", "tensorboard", "wandb", "minari", "h5py")):
        lacking("the packages of requirements/notebook.txt: 'make notebook' installs them", "NOTEBOOK")


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedAgent:
    root = game_board(tmp_path_factory.mktemp("board"))
    return pullrank.evaluate(lambda observation: int(observation[2] > 0), "CartPole-v1", board=root)


def test_a_frame_has_a_row_for_each_episode(evaluated: EvaluatedAgent) -> None:
    frame = evaluated.to_frame()

    assert list(frame.columns) == ["agent", "task", "episode", "seed", "return", "length"]
    assert frame["return"].tolist() == list(evaluated.returns)
    assert frame["return"].mean() == evaluated.score


def test_tensorboard_reads_every_episode(evaluated: EvaluatedAgent, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util import tensor_util

    pullrank.to_tensorboard(evaluated, tmp_path)
    (folder,) = tmp_path.iterdir()
    read = EventAccumulator(str(folder))
    read.Reload()

    def values(tag: str) -> list[float]:
        return [float(tensor_util.make_ndarray(event.tensor_proto)) for event in read.Tensors(tag)]

    assert values("episode/return") == pytest.approx(list(evaluated.returns))
    assert values("episode/length") == pytest.approx(list(evaluated.lengths))
    assert values("score") == pytest.approx([evaluated.score])


def test_wandb_keeps_a_run_offline(evaluated: EvaluatedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))

    pullrank.to_wandb(evaluated, "board", mode="offline", dir=str(tmp_path))

    (run,) = tmp_path.rglob("run-*.wandb")
    # wandb's own process writes the file, and is not always done with it when finish() returns.
    until = time.monotonic() + 60
    while b"return" not in (content := run.read_bytes()) and time.monotonic() < until:
        time.sleep(0.05)
    assert b"CartPole-v1" in content
    assert b"return" in content


def test_minari_gives_the_episodes_back(evaluated: EvaluatedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    import minari

    pullrank.to_minari(evaluated, "board/cartpole-v0")
    episodes = list(minari.load_dataset("board/cartpole-v0").iterate_episodes())

    assert [float(episode.rewards.sum()) for episode in episodes] == list(evaluated.returns)
    assert [len(episode.actions) for episode in episodes] == list(evaluated.lengths)
    assert [len(episode.observations) for episode in episodes] == [length + 1 for length in evaluated.lengths]
    for episode, actions in zip(episodes, evaluated.actions, strict=True):
        assert episode.actions.tolist() == actions[0].tolist()
