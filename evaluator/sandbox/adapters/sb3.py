"""Runs a model that Stable-Baselines3 saved: `entry` is the zip, the class is read from it.

The zip holds pickled objects, which torch and cloudpickle load here, inside the sandbox, and nowhere else.
"""

import importlib
import json
import zipfile
from pathlib import Path
from typing import Any

from evaluator import wire
from evaluator.sandbox.adapters.foreign import missing
from evaluator.sandbox.load_agent import AgentError

# Optimisers and buffers are of no use here, and a schedule is often a function of another Python's byte code.
IGNORED = {
    "lr_schedule": lambda _: 0.0,
    "clip_range": lambda _: 0.0,
    "learning_rate": 0.0,
    "exploration_schedule": lambda _: 0.0,
}
# By what only they save: the zip does not name its algorithm.
MARKS = (
    ("policy_delay", "TD3"), ("ent_coef_optimizer", "SAC"), ("target_entropy", "SAC"), ("exploration_fraction", "DQN"),
    ("n_epochs", "PPO"), ("gae_lambda", "A2C"),
)  # fmt: skip


def algorithm(path: Path) -> str:
    """Which algorithm saved the zip.

    Raises:
        AgentError: it is no model of Stable-Baselines3's.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        message = f"{path.name} is not a model saved by Stable-Baselines3; save one with model.save('model')"
        raise AgentError(wire.Trouble.INVALID, message) from error
    found = next((name for mark, name in MARKS if mark in data), None)
    if found is None:
        message = f"{path.name} is of none of PPO, A2C, DQN, SAC, TD3 and DDPG; save one of these"
        raise AgentError(wire.Trouble.INVALID, message)
    return found


def of_file(path: Path) -> type:
    """An Agent class around the saved policy."""
    name = algorithm(path)
    try:
        stable_baselines3, torch = (importlib.import_module(name) for name in ("stable_baselines3", "torch"))
    except ImportError as error:
        raise missing("sb3", "stable-baselines3", "sb3") from error
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    model = getattr(stable_baselines3, name).load(path, device="cpu", custom_objects=IGNORED)

    class Agent:
        """One policy for all episodes: it remembers nothing."""

        def act_batch(self, observations: Any) -> Any:
            """What the policy does without exploring."""
            return model.predict(observations, deterministic=True)[0]

    return Agent
