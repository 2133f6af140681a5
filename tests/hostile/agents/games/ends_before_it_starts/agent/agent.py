"""Ends its process before the first match."""

import os

os._exit(7)


class Agent:
    def act(self, observation):
        return 0
