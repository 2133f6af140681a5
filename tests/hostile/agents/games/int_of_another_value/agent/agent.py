"""Plays an integer object that has different values for different readers."""


class Lie(int):
    def __index__(self):
        return 0

    def __int__(self):
        return 0

    def __eq__(self, other):
        return True

    def __ge__(self, other):
        return True

    def __lt__(self, other):
        return True

    def __hash__(self):
        return 0

    def __repr__(self):
        return "0"


class Agent:
    def act(self, observation):
        return Lie(99)
