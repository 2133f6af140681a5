"""Adapters with extras in real containers: what other systems saved or run, unmodified, and arithmetic without dialects."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evaluator.host.attempts import measurement_request as requests
from evaluator.host.deterministic import pinned_variables
from evaluator.host.digests.image_files import ROOT, build_context
from evaluator.host.docker import evaluator_image
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.loading.submission_folder import SubmissionFolder, read_folder
from evaluator.host.loading.yaml_loader import read_challenge
from evaluator.host.sandboxes.docker_sandbox import PYTHON
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.solo.evaluate_agent import Evaluation
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import Task
from evaluator.model.records.verdict import Verdict
from evaluator.sandbox.adapters import sb3
from tests.docker import onnx_file
from tests.docker.extras import torch_index
from tests.evaluations import evaluate, folder, on_the_same_seeds, order
from tests.evaluator import foreign_agents
from tests.hostile.arena import base
from tests.needs import every_night

pytestmark = pytest.mark.docker
TASK = Task(id="CartPole-v1", env="CartPole-v1", episodes=4)


# The first answer of a library comes late on a busy machine.
PATIENT = Limits(answer_seconds=60, start_seconds=300)


def played(chosen: SelectedSandbox, folder: SubmissionFolder, task: Task = TASK, **changes: object) -> Evaluation:
    """What came of it, with seeds that do not hang on the file."""
    wanted = order(folder, task, **{"limits": PATIENT, **changes})
    return evaluate(wanted, chosen)


@pytest.mark.parametrize(
    ("source", "same"),
    [(foreign_agents.EVALAI, foreign_agents.BLIND_START), (foreign_agents.EVALAI_LOOP, foreign_agents.AS_AGENT)],
    ids=["template", "loop"],
)
def test_an_agent_of_evalai_plays_what_the_same_agent_plays(container: SelectedSandbox, source: str, same: str) -> None:
    result = on_the_same_seeds(
        folder(source, foreign_agents.manifest("evalai-grpc")), TASK, container, limits=PATIENT
    ).result

    assert result.verdict is Verdict.OK, (result.message, result.log_tail)
    assert len(result.returns) == TASK.episodes
    assert result.returns == on_the_same_seeds(folder(same), TASK, container, limits=PATIENT).result.returns
    assert result.limits.memory_mib == 768
    assert "grpcio" in result.versions


@pytest.mark.attack(
    "message_that_is_a_pickle",
    family="models",
    tries="Is an agent of EvalAI whose message is a pickle that ends the process that opens it.",
    outcome="crashed: it was the agent's own",
)
def test_a_pickle_of_evalais_agent_is_opened_in_the_sandbox_only(docker: SelectedSandbox) -> None:
    """It ends the process that opens it: the sandbox's, and this test goes on."""
    result = played(docker, folder(foreign_agents.BOMB, foreign_agents.manifest("evalai-grpc"))).result

    assert result.verdict is Verdict.CRASHED
    assert "exit code 7" in result.message


def test_an_agent_of_evalai_may_take_long_to_start(docker: SelectedSandbox) -> None:
    """As long as any agent's imports may take; only then an answer's time begins."""
    slow = foreign_agents.EVALAI_LOOP.replace("import grpc\n", "import grpc\nimport time\ntime.sleep(4)\n")
    assert slow != foreign_agents.EVALAI_LOOP
    limits = Limits(answer_seconds=3, start_seconds=300)
    result = played(docker, folder(slow, foreign_agents.manifest("evalai-grpc")), limits=limits).result

    assert result.verdict is Verdict.OK, (result.message, result.log_tail)


def test_an_agent_of_evalai_that_never_calls_did_not_start(docker: SelectedSandbox) -> None:
    source = "import time\nwhile True:\n    time.sleep(1)\n"
    limits = Limits(answer_seconds=60, start_seconds=6)
    result = played(docker, folder(source, foreign_agents.manifest("evalai-grpc")), limits=limits).result

    assert (result.verdict, "6 s" in result.message) == (Verdict.TIMEOUT, True), result.message


