"""A class that cannot answer."""


class Agent:
    def forward(self, observation):
        return 0
