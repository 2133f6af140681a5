"""Ends its main process and lets a grandchild answer."""

import os

if os.fork() != 0:
    os._exit(0)
os.setsid()


class Agent:
    def act(self, observation):
        return 0
