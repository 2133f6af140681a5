"""Learns within the match what the other throws after which pair of throws, and plays what beats it."""

import numpy as np

KINDS, NOT_YET = 3, 3


class Agent:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.seen = np.zeros((KINDS, KINDS, KINDS))  # my throw, his throw, what he threw next: how often
        self.thrown: list[tuple[int, int]] = []  # mine and his of each round
        self.last = NOT_YET

    def act(self, observation: int) -> int:
        if observation != NOT_YET:
            if self.thrown:
                self.seen[(*self.thrown[-1], observation)] += 1
            self.thrown.append((self.last, observation))
        self.last = self.counter()
        return self.last

    def counter(self) -> int:
        """What beats the likeliest throw; by lot where several are equally likely."""
        often = self.seen[self.thrown[-1]] if self.thrown else np.zeros(KINDS)
        expected = self.rng.choice(np.flatnonzero(often == often.max()))
        return int(expected + 1) % KINDS
