"""The agents that are timed: a one-line rule and a 64×64 network, for one process and for the container; random players."""

import numpy as np

RULE = """
import numpy as np
class Agent:
    def act_batch(self, observations):
        return (observations[:, 2] + observations[:, 3] > 0).astype(np.int64)
"""

ONE_RULE = """
class Agent:
    memoryless = True
    def act(self, observation):
        return int(observation[2] + observation[3] > 0)
"""

_WEIGHTS = """
import numpy as np
generator = np.random.default_rng(0)
A = generator.normal(size=(4, 64)).astype(np.float32)
B = (generator.normal(size=(64, 64)) * 0.1).astype(np.float32)
C = np.zeros((64, 2), np.float32)
# The network runs in full; a rule on its input decides, so that episodes are as long as the other agent's.
"""

MLP = (
    _WEIGHTS
    + """
class Agent:
    def act_batch(self, observations):
        scores = np.tanh(np.tanh(observations @ A) @ B) @ C
        scores[:, 1] += observations[:, 2] + observations[:, 3]
        return scores.argmax(axis=1)
"""
)

ONE_MLP = (
    _WEIGHTS
    + """
class Agent:
    memoryless = True
    def act(self, observation):
        scores = np.tanh(np.tanh(observation @ A) @ B) @ C
        scores[1] += observation[2] + observation[3]
        return int(scores.argmax())
"""
)

RANDOM_BATCH = """
import numpy as np
class Agent:
    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)
    def act_batch(self, observations):
        legal = observations["action_mask"]
        return (self.generator.random(legal.shape) * legal).argmax(axis=1)
"""

RANDOM_PLAYER = """
import random
class Agent:
    memoryless = True
    def __init__(self, seed):
        self.generator = random.Random(seed)
    def act(self, observation):
        mask = observation["action_mask"].tolist()
        return self.generator.choice([move for move, legal in enumerate(mask) if legal])
"""


def bare_agent(source: str) -> object:
    """The agent of a source, in this process, as a bare loop would have it."""
    names: dict[str, object] = {"np": np}
    exec(source, names)
    return names["Agent"]()  # type: ignore[operator]
