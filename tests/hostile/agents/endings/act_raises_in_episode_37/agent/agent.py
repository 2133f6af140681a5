"""Raises an exception in its 37th episode."""


class Agent:
    born = 0

    def __init__(self):
        self.number = Agent.born
        Agent.born += 1

    def act(self, observation):
        if self.number == 37:
            print("the end is near", flush=True)
            raise KeyError("left")
        return 0
