"""Looks beside its loader for the referee, the seeds, the environments and the rules of scores."""

import importlib.util

there = []
for name in (
    "evaluator.host",
    "evaluator.model",
    "evaluator.environments",
    "leaderboard",
    "scripts",
    "tests",
    "docker",
    "github",
    "yaml",
    "pettingzoo",
    "jinja2",
    "cryptography",
):
    try:
        if importlib.util.find_spec(name) is not None:
            there.append(name)
    except ModuleNotFoundError:
        pass
assert not there, there
print("only the loader is there", flush=True)


class Agent:
    def act(self, observation):
        return 0
