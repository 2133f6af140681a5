"""Trains, evaluates and prints a score: `python -u submission.py CartPole-v1`. Replace `train` with something better.

On the board the environment's steps run at the referee. The first episodes begun after TRAINING_STEPS count; train before.
"""

import json
import math
import os
import sys

import gymnasium
import numpy as np
from gymnasium.spaces.utils import flatdim, flatten

# The board says how much of its budget is for training, and how many episodes count after that.
TRAINING_STEPS = int(os.environ.get("PULLRANK_TRAINING_STEPS", "30000"))
EVALUATION_EPISODES = int(os.environ.get("PULLRANK_EVALUATION_EPISODES", "100"))


def act(weights, env, observation):
    """The action of a linear policy."""
    scores = weights @ np.append(flatten(env.observation_space, observation), 1.0)
    if isinstance(env.action_space, gymnasium.spaces.Discrete):
        return int(env.action_space.start + scores.argmax())
    return np.clip(scores, env.action_space.low, env.action_space.high).astype(env.action_space.dtype)


def play(weights, env, most=math.inf):
    """One episode to its end, or to its `most`-th step: its return and its steps."""
    observation, _ = env.reset()
    total, steps, over = 0.0, 0, False
    while not over and steps < most:
        observation, reward, terminated, truncated, _ = env.step(act(weights, env, observation))
        total, steps, over = total + float(reward), steps + 1, terminated or truncated
    return total, steps


def train(env, rng):
    """The best of many small changes.

    It stops when the training steps are over, be it in the middle of an episode: the rest is for the episodes that count.
    """
    best = np.zeros((flatdim(env.action_space), flatdim(env.observation_space) + 1))
    best_return, used = -np.inf, 0
    while used < TRAINING_STEPS:
        tried = best + rng.normal(0, 0.3, best.shape)
        total, steps = play(tried, env, TRAINING_STEPS - used)
        used += steps
        if total >= best_return:
            best, best_return = tried, total
    return best


def main():
    """Train, evaluate, and say what came of it in one line."""
    env = gymnasium.make(sys.argv[1])
    weights = train(env, np.random.default_rng(0))
    # Each to its end: one that is left counts as the worst.
    returns = [play(weights, env)[0] for _ in range(EVALUATION_EPISODES)]
    env.close()
    print(json.dumps({"score": float(np.mean(returns)), "metrics": returns, "episodes": len(returns)}))


if __name__ == "__main__":
    main()
