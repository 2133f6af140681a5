"""Adapters with extras in real containers: what other systems saved or run, unmodified, and arithmetic without dialects."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from evaluator.host import evaluate as evaluating
from evaluator.host import image
from evaluator.host.choose import Chosen
from evaluator.host.container import Engine
from evaluator.host.evaluate import Evaluation, evaluate
from evaluator.host.folder import Folder
from evaluator.host.jail import PYTHON
from evaluator.host.pins import pinned_environment
from evaluator.model.challenge import Task
from evaluator.model.verdict import Verdict
from tests.docker import onnx_file
from tests.docker.extras import torch_index
from tests.evaluator import foreign
from tests.hostile.arena import base
from tests.rooms import folder, order

pytestmark = pytest.mark.docker
TASK = Task(id="CartPole-v1", env="CartPole-v1", episodes=4)


def played(chosen: Chosen, found: Folder, task: Task = TASK, **changes: object) -> Evaluation:
    """What came of it, with seeds that do not hang on the file."""
    wanted = order(found, task, **changes)
    return evaluate(wanted, chosen.kind, chosen.opener, lambda: datetime(2026, 1, 2, tzinfo=UTC), lambda done: None)


@pytest.fixture(params=["docker", "gvisor"])
def container(request: pytest.FixtureRequest) -> Chosen:
    """Both container sandboxes."""
    found: Chosen = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("source", [foreign.EVALAI, foreign.EVALAI_LOOP], ids=["template", "loop"])
def test_an_agent_of_evalai_plays(container: Chosen, source: str) -> None:
    result = played(container, folder(source, foreign.manifest("evalai-grpc")), TASK).result

    assert result.verdict is Verdict.OK, (result.message, result.log_tail)
    assert len(result.returns) == TASK.episodes
    assert min(result.returns) >= 20  # better than always the same side
    assert result.limits.memory_mib == 768
    assert "grpcio" in result.versions


def test_a_pickle_of_evalais_agent_is_opened_in_the_sandbox_only(docker: Chosen) -> None:
    """It ends the process that opens it: the sandbox's, and this test goes on."""
    result = played(docker, folder(foreign.BOMB, foreign.manifest("evalai-grpc"))).result

    assert result.verdict is Verdict.CRASHED
    assert "exit code 7" in result.message


def test_an_agent_of_evalai_that_fails_is_told_how(docker: Chosen) -> None:
    source = "raise ValueError('no weights here')\n"
    result = played(docker, folder(source, foreign.manifest("evalai-grpc"))).result

    assert result.verdict is Verdict.CRASHED
    assert "exit code 1" in result.message
    assert "no weights here" in result.log_tail


def test_a_network_saved_as_onnx_plays(container: Chosen) -> None:
    weights = np.array([[0, 0], [0, 0], [-1, 1], [0, 0]], np.float32)
    files = {"model.onnx": onnx_file.linear(weights)}
    found = folder("", foreign.manifest("onnx", "model.onnx"), **files)
    result = played(container, found).result

    assert result.verdict is Verdict.OK, (result.message, result.log_tail)
    assert all(20 <= value <= 120 for value in result.returns)
    assert result.versions["onnxruntime"]


def test_a_file_that_is_no_network_is_told_so(docker: Chosen) -> None:
    result = played(docker, folder("", foreign.manifest("onnx", "model.onnx"), **{"model.onnx": b"none"})).result

    assert (result.verdict, "model.onnx" in result.message) == (Verdict.CRASHED, True)


# Makes a model in the image that loads it.
MAKER = """
import base64, io
import gymnasium
from gymnasium import spaces
import numpy as np
from stable_baselines3 import PPO

class Still(gymnasium.Env):
    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        return np.zeros(4, np.float32), {}

buffer = io.BytesIO()
PPO("MlpPolicy", Still(), seed=1, device="cpu", policy_kwargs={"net_arch": [4]}, n_steps=8, batch_size=8).save(buffer)
print("<" + base64.b64encode(buffer.getvalue()).decode() + ">", flush=True)
"""


@pytest.fixture(scope="module")
def with_torch() -> Iterator[None]:
    """Torch's CPU build is to be had while the image is built."""
    with torch_index():
        yield


