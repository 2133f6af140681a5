"""Writes notes in one match and reads them in the next, and looks for those of another player."""

import os

NOTE = "/tmp/note"


class Agent:
    def __init__(self, seed):
        self.before = sorted(os.listdir("/tmp"))
        assert set(self.before) <= {"note"}, self.before
        with open(NOTE, "a") as file:
            file.write(f"{seed}\n")

    def act(self, observation):
        return int(observation["action_mask"].argmax())
