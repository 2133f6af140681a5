"""Adapter for models saved by Stable-Baselines3; `entry` is the zip, which shows the algorithm.

Its pickled objects are loaded only here, inside the sandbox.
"""

import importlib
import json
import zipfile
from pathlib import Path
from typing import Any

from evaluator import wire
from evaluator.sandbox.adapters.find_agent import missing
from evaluator.sandbox.load_agent import AgentError

# Schedules are not needed, and are often functions in another Python version's byte code.
REPLACED_OBJECTS = {
    "lr_schedule": lambda _: 0.0,
    "clip_range": lambda _: 0.0,
    "learning_rate": 0.0,
    "exploration_schedule": lambda _: 0.0,
}
# The zip does not name its algorithm; these fields show it, checked in this order.
ALGORITHM_FIELDS = (
    ("policy_delay", "TD3"), ("ent_coef_optimizer", "SAC"), ("target_entropy", "SAC"), ("exploration_fraction", "DQN"),
    ("n_epochs", "PPO"), ("gae_lambda", "A2C"),
)  # fmt: skip


def algorithm(path: Path) -> str:
    """The algorithm that saved the zip; raises AgentError where it is not a model of Stable-Baselines3."""
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        message = f"{path.name} is not a model saved by Stable-Baselines3; save one with model.save('model')"
        raise AgentError(wire.ErrorReason.INVALID, message) from error
    algorithm_name = next((name for field, name in ALGORITHM_FIELDS if field in data), None)
    if algorithm_name is None:
        message = f"{path.name} is of none of PPO, A2C, DQN, SAC, TD3 and DDPG; save one of these"
        raise AgentError(wire.ErrorReason.INVALID, message)
    return algorithm_name


def _spare_compiler(torch: Any) -> None:
    """Keep torch from importing its compiler: with sympy it takes 1.2 of the start's 2.9 processor seconds, as measured.

    A model is loaded with its optimizer, whose methods are kept from being compiled, for which torch imports the compiler
    unless it finds the function that it would make here (`torch/_compile.py`). Another version of torch may ignore this.
    """
    for name in ("add_param_group", "load_state_dict"):
        function = getattr(getattr(torch.optim.Optimizer, name), "__wrapped__", None)
        if function is not None:
            function.__dict__.setdefault("__dynamo_disable", function)


def of_file(path: Path) -> type:
    """An Agent class around the saved policy."""
    name = algorithm(path)
    try:
        stable_baselines3, torch = (importlib.import_module(name) for name in ("stable_baselines3", "torch"))
    except ImportError as error:
        raise missing("sb3", "stable-baselines3", "sb3") from error
    torch.set_num_threads(1)
    # `use_deterministic_algorithms` sets the same, and imports torch's compiler.
    torch.set_deterministic_debug_mode("error")
    _spare_compiler(torch)
    model = getattr(stable_baselines3, name).load(path, device="cpu", custom_objects=REPLACED_OBJECTS)

    class Agent:
        """One policy for all episodes, without memory."""

        def act_batch(self, observations: Any) -> Any:
            """The policy's deterministic actions."""
            return model.predict(observations, deterministic=True)[0]

    return Agent
