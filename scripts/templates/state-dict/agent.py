"""Layers saved by torch.save, as CleanRL does; only numbers are loaded, no code."""

from pathlib import Path

import numpy as np
import torch

LAYERS = []
ACTIVATION = torch.tanh
SQUASHED = False  # whether the output is tanh(…) * action_scale + action_bias

torch.set_num_threads(1)
SAVED = torch.load(Path(__file__).parent / "model.pt", map_location="cpu", weights_only=True)
SAVED = SAVED[0] if isinstance(SAVED, tuple | list) else SAVED


class Agent:
    def __init__(self, action_space):
        self.space = action_space

    def act_batch(self, observations):
        x = torch.as_tensor(np.asarray(observations, np.float32)).reshape(len(observations), -1)
        for name in LAYERS:
            x = torch.nn.functional.linear(x, SAVED[f"{name}.weight"], SAVED[f"{name}.bias"])
            x = ACTIVATION(x) if name != LAYERS[-1] else x
        if SQUASHED:
            x = torch.tanh(x) * SAVED["action_scale"] + SAVED["action_bias"]
        if self.space.shape:
            return x.numpy().reshape(len(x), *self.space.shape)
        return x.numpy().argmax(axis=1) + self.space.start
