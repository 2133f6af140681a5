"""PPO in torch: `python -u submission.py CartPole-v1` trains, evaluates and prints its score."""

import json
import os
import sys
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

# The board says how much of its budget is for training, and how many episodes count after that.
TRAINING_STEPS = int(os.environ.get("PULLRANK_TRAINING_STEPS", "35000"))
EVALUATION_EPISODES = int(os.environ.get("PULLRANK_EVALUATION_EPISODES", "50"))
LANES, ROLLOUT = 8, 128
# Whole rollouts only, and none that ends just with the training steps: its new episodes would be the first that count.
LEARNING_STEPS = (TRAINING_STEPS - 1) // (LANES * ROLLOUT) * (LANES * ROLLOUT)
PASSES, BATCH = 10, 128
DISCOUNT, TRACE, CLIP, RATE = 0.99, 0.95, 0.2, 1e-3


def network(inputs: int, outputs: int) -> nn.Sequential:
    """Two layers of 64."""
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


class Policy(nn.Module):
    """What to do in a state, and what the state is worth."""

    def __init__(self, width: int, actions: int) -> None:
        super().__init__()
        self.actor, self.critic = network(width, actions), network(width, 1)

    def choices(self, states: torch.Tensor) -> Categorical:
        return Categorical(logits=self.actor(states))

    def worth(self, states: torch.Tensor) -> torch.Tensor:
        return self.critic(states).squeeze(-1)

    def best(self, state: np.ndarray) -> int:
        return int(self.actor(torch.as_tensor(state)).argmax())


@dataclass
class Rollout:
    """Some steps of all lanes: the first axis is time, the second the lane."""

    states: torch.Tensor
    actions: torch.Tensor
    rewards: torch.Tensor
    after: torch.Tensor
    terminated: torch.Tensor
    over: torch.Tensor


class Lanes:
    """Environments that are stepped with one question, which is the fast way to a remote environment."""

    def __init__(self, name: str) -> None:
        mode = {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
        self.envs = gym.make_vec(name, num_envs=LANES, vectorization_mode="sync", vector_kwargs=mode)
        self.states, _ = self.envs.reset()

    def play(self, policy: Policy) -> Rollout:
        """The next steps. Where an episode ends, `after` is its last state and not the first of the next one."""
        rows = []
        for _ in range(ROLLOUT):
            states = self.states
            actions = policy.choices(torch.as_tensor(states)).sample().numpy()
            self.states, rewards, terminated, truncated, info = self.envs.step(actions)
            after, over = self.states.copy(), terminated | truncated
            for lane in np.flatnonzero(over):
                after[lane] = info["final_obs"][lane]
            rows.append((states, actions, np.float32(rewards), after, np.float32(terminated), np.float32(over)))
        return Rollout(*(torch.as_tensor(np.stack(column)) for column in zip(*rows, strict=True)))


def advantages(policy: Policy, seen: Rollout) -> tuple[torch.Tensor, torch.Tensor]:
    """How much better each action went than the critic thought, and what the critic should have thought."""
    before = policy.worth(seen.states)
    surprises = seen.rewards + DISCOUNT * (1 - seen.terminated) * policy.worth(seen.after) - before
    better = torch.zeros_like(surprises)
    later = torch.zeros(LANES)
    for step in reversed(range(ROLLOUT)):
        better[step] = later = surprises[step] + DISCOUNT * TRACE * (1 - seen.over[step]) * later
    return better, better + before


def improve(policy: Policy, optimiser: torch.optim.Optimizer, seen: Rollout, clip: float) -> None:
    """Several passes over one rollout, none of which moves an action's probability further than the clip."""
    with torch.no_grad():
        better, worth = (values.flatten() for values in advantages(policy, seen))
        states, actions = seen.states.flatten(0, 1), seen.actions.flatten()
        before = policy.choices(states).log_prob(actions)
    better = (better - better.mean()) / (better.std() + 1e-8)
    for _ in range(PASSES):
        for rows in torch.randperm(len(states)).split(BATCH):
            ratio = (policy.choices(states[rows]).log_prob(actions[rows]) - before[rows]).exp()
            gain = torch.min(ratio * better[rows], ratio.clamp(1 - clip, 1 + clip) * better[rows]).mean()
            loss = 0.5 * (policy.worth(states[rows]) - worth[rows]).square().mean() - gain
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimiser.step()


def train(name: str) -> Policy:
    """Play and improve in turns; steps grow smaller towards the end, so that what is learnt stays."""
    lanes = Lanes(name)
    policy = Policy(lanes.envs.single_observation_space.shape[0], int(lanes.envs.single_action_space.n))
    optimiser = torch.optim.Adam(policy.parameters(), lr=RATE)
    for used in range(0, LEARNING_STEPS, LANES * ROLLOUT):
        left = 1 - used / LEARNING_STEPS
        optimiser.param_groups[0]["lr"] = left * RATE
        with torch.no_grad():
            seen = lanes.play(policy)
        improve(policy, optimiser, seen, left * CLIP)
    lanes.envs.close()
    return policy


@torch.no_grad()
def evaluate(name: str, policy: Policy, taken: int) -> list[float]:
    """Returns of the greedy policy, one episode after the other to its end.

    What is left of the training steps is used up first: an episode begun before they are over does not count.
    """
    env = gym.make(name)
    returns = []
    while len(returns) < EVALUATION_EPISODES:
        state, total, over = env.reset()[0], 0.0, False
        counts = taken >= TRAINING_STEPS
        while not over:
            state, reward, terminated, truncated, _ = env.step(policy.best(state))
            total, taken = total + float(reward), taken + 1
            over = terminated or truncated or (taken == TRAINING_STEPS and not counts)
        if counts:
            returns.append(total)
    env.close()
    return returns


def main() -> None:
    """Train, evaluate, and say what came of it in one line."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    returns = evaluate(sys.argv[1], train(sys.argv[1]), LEARNING_STEPS)
    print(json.dumps({"score": float(np.mean(returns)), "episodes": len(returns)}))


if __name__ == "__main__":
    main()
