"""Leaves in the middle as if all were done."""

import os


class Agent:
    def act(self, observation):
        print("good bye", flush=True)
        os._exit(0)
