"""Ends its process with exit code 0 in the middle, as if it were done."""

import os


class Agent:
    def act(self, observation):
        print("good bye", flush=True)
        os._exit(0)
