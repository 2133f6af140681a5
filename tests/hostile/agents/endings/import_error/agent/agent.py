"""Wants a package that is not there."""

import json
import torch_that_is_not_here


class Agent:
    def act(self, observation):
        return 0
