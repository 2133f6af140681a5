"""Agents as other systems have them, for tests of their adapters."""

PREDICT = """
class Model:
    def __init__(self, seed=0):
        self.seed = seed

    def predict(self, state):
        assert self.seed > 0
        return int(state[2] > 0), None
"""
FUNCTION = """
def choose(observation):
    return int(observation[2] > 0)
"""
# The tutorials' shape: made of an environment, asked with get_action, which may want the environment again.
GYM_POLICY = """
class TutorialAgent:
    def __init__(self, env, epsilon=0.0):
        self.env = env
        self.epsilon = epsilon
        assert env.action_space.n == 2

    def get_action(self, env, obs):
        assert env is self.env
        return int(obs[2] > 0) if self.epsilon == 0 else env.action_space.sample()
"""
# Written as the platform's template is: no class, a loop, an episode a process, a sleep, prints, and the generated modules.
EVALAI = """
import evaluation_pb2
import evaluation_pb2_grpc
import grpc
import os
import pickle
import time

time.sleep(30)
channel = grpc.insecure_channel("localhost:8085")
stub = evaluation_pb2_grpc.EnvironmentStub(channel)
flag, action = None, 1
while not flag:
    package = evaluation_pb2.Package(SerializedEntity=pickle.dumps(action))
    base = pickle.loads(stub.act_on_environment(package).SerializedEntity)
    flag = base["feedback"][2]
    action = int(base["feedback"][0][2] > 0)
    print("Agent Feedback", base["feedback"])
    print("*" * 100)
"""
# The other kind there is: one process loops over episodes and resets.
EVALAI_LOOP = """
import pickle
import evaluation_pb2
import evaluation_pb2_grpc
import grpc

stub = evaluation_pb2_grpc.EnvironmentStub(grpc.insecure_channel("localhost:8085"))

def call(method, *entity):
    package = evaluation_pb2.Package(SerializedEntity=pickle.dumps(entity[0])) if entity else evaluation_pb2.Package()
    return pickle.loads(getattr(stub, method)(package).SerializedEntity)

assert call("get_action_space", None) == [0, 1]
assert call("get_observation_space", None) == 4
for episode in range(call("num_episodes")["num_episodes"]):
    observation = call("reset")["observations"]
    while not call("episode_over")["episode_over"]:
        reply = call("act_on_environment", int(observation[2] > 0))
        observation = reply["observations"]
"""
# Those that choose at random, each by the generators that its system hands it.
RANDOM_PREDICT = """
import numpy

class Model:
    def __init__(self, action_space, seed):
        self.generator, self.choices = numpy.random.default_rng(seed), action_space.n

    def predict(self, state):
        return self.generator.integers(self.choices), None
"""
RANDOM_GYM_POLICY = """
class Policy:
    def __init__(self, env):
        self.env = env

    def get_action(self, obs):
        return self.env.action_space.sample()
"""
RANDOM_AS_AGENT = """
class Agent:
    def __init__(self, action_space, seed):
        self.action_space = action_space
        self.action_space.seed(seed)

    def act(self, observation):
        return self.action_space.sample()
"""
RANDOM_PREDICT_AS_AGENT = (
    RANDOM_PREDICT.replace("class Model", "class Agent")
    .replace("def predict", "def act")
    .replace("(self.choices), None", "(self.choices)")
)
AS_AGENT = """
class Agent:
    memoryless = True
    def act(self, observation):
        return int(observation[2] > 0)
"""
# As a policy for the template, which acts once before it has seen anything.
BLIND_START = """
class Agent:
    def __init__(self):
        self.begun = False
    def act(self, observation):
        begun, self.begun = self.begun, True
        return int(observation[2] > 0) if begun else 1
"""
BOMB = """
import os, pickle
import evaluation_pb2, evaluation_pb2_grpc, grpc

class Bomb:
    def __reduce__(self):
        return os._exit, (7,)

stub = evaluation_pb2_grpc.EnvironmentStub(grpc.insecure_channel("localhost:8085"))
stub.act_on_environment(evaluation_pb2.Package(SerializedEntity=pickle.dumps(Bomb())))
"""


def manifest(adapter: str, entry: str = "agent.py") -> bytes:
    """A submission.yml that names the adapter."""
    return f"name: Test\nalgorithm: none\nadapter: {adapter}\nentry: {entry}\n".encode()
