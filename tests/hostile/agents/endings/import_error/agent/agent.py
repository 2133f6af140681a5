"""Imports a package that is not installed."""

import json
import torch_that_is_not_here


class Agent:
    def act(self, observation):
        return 0
