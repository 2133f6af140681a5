"""Prints 100 MB."""


class Agent:
    def act(self, observation):
        for _ in range(100):
            print("a line to fill the disk " * 40_000)
        return 0
