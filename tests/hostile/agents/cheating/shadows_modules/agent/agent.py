"""Brings files that are named as the loader's and the standard library's modules."""

import json
import socket

assert "/submission" not in (json.__file__ or ""), json.__file__
assert "/submission" not in (socket.__file__ or ""), socket.__file__


class Agent:
    def act(self, observation):
        return 0
