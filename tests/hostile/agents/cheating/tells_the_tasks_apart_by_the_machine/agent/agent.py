"""Looks for anything that says which episode, which run or which part of an evaluation this is."""

import os
import sys

words = " ".join(
    [*sys.argv, *os.environ, *os.environ.values(), open("/proc/self/cmdline").read(), os.uname().nodename]
).lower()
told = [
    word
    for word in (
        "preview",
        "official",
        "season",
        "beacon",
        "shard",
        "github",
        "runner",
        "mallory",
        "attack",
        "pull",
        "sealed",
    )
    if word in words.replace("pullrank", "")
]
assert not told, (told, words)
print("nobody says what this is for", flush=True)


class Agent:
    def act(self, observation):
        return 0
