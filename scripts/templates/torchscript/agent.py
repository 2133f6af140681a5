"""A network saved by torch.jit.save; it takes a batch of observations."""

from pathlib import Path

import numpy as np
import torch

torch.set_num_threads(1)
NETWORK = torch.jit.load(Path(__file__).parent / "model.pt", map_location="cpu").eval()


class Agent:
    def __init__(self, action_space):
        self.space = action_space

    def act_batch(self, observations):
        with torch.no_grad():
            output = NETWORK(torch.as_tensor(np.asarray(observations, np.float32)))
        output = (output[0] if isinstance(output, tuple) else output).numpy()
        if self.space.shape:
            return output.reshape(len(output), *self.space.shape)
        # For a discrete space the network gives the action's number, or a score for each action.
        return (output.argmax(axis=-1) if output.ndim > 1 else output.astype(int)) + self.space.start