def test_an_agent_of_evalai_that_fails_is_told_how(docker: SelectedSandbox) -> None:
    source = "raise ValueError('no weights here')\n"
    result = played(docker, folder(source, foreign_agents.manifest("evalai-grpc"))).result

    assert result.verdict is Verdict.CRASHED
    assert "exit code 1" in result.message
    assert "no weights here" in result.log_tail


def test_a_network_saved_as_onnx_plays_what_the_same_agent_plays(container: SelectedSandbox) -> None:
    weights = np.array([[0, 0], [0, 0], [-1, 1], [0, 0]], np.float32)
    files = {"model.onnx": onnx_file.linear(weights)}
    submission = folder("", foreign_agents.manifest("onnx", "model.onnx"), **files)
    result = on_the_same_seeds(submission, TASK, container, limits=PATIENT).result

    assert result.verdict is Verdict.OK, (result.message, result.log_tail)
    assert (
        result.returns == on_the_same_seeds(folder(foreign_agents.AS_AGENT), TASK, container, limits=PATIENT).result.returns
    )
    assert result.versions["onnxruntime"]


def test_a_file_that_is_no_network_is_told_so(docker: SelectedSandbox) -> None:
    result = played(docker, folder("", foreign_agents.manifest("onnx", "model.onnx"), **{"model.onnx": b"none"})).result

    assert (result.verdict, "model.onnx" in result.message) == (Verdict.CRASHED, True)


# What saves each model: its algorithm, the environment, and what keeps it tiny.
SMALL = {"policy_kwargs": {"net_arch": [4]}, "device": "cpu", "seed": 1}
ON_POLICY = {**SMALL, "n_steps": 16}
OFF_POLICY = {**SMALL, "learning_starts": 8, "batch_size": 8}
MODELS: dict[str, tuple[str, str, dict[str, object]]] = {
    "PPO": ("PPO", "CartPole-v1", {**ON_POLICY, "batch_size": 8}),
    "PPO of a Box": ("PPO", "Pendulum-v1", {**ON_POLICY, "batch_size": 8}),
    "A2C": ("A2C", "CartPole-v1", ON_POLICY),
    "A2C of a Box": ("A2C", "Pendulum-v1", ON_POLICY),
    "DQN": ("DQN", "CartPole-v1", OFF_POLICY),
    "SAC": ("SAC", "Pendulum-v1", OFF_POLICY),
    "TD3": ("TD3", "Pendulum-v1", OFF_POLICY),
    "DDPG": ("DDPG", "Pendulum-v1", OFF_POLICY),
}
# What every change plays.
USUAL = ("PPO", "SAC")
# Trains and saves them in the image that loads them.
MAKER = """
import base64, io, json, sys
import stable_baselines3

for name, (algorithm, environment, settings) in json.loads(sys.argv[1]).items():
    model = getattr(stable_baselines3, algorithm)("MlpPolicy", environment, **settings).learn(32)
    buffer = io.BytesIO()
    model.save(buffer)
    zipped = base64.b64encode(buffer.getvalue()).decode()
    print(json.dumps({"name": name, "zip": zipped,}), flush=True)
"""
# An agent of ours around the same file, which is told the class. It opens the zip as that library's own users do.
LOADED = """
import stable_baselines3

MODEL = stable_baselines3.{algorithm}.load("/submission/model.zip", device="cpu")

class Agent:
    def act_batch(self, observations):
        return MODEL.predict(observations, deterministic=True)[0]
"""


@pytest.fixture(scope="module")
def with_torch() -> Iterator[None]:
    """Torch's CPU build is to be had while the image is built."""
    with torch_index():
        yield


