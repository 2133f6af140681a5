"""Prints without end."""


class Agent:
    def act(self, observation):
        while True:
            print("flood" * 1000)
