"""Finds weights.npy by the cross-entropy method: `python train.py`.

Takes 80 seconds on one core. Mean return over seeds 0 to 99: -83.
"""

from pathlib import Path

import gymnasium
import numpy as np
from agent import Agent
from numpy.typing import NDArray

SEED = 3
GENERATIONS, POPULATION, ELITE, EPISODES = 40, 40, 8, 10


def mean_return(weights: NDArray[np.float64], seeds: list[int]) -> float:
    """Mean return of a policy, all episodes stepped side by side."""
    agent, total = Agent(), np.zeros(len(seeds))
    agent.weights = weights
    environments = [gymnasium.make("Acrobot-v1", disable_env_checker=True) for _ in seeds]
    live = {i: e.reset(seed=s)[0] for i, (e, s) in enumerate(zip(environments, seeds, strict=True))}
    while live:
        actions = agent.act_batch(np.stack(list(live.values())))
        for i, action in zip(list(live), actions, strict=True):
            live[i], reward, terminated, truncated, _ = environments[i].step(int(action))
            total[i] += float(reward)
            if terminated or truncated:
                del live[i]
    return float(total.mean())


def main() -> None:
    """Sample policies, keep the best, sample around them."""
    generator = np.random.default_rng(SEED)
    mean, spread = np.zeros((3, 6)), np.ones((3, 6))
    for generation in range(GENERATIONS):
        policies = mean + spread * generator.standard_normal((POPULATION, 3, 6))
        seeds = generator.integers(1_000_000, 2**31, EPISODES).tolist()
        scores = np.array([mean_return(policy, seeds) for policy in policies])
        elite = policies[np.argsort(-scores)[:ELITE]]
        mean, spread = elite.mean(axis=0), elite.std(axis=0) + 0.2 * 0.9**generation
        print(f"{generation:3d}  best {scores.max():7.1f}  mean {scores.mean():7.1f}", flush=True)
    np.save(Path(__file__).with_name("weights.npy"), mean)


if __name__ == "__main__":
    main()