@pytest.fixture(scope="module")
def model(engine: Engine, with_torch: None) -> bytes:
    """A small model, saved by the same versions that load it."""
    found = image.ensure_with(engine, base(), lambda line: None, ("sb3",))
    made = engine._api.create_container(found, [PYTHON, "-c", MAKER], environment={"HOME": "/tmp"})["Id"]
    try:
        engine._api.start(made)
        engine._api.wait(made, timeout=120)
        said = engine._api.logs(made).decode()
    finally:
        engine._api.remove_container(made, force=True)
    assert "<" in said, said
    return base64.b64decode(said.rpartition("<")[2].partition(">")[0])


def test_a_model_of_stable_baselines3_plays(container: Chosen, model: bytes) -> None:
    found = folder("", foreign.manifest("sb3", "model.zip"), **{"model.zip": model})
    result = played(container, found).result

    assert result.verdict is Verdict.OK, (result.message, result.log_tail)
    assert len(result.returns) == TASK.episodes
    assert result.limits.memory_mib == 2048
    assert result.versions["torch"].endswith("+cpu")
    assert played(container, found).result.returns == result.returns


# Sums whose order is the kernels' choice, in actions that are floats.
NUMBERS = """
import numpy as np

WEIGHTS = np.random.default_rng(1).normal(size=(3, 257)).astype(np.float32)
OUT = np.random.default_rng(2).normal(size=(257, 257)).astype(np.float32)

class Agent:
    memoryless = True
    def act(self, observation):
        hidden = np.tanh(observation @ WEIGHTS) @ OUT
        return np.array([np.exp(np.sin(hidden)).sum() % 4 - 2], np.float32)
"""
PROFILES: tuple[dict[str, str], ...] = (
    {},
    {"OPENBLAS_CORETYPE": "Haswell"},
    {"OPENBLAS_CORETYPE": "Sandybridge", "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX"},
    {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX2 FMA3"},
)


def under(
    docker: Chosen, monkeypatch: pytest.MonkeyPatch, profile: dict[str, str], found: Folder, *, pinned: bool
) -> tuple[float, ...]:
    """The returns of an agent where the machine looks like this."""
    environment = {**profile, **(pinned_environment() if pinned else {})}
    monkeypatch.setattr(evaluating, "pinned_environment", lambda: environment)
    task = Task(id="Pendulum-v1", env="Pendulum-v1", episodes=2)
    result = played(docker, found, task).result
    assert result.verdict is Verdict.OK, (result.message, result.log_tail)
    return result.returns


def test_returns_are_the_same_bits_on_every_processor(docker: Chosen, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = {under(docker, monkeypatch, profile, folder(NUMBERS), pinned=True) for profile in PROFILES}

    assert len(pinned) == 1


def test_without_pins_they_are_not(docker: Chosen, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the pins are for; a processor without AVX2 has one dialect only."""
    if "avx2" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("needs a processor with AVX2 to have two dialects")
    free = {under(docker, monkeypatch, profile, folder(NUMBERS), pinned=False) for profile in PROFILES[1:]}

    assert len(free) > 1


TORCH_NUMBERS = """
import torch

torch.manual_seed(1)
NET = torch.nn.Sequential(torch.nn.Linear(3, 257), torch.nn.Tanh(), torch.nn.Linear(257, 129), torch.nn.Softmax(1))
WEIGHTS = torch.randn(129) * 9

class Agent:
    memoryless = True
    def act_batch(self, observations):
        with torch.no_grad():
            return ((NET(torch.tensor(observations)) @ WEIGHTS) % 4 - 2).numpy()[:, None]
"""
TORCH_PROFILES: tuple[dict[str, str], ...] = (
    {},
    {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "SSE4_2", "ONEDNN_MAX_CPU_ISA": "SSE41"},
)


def test_torch_has_one_dialect_when_pinned(docker: Chosen, monkeypatch: pytest.MonkeyPatch, with_torch: None) -> None:
    found = folder(TORCH_NUMBERS, b"name: Test\nalgorithm: none\nextras: [sb3]\n")
    pinned = {under(docker, monkeypatch, profile, found, pinned=True) for profile in TORCH_PROFILES}
    free = {under(docker, monkeypatch, profile, found, pinned=False) for profile in TORCH_PROFILES}

    assert len(pinned) == 1
    assert len(free) > 1 or "avx2" not in Path("/proc/cpuinfo").read_text()
