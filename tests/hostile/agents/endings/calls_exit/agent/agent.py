"""Leaves politely."""

import sys


class Agent:
    def act(self, observation):
        sys.exit(0)
