"""Scripts for tests, and what comes of them in a real process: small tasks, the referee's own environments."""

import textwrap
from typing import Any

from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.solo.evaluate_agent import Evaluation
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.verification import Verification
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from tests.evaluations import evaluate, folder, order

MANIFEST = b"name: Test\nalgorithm: none\nkind: script\nentry: submission.py\n"
LAKE = Task.model_validate(
    {"id": "lake", "env": "FrozenLake-v1", "reusable": True, "script": {"steps": 2000, "last": 10, "worst": -1}}
)
POLE = Task.model_validate({"id": "CartPole-v1", "reusable": True, "script": {"steps": 3000, "last": 5, "worst": 0}})

# Plays and tells what the others' tests build on.
PLAY = """
import json, os, sys
import gymnasium as gym

def train(env, act=lambda observation: 1):
    taken = 0
    while taken < int(os.environ["PULLRANK_TRAINING_STEPS"]):
        observation, over = env.reset()[0], False
        while not over and taken < int(os.environ["PULLRANK_TRAINING_STEPS"]):
            observation, reward, terminated, truncated, info = env.step(act(observation))
            taken, over = taken + 1, terminated or truncated
    return env

def play(env, count, act=lambda observation: 1):
    returns = []
    for _ in range(count):
        observation, info = env.reset()
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, info = env.step(act(observation))
            total += reward
            over = terminated or truncated
        returns.append(total)
    return returns
"""


def script(source: str, task: Task = LAKE, chosen: SelectedSandbox | None = None, **changes: object) -> Evaluation:
    """What comes of a script; `PLAY` stands before it."""
    manifest = changes.pop("manifest", MANIFEST)
    assert isinstance(manifest, bytes)
    whole = PLAY + textwrap.dedent(source)
    files = {"submission.py": whole.encode(), "agent.py": b""}
    return evaluate(order(folder("", manifest, **files), task, **changes), chosen)


def verified(
    done: Evaluation, task: Task = LAKE, document: dict[str, Any] | None = None, secret: SeasonSecret | None = None
) -> Verification:
    """What the verification says of a script's result, or of another document with the hash that fits it."""
    result = Result.with_self_hash(document) if document else done.result
    return verify_result("x", result.serialised(), done.trace, load_gym_task(task), secret)
