"""Defines a class Agent that has no method act."""


class Agent:
    def forward(self, observation):
        return 0
