"""Rewrites everything it can reach and still gets just what its actions give."""

import gc
import sys
import time

import numpy

main = sys.modules["__main__"]
answered = main.AgentServer.answer
for thing in gc.get_objects():
    if isinstance(thing, dict) and thing.get("mode") == "act":
        thing.update(task_id="FrozenLake-v1", seed=0, reward=10**9)
numpy.float32 = numpy.float64
time.monotonic = time.time = lambda: 0.0
main.AgentServer.answer = lambda self, body: answered(self, body)


class Agent:
    def act(self, observation):
        observation[:] = 0
        return 0
