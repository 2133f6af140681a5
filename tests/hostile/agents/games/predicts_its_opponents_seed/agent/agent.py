"""Knows its opponent's source and tries to play its moves in advance, from seeds close to its own."""

import random

BITS = (1 << 32) - 1


class Agent:
    hits = chances = 0

    def __init__(self, seed):
        near = [seed, seed ^ 1, seed ^ BITS, (seed + 1) & BITS, (seed - 1) & BITS, seed >> 1, seed // 2 * 2, 0, 1]
        self.twins = [random.Random(number) for number in near]
        self.guesses = None
        self.before = None

    def act(self, observation):
        board = observation["observation"]
        theirs = board[:, :, 1] if board.ndim == 3 else board
        if self.before is not None and self.guesses is not None:
            new = (theirs - self.before).sum(axis=0).argmax()
            Agent.chances += len(self.guesses)
            Agent.hits += sum(int(new) == guess for guess in self.guesses)
        move = int(observation["action_mask"].argmax())
        legal = [column for column, free in enumerate(observation["action_mask"].tolist()) if free]
        self.guesses = [twin.choice(legal) for twin in self.twins]
        self.before = theirs.copy()
        assert Agent.chances < 100 or Agent.hits < Agent.chances // 2, (Agent.hits, Agent.chances)
        if Agent.chances > 100 and not getattr(Agent, "told", False):
            Agent.told = True
            print("no better than chance", flush=True)
        return move
