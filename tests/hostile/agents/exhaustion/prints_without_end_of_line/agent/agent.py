"""Prints 100 MB as one line to standard error."""

import os


class Agent:
    def act(self, observation):
        while True:
            os.write(2, b"\xff" * 4096)
