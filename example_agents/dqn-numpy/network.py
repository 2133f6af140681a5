"""A network of rectified layers that learns with Adam, in numpy."""

import itertools

import numpy as np

RATE, BETA, BETA2, TINY, CLIP = 1e-3, 0.9, 0.999, 1e-8, 1.0


class Network:
    """Values of all actions, from states stacked on the first axis."""

    def __init__(self, sizes: list[int], rng: np.random.Generator) -> None:
        pairs = list(itertools.pairwise(sizes))
        self.weights = [rng.normal(0, (2 / m) ** 0.5, (m, n)).astype(np.float32) for m, n in pairs]
        self.weights += [np.zeros(n, np.float32) for _, n in pairs]
        self.layers = len(pairs)
        self.mean = [np.zeros_like(w) for w in self.weights]
        self.spread = [np.zeros_like(w) for w in self.weights]
        self.taken = 0

    def follow(self, other: "Network", share: float = 0.01) -> None:
        """Come a little nearer to the other's weights."""
        for weight, its in zip(self.weights, other.weights, strict=True):
            weight += share * (its - weight)

    def __call__(self, states: np.ndarray) -> np.ndarray:
        return self._layers(states)[-1]

    def _layers(self, states: np.ndarray) -> list[np.ndarray]:
        values = [states.astype(np.float32)]
        for layer in range(self.layers):
            value = values[-1] @ self.weights[layer] + self.weights[self.layers + layer]
            values.append(value if layer == self.layers - 1 else np.maximum(value, 0))
        return values

    def step(self, states: np.ndarray, actions: np.ndarray, targets: np.ndarray) -> None:
        """Bring the values of the actions taken nearer to their targets; large errors count as if they were 1."""
        values = self._layers(states)
        rows = np.arange(len(actions))
        error = np.zeros_like(values[-1])
        error[rows, actions] = np.clip(values[-1][rows, actions] - targets, -CLIP, CLIP) / len(actions)
        slopes: list[np.ndarray] = [np.empty(0)] * len(self.weights)
        for layer in reversed(range(self.layers)):
            slopes[layer], slopes[self.layers + layer] = values[layer].T @ error, error.sum(axis=0)
            error = (error @ self.weights[layer].T) * (values[layer] > 0)
        self._adam(slopes)

    def _adam(self, slopes: list[np.ndarray]) -> None:
        self.taken += 1
        rate = RATE * (1 - BETA2**self.taken) ** 0.5 / (1 - BETA**self.taken)
        for weight, slope, mean, spread in zip(self.weights, slopes, self.mean, self.spread, strict=True):
            mean += (1 - BETA) * (slope - mean)
            spread += (1 - BETA2) * (slope**2 - spread)
            weight -= rate * mean / (np.sqrt(spread) + TINY)
