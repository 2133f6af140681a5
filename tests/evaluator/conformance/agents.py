"""Agents that choose by a checksum over all that they are given: whatever is seen otherwise is answered otherwise."""

# Integers and dyadic fractions only: the same on every machine, whatever arithmetic the sandbox has.
COMMON = """
import zlib
import numpy as np

def checksum(value, start):
    if isinstance(value, dict):
        for key in sorted(value):
            start = checksum(value[key], zlib.crc32(str(key).encode(), start))
        return start
    if isinstance(value, tuple):
        for inner in value:
            start = checksum(inner, start)
        return start
    array = np.asarray(value)
    name = f"{array.dtype.str}{array.shape}".encode()
    return zlib.crc32(np.ascontiguousarray(array).tobytes(), zlib.crc32(name, start))

def choice(space, number, reach=1.25):
    kind = type(space).__name__
    if kind == "Dict":
        return {key: choice(inner, zlib.crc32(key.encode(), number), reach) for key, inner in space.spaces.items()}
    if kind == "Tuple":
        return tuple(choice(inner, zlib.crc32(b"x", number + place), reach) for place, inner in enumerate(space.spaces))
    if kind == "Discrete":
        return int(space.start) + number % int(space.n)
    if kind == "MultiDiscrete":
        return np.array([(number + place) % int(n) for place, n in enumerate(space.nvec)], space.dtype)
    if kind == "MultiBinary":
        return np.array([(number >> place) & 1 for place in range(int(space.n))], np.int8)
    size = int(np.prod(space.shape))
    parts = [((number * (2 * place + 1)) % 65 - 32) / 32 * reach for place in range(size)]
    return (np.array(parts).reshape(space.shape) * space.high).astype(space.dtype)
"""
SEPARATE = (
    COMMON
    + """
REACH = 1.25

class Agent:
    def __init__(self, observation_space, action_space, task_id, seed):
        self.space = action_space
        self.state = zlib.crc32(f"{observation_space} {action_space} {task_id} {seed}".encode())

    def act(self, observation):
        self.state = checksum(observation, self.state)
        return choice(self.space, self.state, REACH)
"""
)
WITHIN = SEPARATE.replace("REACH = 1.25", "REACH = 1.0")
SHARED = (
    COMMON
    + """
class Agent:
    memoryless = True

    def __init__(self, action_space):
        self.space = action_space

    def act(self, observation):
        return choice(self.space, checksum(observation, 0))
"""
)
BATCH = (
    COMMON
    + """
class Agent:
    def __init__(self, action_space, task_id):
        self.space, self.salt = action_space, len(task_id)

    def act_batch(self, observations):
        return np.array([choice(self.space, checksum(row, self.salt)) for row in observations])
"""
)
FUNCTION = COMMON + "def act(observation):\n    return checksum(observation, 0) % 2\n"
PREDICT = (
    COMMON
    + """
class Model:
    def __init__(self, seed=0):
        self.state = seed % (1 << 32)

    def predict(self, state):
        self.state = checksum(state, self.state)
        return self.state % 2, None
"""
)
CRASHING = "class Agent:\n    def act(self, observation):\n        return 1 / 0\n"
OUTSIDE = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return 2\n"
PLAYER = (
    COMMON
    + """
class Agent:
    def __init__(self, seed, task_id):
        self.state = zlib.crc32(f"{task_id} {seed} SALT".encode())

    def act(self, observation):
        self.state = checksum(observation, self.state)
        legal = np.flatnonzero(observation["action_mask"]) if isinstance(observation, dict) else [0, 1, 2]
        return int(legal[self.state % len(legal)])
"""
)
OTHER = PLAYER.replace("SALT", "PEPPER")
# Draw from the generators that a process shares, which are seeded once.
DRAWING = """
import random
import numpy as np

class Agent:
    def act(self, observation):
        return (random.randrange(2) + int(np.random.randint(2))) % 2
"""
DRAWING_PLAYER = """
import random
import numpy as np

class Agent:
    def act(self, observation):
        return random.choice(np.flatnonzero(observation["action_mask"]).tolist())
"""
DRAWING_SCRIPT = """
import random, sys
import gymnasium as gym

env = gym.make(sys.argv[1])
while True:
    env.reset()
    over = False
    while not over:
        _, _, terminated, truncated, _ = env.step(random.randrange(4))
        over = terminated or truncated
"""
ILLEGAL = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return 0\n"
SINGLE = (
    COMMON
    + """
import sys
import gymnasium as gym

env = gym.make(sys.argv[1])
state = 0
for episode in range(10_000):
    observation, info = env.reset()
    over, steps = False, 0
    while not over:
        state = checksum(observation, state)
        observation, reward, terminated, truncated, info = env.step(choice(env.action_space, state))
        state = checksum(np.array([reward, terminated, truncated], np.float64), state)
        steps += 1
        over = terminated or truncated or (episode % 5 == 4 and steps == 3)
"""
)
VECTOR = (
    COMMON
    + """
import sys
import gymnasium as gym

envs = gym.make_vec(sys.argv[1], num_envs=3)
observations, info = envs.reset()
state = 0
while True:
    state = checksum(observations, state)
    actions = np.array([choice(envs.single_action_space, zlib.crc32(bytes([lane]), state)) for lane in range(3)])
    observations, rewards, terminated, truncated, info = envs.step(actions)
    state = checksum(np.asarray(rewards, np.float64), state)
"""
)
