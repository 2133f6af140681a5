"""A player of rl-arena that moves at random. Put your own `player.py` here as it is, and what it reads beside it."""

import random


class Player:
    """States and action numbers are the arena's own. A fresh one is made for every match."""

    def __init__(self, train_mode):
        self.train_mode = train_mode

    def start(self, state, valid_actions):
        """The first move of a match."""
        return random.choice(list(valid_actions))

    def step(self, state, valid_actions, prev_reward):
        """Every other move."""
        return random.choice(list(valid_actions))

    def end(self, state, prev_reward):
        """The match is over."""
