"""A small DQN in numpy: `python -u submission.py CartPole-v1` trains, evaluates and prints its score."""

import json
import os
import sys

import gymnasium as gym
import numpy as np
from network import Network

# The board says how much of its budget is for training, and how many episodes count after that.
TRAINING_STEPS = int(os.environ.get("PULLRANK_TRAINING_STEPS", "35000"))
EVALUATION_EPISODES = int(os.environ.get("PULLRANK_EVALUATION_EPISODES", "50"))
LANES = 8
# More do not help this network; and new episodes of a vector that stops just with the training steps would count.
LEARNING_STEPS = min(15_000, (TRAINING_STEPS - 1) // LANES * LANES)
BATCH, DISCOUNT = 64, 0.99


class Memory:
    """The transitions seen so far, at random."""

    def __init__(self, size: int, width: int) -> None:
        self.rows = np.zeros((size, 2 * width + 3), np.float32)
        self.width, self.count = width, 0

    def add(self, states: np.ndarray, actions: np.ndarray, rewards: np.ndarray, after: np.ndarray, ends: np.ndarray) -> None:
        for row in np.column_stack([states, actions, rewards, after, ends]):
            self.rows[self.count % len(self.rows)] = row
            self.count += 1

    def draw(self, rng: np.random.Generator, number: int) -> tuple[np.ndarray, ...]:
        rows = self.rows[rng.integers(min(self.count, len(self.rows)), size=number)]
        w = self.width
        return rows[:, :w], rows[:, w].astype(int), rows[:, w + 1], rows[:, w + 2 : 2 * w + 2], rows[:, -1]


def train(name: str, rng: np.random.Generator) -> Network:
    """Double DQN. Many environments are stepped with one question, which is the fast way to a remote environment."""
    mode = {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
    envs = gym.make_vec(name, num_envs=LANES, vectorization_mode="sync", vector_kwargs=mode)
    width = envs.single_observation_space.shape[0]
    actions = int(envs.single_action_space.n)
    online, target = Network([width, 64, 64, actions], rng), Network([width, 64, 64, actions], rng)
    memory = Memory(LEARNING_STEPS, width)
    states, _ = envs.reset()
    for step in range(0, LEARNING_STEPS, LANES):
        chosen = online(states).argmax(axis=1)
        anywhere = rng.random(LANES) < max(0.02, 1 - step / 4000)
        chosen[anywhere] = rng.integers(actions, size=anywhere.sum())
        after, _, terminated, truncated, info = envs.step(chosen)
        arrived = after.copy()
        for lane in np.flatnonzero(terminated | truncated):
            arrived[lane] = info["final_obs"][lane]
        memory.add(states, chosen, -1.0 * terminated, arrived, terminated)  # what matters is not to fall
        states = after
        if step > 500:
            for _ in range(LANES):
                learn(online, target, memory.draw(rng, BATCH))
                target.follow(online)
    envs.close()
    return online


def learn(online: Network, target: Network, drawn: tuple[np.ndarray, ...]) -> None:
    """One step towards what the target network thinks of the action that the online one would take."""
    states, actions, rewards, after, ends = drawn
    rows = np.arange(len(actions))
    worth = target(after)[rows, online(after).argmax(axis=1)]
    online.step(states, actions, rewards + DISCOUNT * (1 - ends) * worth)


def evaluate(name: str, network: Network, taken: int) -> list[float]:
    """Returns of the greedy policy, one episode after the other to its end.

    What is left of the training steps is used up first: an episode begun before they are over does not count.
    """
    env = gym.make(name)
    returns = []
    while len(returns) < EVALUATION_EPISODES:
        state, total, over = env.reset()[0], 0.0, False
        counts = taken >= TRAINING_STEPS
        while not over:
            state, reward, terminated, truncated, _ = env.step(int(network(state[None]).argmax()))
            total, taken = total + float(reward), taken + 1
            over = terminated or truncated or (taken == TRAINING_STEPS and not counts)
        if counts:
            returns.append(total)
    env.close()
    return returns


def main() -> None:
    """Train, evaluate, and say what came of it in one line."""
    network = train(sys.argv[1], np.random.default_rng(0))
    returns = evaluate(sys.argv[1], network, LEARNING_STEPS)
    print(json.dumps({"score": float(np.mean(returns)), "episodes": len(returns)}))


if __name__ == "__main__":
    main()
