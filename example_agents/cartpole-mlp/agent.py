"""A neural network of one hidden layer in plain numpy, asked about all episodes at once; trained by train.py."""

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
HIDDEN = 16


class Network:
    """4 numbers in, 16 hidden units, one number out."""

    size = 6 * HIDDEN + 1

    def __init__(self, hidden: Floats, hidden_bias: Floats, out: Floats, out_bias: Floats) -> None:
        self.hidden, self.hidden_bias, self.out, self.out_bias = hidden, hidden_bias, out, out_bias

    @classmethod
    def from_vector(cls, vector: Floats) -> Self:
        """Cut a flat vector into the layers' weights."""
        hidden, hidden_bias, out, out_bias = np.split(vector, [4 * HIDDEN, 5 * HIDDEN, 6 * HIDDEN])
        return cls(hidden.reshape(4, HIDDEN), hidden_bias, out, out_bias)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            return cls(**stored)

    def save(self, path: Path) -> None:
        """Write the layers as named arrays."""
        np.savez(path, **vars(self))

    def __call__(self, inputs: NDArray[np.float32]) -> Floats:
        return np.tanh(inputs @ self.hidden + self.hidden_bias) @ self.out + self.out_bias


class Agent:
    network = Network.load(Path(__file__).with_name("weights.npz"))

    def act_batch(self, observations: NDArray[np.float32]) -> NDArray[np.int64]:
        return (self.network(observations) > 0).astype(np.int64)

    def act(self, observation: NDArray[np.float32]) -> int:
        return int(self.act_batch(observation[None])[0])
