"""SARSA with a table: `python -u submission.py FrozenLake-v1` trains, evaluates and prints its score."""

import json
import os
import sys

import gymnasium as gym
import numpy as np

# The board says how much of its budget is for training, and how many episodes count after that.
TRAINING_STEPS = int(os.environ.get("PULLRANK_TRAINING_STEPS", "50000"))
EVALUATION_EPISODES = int(os.environ.get("PULLRANK_EVALUATION_EPISODES", "100"))
DISCOUNT = 0.99


def choose(q: np.ndarray, state: int, epsilon: float, rng: np.random.Generator) -> int:
    """The best action, or any with probability epsilon."""
    return int(rng.integers(len(q[state])) if rng.random() < epsilon else q[state].argmax())


def explore(env: gym.Env, q: np.ndarray, rng: np.random.Generator, steps: int) -> None:
    """Improve the table by what the action that really comes next is worth; stops after `steps`, be it in an episode."""
    visits = np.zeros_like(q)
    taken = 0
    while taken < steps:
        state, over = env.reset()[0], False
        action = choose(q, state, 0.1 * (1 - taken / steps), rng)
        while not over and taken < steps:
            after, reward, terminated, truncated, _ = env.step(action)
            taken, over = taken + 1, terminated or truncated
            following = choose(q, after, max(0.0, 0.1 * (1 - taken / steps)), rng)
            target = reward if terminated else reward + DISCOUNT * q[after, following]
            visits[state, action] += 1
            q[state, action] += (target - q[state, action]) / visits[state, action] ** 0.25
            state, action = after, following


def evaluate(env: gym.Env, q: np.ndarray) -> list[float]:
    """Returns of the greedy policy, each episode to its end: one that is left counts as the worst."""
    returns = []
    for _ in range(EVALUATION_EPISODES):
        state, total, over = env.reset()[0], 0.0, False
        while not over:
            state, reward, terminated, truncated, _ = env.step(int(q[state].argmax()))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    return returns


def main() -> None:
    """Train, evaluate, and say what came of it in one line."""
    env = gym.make(sys.argv[1])
    q = np.full((env.observation_space.n, env.action_space.n), 1.0)
    explore(env, q, np.random.default_rng(0), TRAINING_STEPS)
    returns = evaluate(env, q)
    env.close()
    print(json.dumps({"score": float(np.mean(returns)), "episodes": len(returns)}))


if __name__ == "__main__":
    main()
