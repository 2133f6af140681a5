"""What a notebook hands on to other tools, read back by those tools themselves."""

import importlib.util
import time
from pathlib import Path

import pytest

import pullrank
from scripts.notebook.analysis import EvaluatedAgent
from tests.needs import lacking
from tests.scripts.checkouts import game_board


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
