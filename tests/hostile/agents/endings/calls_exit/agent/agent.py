"""Calls exit in the middle of an episode."""

import sys


class Agent:
    def act(self, observation):
        sys.exit(0)