@pytest.fixture(scope="module")
def models(engine: Engine, with_torch: None) -> dict[str, bytes]:
    """Small models, saved by the same versions that load them."""
    image = evaluator_image.ensure_evaluator_image(engine, base(), lambda line: None, ("sb3",))
    command = [PYTHON, "-c", MAKER, json.dumps(MODELS)]
    made = engine._api.create_container(image, command, environment={"HOME": "/tmp"})["Id"]
    try:
        engine._api.start(made)
        engine._api.wait(made, timeout=300)
        output = engine._api.logs(made).decode()
    finally:
        engine._api.remove_container(made, force=True)
    saved = [json.loads(line) for line in output.splitlines() if line.startswith('{"name"')]
    assert [one["name"] for one in saved] == list(MODELS), output
    return {one["name"]: base64.b64decode(one["zip"]) for one in saved}


def with_model(model: bytes) -> SubmissionFolder:
    return folder("", foreign_agents.manifest("sb3", "model.zip"), **{"model.zip": model})


@pytest.mark.parametrize("container", ["docker", pytest.param("gvisor", marks=every_night("extras"))], indirect=True)
def test_a_model_of_stable_baselines3_plays(container: SelectedSandbox, models: dict[str, bytes]) -> None:
    submission = with_model(models["PPO"])
    result = played(container, submission).result

    assert result.verdict is Verdict.OK, (result.message, result.log_tail)
    assert len(result.returns) == TASK.episodes
    assert result.limits.memory_mib == 2048
    assert result.versions["torch"].endswith("+cpu")
    assert played(container, submission).result.returns == result.returns


@pytest.mark.parametrize("name", [one if one in USUAL else pytest.param(one, marks=every_night("extras")) for one in MODELS])
def test_a_model_of_every_algorithm_plays_what_it_plays_where_it_was_saved(
    name: str, models: dict[str, bytes], docker: SelectedSandbox
) -> None:
    """The zip does not name its algorithm; an agent that is told it does the same in every step."""
    algorithm, environment, _ = MODELS[name]
    task = Task(id=environment, env=environment, episodes=2, max_episode_steps=20)
    source = LOADED.format(algorithm=algorithm)
    agent = folder(source, b"name: Test\nalgorithm: none\nextras: [sb3]\n", **{"model.zip": models[name]})
    result, wanted = (
        on_the_same_seeds(one, task, docker, limits=PATIENT).result for one in (with_model(models[name]), agent)
    )

    assert [one.verdict for one in (result, wanted)] == [Verdict.OK] * 2, (result.message, wanted.message, wanted.log_tail)
    assert (result.returns, result.lengths) == (wanted.returns, wanted.lengths)


# Looks at its process after the adapter has loaded the model.
LOADED_BY_ADAPTER = """
import sys
from pathlib import Path
from evaluator.sandbox.adapters import sb3

Agent = sb3.of_file(Path("model.zip"))
import torch

assert torch.are_deterministic_algorithms_enabled()
assert torch.get_num_threads() == 1
loaded = {name.partition(".")[0] for name in sys.modules} | set(sys.modules)
assert not loaded & {"sympy", "torch._inductor", "torch._dynamo", "pandas", "matplotlib"}, loaded
"""


def test_a_model_is_loaded_without_a_compiler(models: dict[str, bytes], docker: SelectedSandbox) -> None:
    """Compilers of torch and what they import take as long as torch itself, and a policy needs none."""
    agent = folder(LOADED_BY_ADAPTER, b"name: Test\nalgorithm: none\nextras: [sb3]\n", **{"model.zip": models["PPO"]})
    result = played(docker, agent).result

    assert result.verdict is Verdict.OK, (result.message, result.log_tail)


@pytest.mark.parametrize("name", MODELS)
def test_the_algorithm_is_read_from_the_zip(name: str, models: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "model.zip").write_bytes(models[name])

    # DDPG is TD3 with one critic and no delay, and its zip says so itself.
    assert sb3.algorithm(tmp_path / "model.zip") == MODELS[name][0].replace("DDPG", "TD3")


