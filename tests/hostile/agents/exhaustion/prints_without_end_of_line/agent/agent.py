"""The same on standard error, as one line, through the descriptor."""

import os


class Agent:
    def act(self, observation):
        while True:
            os.write(2, b"\xff" * 4096)
