"""Adapter for a network saved as ONNX; `entry` is the file.

Its one input takes a batch of observations. Its first output is an action of the space for each, or for a discrete space a
score for each action, of which the highest is taken, as in an export of Stable-Baselines3. In a game it gets the
position, and the highest score among the legal moves is taken.
"""

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from evaluator import wire
from evaluator.sandbox.adapters.find_agent import missing
from evaluator.sandbox.load_agent import AgentError

INPUT_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(uint8)": np.uint8,
}


def _session(path: Path) -> Any:
    try:
        onnxruntime = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise missing("onnx", "onnxruntime", "onnx") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def of_file(path: Path) -> type:
    """An Agent class around the network.

    Raises:
        AgentError: it has several inputs, or its input is not numbers.
    """
    session = _session(path)
    inputs = session.get_inputs()
    if len(inputs) != 1 or inputs[0].type not in INPUT_TYPES:
        message = f"{path.name} must have one input of numbers; it has {', '.join(f'{i.name}: {i.type}' for i in inputs)}"
        raise AgentError(wire.ErrorReason.INVALID, message)
    name, kind, shape = inputs[0].name, INPUT_TYPES[inputs[0].type], inputs[0].shape
    single = bool(shape) and shape[0] == 1

    class Agent:
        """One network for all episodes, without memory."""

        def __init__(self, action_space: Any) -> None:
            self._space = action_space

        def act_batch(self, observations: Any) -> Any:
            """An action for each observation, one by one if the network takes a batch of one."""
            legal = None
            if isinstance(observations, dict) and observations.keys() == {"observation", "action_mask"}:
                observations, legal = observations["observation"], np.asarray(observations["action_mask"], bool)
            batch = _numbers(observations, kind, len(shape))
            if single:
                masks = [None] * len(batch) if legal is None else [legal[i : i + 1] for i in range(len(batch))]
                parts = [session.run(None, {name: batch[i : i + 1]})[0] for i in range(len(batch))]
                return [self._choice(part, mask)[0] for part, mask in zip(parts, masks, strict=True)]
            return self._choice(session.run(None, {name: batch})[0], legal)

        def _choice(self, output: Any, legal: Any) -> Any:
            is_discrete = type(self._space).__name__ == "Discrete"
            if not is_discrete:
                return output.reshape(len(output), *self._space.shape)
            if output.ndim > 1 and output.shape[-1] == self._space.n and self._space.n > 1:
                scores = output.reshape(len(output), -1)
                if legal is not None:
                    least = np.finfo(np.float64).min
                    scores = np.where(legal, np.nan_to_num(scores.astype(np.float64), nan=least), -np.inf)
                return scores.argmax(axis=1) + self._space.start
            return output.reshape(len(output))

    return Agent


def _numbers(observations: Any, kind: Any, dimensions: int) -> Any:
    if isinstance(observations, (dict, tuple)):
        message = "the adapter onnx takes observations that are one array; this task has others"
        raise AgentError(wire.ErrorReason.INVALID, message)
    batch = np.ascontiguousarray(observations, kind)
    # A discrete observation is a number; most networks take a row with one number.
    return batch.reshape(len(batch), *(1,) * (dimensions - 1)) if batch.ndim == 1 else batch