@every_night("extras")
def test_the_example_of_ppo_learns(docker: SelectedSandbox, with_torch: None) -> None:
    """Its image is larger than a first look should wait for, so `make demo` leaves it out and it is run here."""
    task = read_challenge(ROOT / "challenge.yml").task("CartPole-v1-from-scratch")
    assert task is not None
    submission = read_folder(ROOT / "example_agents" / "with-extras" / "ppo-torch", SubmissionLimits())
    result = played(docker, submission, task).result

    assert (result.verdict, result.message) == (Verdict.OK, ""), result.log_tail
    assert result.script is not None
    assert result.script.claimed == pytest.approx(sum(result.returns) / 50)
    assert not result.script.notices
    assert sum(result.returns) / 50 > 400


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
    docker: SelectedSandbox,
    monkeypatch: pytest.MonkeyPatch,
    profile: dict[str, str],
    folder: SubmissionFolder,
    *,
    pinned: bool,
) -> tuple[float, ...]:
    """The returns of an agent where the machine looks like this."""
    environment = {**profile, **(pinned_variables() if pinned else {})}
    monkeypatch.setattr(requests, "pinned_variables", lambda: environment)
    task = Task(id="Pendulum-v1", env="Pendulum-v1", episodes=2)
    result = played(docker, folder, task).result
    assert result.verdict is Verdict.OK, (result.message, result.log_tail)
    return result.returns


def test_returns_are_the_same_bits_on_every_processor(docker: SelectedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = {under(docker, monkeypatch, profile, folder(NUMBERS), pinned=True) for profile in PROFILES}

    assert len(pinned) == 1


def test_without_pins_they_are_not(docker: SelectedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
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


@every_night("extras")
def test_torch_has_one_dialect_when_pinned(
    docker: SelectedSandbox, monkeypatch: pytest.MonkeyPatch, with_torch: None
) -> None:
    submission = folder(TORCH_NUMBERS, b"name: Test\nalgorithm: none\nextras: [sb3]\n")
    pinned = {under(docker, monkeypatch, profile, submission, pinned=True) for profile in TORCH_PROFILES}
    free = {under(docker, monkeypatch, profile, submission, pinned=False) for profile in TORCH_PROFILES}

    assert len(pinned) == 1
    assert len(free) > 1 or "avx2" not in Path("/proc/cpuinfo").read_text()


# Draws from torch's own generator, without seeding it; it is imported by its submodule, and late.
TORCH_DRAWS = """
class Agent:
    def act(self, observation):
        import torch.nn
        return int(torch.rand(1).item() > 0.5)
"""


@pytest.mark.parametrize("container", ["docker", pytest.param("gvisor", marks=every_night("extras"))], indirect=True)
def test_an_agent_that_draws_from_torch_chooses_the_same_again(container: SelectedSandbox, with_torch: None) -> None:
    submission = folder(TORCH_DRAWS, b"name: Test\nalgorithm: none\nextras: [torch]\n")
    one, other = (played(container, submission) for _ in range(2))

    assert [each.result.verdict for each in (one, other)] == [Verdict.OK] * 2, (one.result.message, one.result.log_tail)
    assert one.trace is not None
    assert (one.result.returns, one.trace) == (other.result.returns, other.trace)
    assert len(set(one.result.lengths)) > 1


@pytest.mark.parametrize(
    ("file", "extras", "beginning"),
    [
        ("extra-onnx.txt", ("onnx",), "the extras onnx cannot be had: the evaluator image cannot be built: "),
        ("requirements.txt", (), "the evaluator image cannot be built: "),
    ],
)
def test_a_build_that_fails_says_the_reason_of_pip(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, file: str, extras: tuple[str, ...], beginning: str
) -> None:
    files = build_context(extras)
    assert file in files
    # Pip refuses it before it asks any index.
    monkeypatch.setattr(evaluator_image, "build_context", lambda _: {**files, file: b"no requirement\n"})
    told: list[str] = []

    with pytest.raises(EngineError) as caught:
        evaluator_image.ensure_evaluator_image(engine, base(), told.append, extras)

    message = str(caught.value)
    assert message.startswith(f"{beginning}ERROR: Invalid requirement: 'no requirement'")
    assert "pip install" not in message, "the reason, not the command"
    assert len(message) < 400
    assert any("pip install" in line for line in told), "the whole output is told as it comes"
