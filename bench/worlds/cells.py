"""What is measured: worlds, the policies that play them, and ways to play; a cell is one of each."""

import importlib.util
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

_HEAD = "import numpy as np\n"
_MLP = """
generator = np.random.default_rng({seed})
A = (generator.normal(size=({inputs}, 64)) / {inputs} ** 0.5).astype(np.float32)
B = (generator.normal(size=(64, 64)) / 8).astype(np.float32)
C = (generator.normal(size=(64, {outputs})) / 8).astype(np.float32)
def decide(x):
    y = np.tanh(np.tanh(x.astype(np.float32) @ A) @ B) @ C
    return {answer}
"""
_CHOICE, _FORCE = "y.argmax(-1)", "np.tanh(y).astype(np.float32)"
# The network of Mnih et al., 2013, on 80 × 80 pixels of one colour, with numpy alone.
_CONVOLUTION = """
generator = np.random.default_rng(0)
def weights(*shape):
    return (generator.normal(size=shape) / np.prod(shape[:-1]) ** 0.5).astype(np.float32)
A, B, C, D = weights(64, 16), weights(256, 32), weights(32 * 64, 256), weights(256, 4)
def windows(x, size, stride):
    view = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(1, 2))[:, ::stride, ::stride]
    return view.reshape(*view.shape[:3], -1)
def decide(x):
    pixels = x.reshape(-1, 210, 160, 3)[:, 34:194:2, ::2, 0].astype(np.float32)[..., None] / 255
    y = np.maximum(windows(pixels, 8, 4) @ A, 0)
    y = np.maximum(windows(y, 4, 2) @ B, 0)
    y = np.maximum(y.reshape(len(y), -1) @ C, 0) @ D
    return y.argmax(-1).reshape(x.shape[:-3])
"""
_BATCHED = "class Agent:\n    def act_batch(self, observations):\n        return decide(observations)\n"
_SINGLE = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return {answer}\n"


@dataclass(frozen=True, kw_only=True)
class World:
    """An environment and its policies; each is a function `decide` of one observation or of many, stacked."""

    name: str
    env_id: str
    needs: str
    """The package that it needs beside Gymnasium, as it is imported."""
    inputs: int
    outputs: int
    rule: str
    is_discrete: bool = True
    pixels: bool = False
    seed: int = 0
    """Of the MLP's weights."""

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of its policies."""
        return ("rule", "convolution") if self.pixels else ("rule", "MLP")

    def source(self, policy: str, *, batched: bool) -> str:
        """An agent's source."""
        answer = "int(decide(observation))" if self.is_discrete else "decide(observation)"
        return _HEAD + self._decide(policy) + (_BATCHED if batched else _SINGLE.format(answer=answer))

    def _decide(self, policy: str) -> str:
        if policy == "rule":
            return f"def decide(x):\n    return {self.rule}\n"
        if policy == "convolution":
            return _CONVOLUTION
        return _MLP.format(
            inputs=self.inputs, outputs=self.outputs, seed=self.seed, answer=_CHOICE if self.is_discrete else _FORCE
        )

    def lack(self) -> str | None:
        """The package that is missing here; None if it can be played."""
        return None if importlib.util.find_spec(self.needs) else self.needs


WORLDS = (
    World(
        name="CartPole", env_id="CartPole-v1", needs="gymnasium", inputs=4, outputs=2,
        rule="(x[..., 2] + x[..., 3] > 0).astype(np.int64)",
        # These weights balance the pole. Others drop it after nine steps, so that little but resets is measured.
        seed=72,
    ),
    World(
        name="LunarLander", env_id="LunarLander-v3", needs="Box2D", inputs=8, outputs=4,
        rule="np.where(x[..., 3] < -0.15, 2, np.where(x[..., 4] > 0.1, 3, np.where(x[..., 4] < -0.1, 1, 0)))",
    ),
    World(
        name="BipedalWalker", env_id="BipedalWalker-v3", needs="Box2D", inputs=24, outputs=4, is_discrete=False,
        rule="np.clip(-x[..., [4, 6, 9, 11]], -1, 1).astype(np.float32)",
    ),
    World(
        name="HalfCheetah", env_id="HalfCheetah-v5", needs="mujoco", inputs=17, outputs=6, is_discrete=False,
        rule="np.clip(-x[..., 2:8], -1, 1).astype(np.float32)",
    ),
    World(
        name="Breakout", env_id="ale_py:ALE/Breakout-v5", needs="ale_py", inputs=0, outputs=4, pixels=True,
        rule="np.where(x[..., 100:188, 8:152, 0].max(-2).argmax(-1) > x[..., 190, 8:152, 0].argmax(-1), 2, 3)",
    ),
)  # fmt: skip
BY_NAME = {world.name: world for world in WORLDS}

BARE = "bare loop"
SANDBOXES = ("process", "docker", "gvisor")
LOCK_STEP = "lock-step"
# How many episodes are played at once.
LANES = {"one lane": 1, LOCK_STEP: 64}
# A call for each move, as other systems do it; measured with the rule only, since the policy is not what costs.
CALLS = {"gRPC, pickle": "grpc", "HTTP, JSON": None, "JSON lines, pipe": None}
VECTORS = {"SyncVectorEnv, 64": 64, "AsyncVectorEnv, 8": 8}
SB3 = {"SB3 evaluate_policy, 1": 1, "SB3 evaluate_policy, 8": 8, "SB3 evaluate_policy, 64": 64}
CONTAINED = tuple(f"{kind}, {lanes}" for kind in SANDBOXES for lanes in LANES)
WAYS = (BARE, *VECTORS, *SB3, *CONTAINED, *CALLS)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A world, a policy and a way, and how much is played."""

    world: str
    policy: str
    way: str
    episodes: int
    cap: int
    """Steps after which an episode is truncated."""

    @property
    def is_batched(self) -> bool:
        """Whether the agent is asked about many observations at once."""
        return self.way in VECTORS or self.way in SB3 or self.way.endswith(LOCK_STEP)

    def source(self) -> str:
        """The agent."""
        return BY_NAME[self.world].source(self.policy, batched=self.is_batched)

    def to_json(self) -> str:
        """For the program that plays it."""
        return json.dumps(asdict(self))


def cells(worlds: Sequence[str], ways: Sequence[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """World, policy and the ways to play them, the bare loop first."""
    for name in worlds:
        for policy in BY_NAME[name].policies:
            chosen = tuple(way for way in ways if way not in (BARE, *CALLS) or (way in CALLS and policy == "rule"))
            yield name, policy, (BARE, *chosen)


def load(source: str) -> Any:
    """The agent of a source, in this process."""
    names: dict[str, object] = {"np": np}
    exec(source, names)
    return names["Agent"]()  # type: ignore[operator]
