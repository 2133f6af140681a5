"""Fills its memory with small objects."""


class Agent:
    seen = []

    def act(self, observation):
        while True:
            Agent.seen.append([len(Agent.seen)] * 100)
