"""Fetched weights in a container: there, with the right bytes, and not to be written to."""

import io
from pathlib import Path

import numpy as np
import pytest

from evaluator.host.loading.weights_cache import WeightsCache
from evaluator.host.loading.yaml_loader import dump_yaml
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.model.records.verdict import Verdict
from tests.hostile.arena import order_of, play, write_agent
from tests.weights_server import weights

pytestmark = pytest.mark.docker
SOURCE = """import numpy as np


class Agent:
    def __init__(self):
        self.gains = np.load("nets/gains.npy")
        try:
            open("nets/gains.npy", "r+b")
        except OSError as error:
            print("not to be written:", error.errno)

    def act(self, observation):
        return int(self.gains @ observation > 0)
"""


@pytest.mark.parametrize("kind", ["docker", "gvisor"])
def test_an_agent_plays_with_weights_that_lie_outside_git(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox: SelectedSandbox = request.getfixturevalue(kind)
    file = io.BytesIO()
    np.save(file, np.array([0.1, 0.5, 2.0, 1.0]))
    gains = weights(file.getvalue(), file="nets/gains.npy")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert WeightsCache().add(gains, [file.getvalue()])
    manifest = {"name": "Fetched", "algorithm": "a line", "tasks": ["CartPole-v1"], "weights": [gains.model_dump()]}
    folder = write_agent(tmp_path / "a", SOURCE, dump_yaml(manifest))

    result = play(order_of(folder), sandbox).result

    assert result.verdict is Verdict.OK, result.message
    assert min(result.returns) > 200
    assert "not to be written: 30" in result.log_tail or "not to be written: 13" in result.log_tail
    assert sorted(path.name for path in folder.iterdir()) == ["agent.py", "submission.yml"]
