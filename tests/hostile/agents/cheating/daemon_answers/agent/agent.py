"""The main process leaves; its grandchild goes on answering as if nothing had happened."""

import os

if os.fork() != 0:
    os._exit(0)
os.setsid()


class Agent:
    def act(self, observation):
        return 0
