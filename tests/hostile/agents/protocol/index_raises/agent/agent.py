"""Is an integer until one asks."""


class Number:
    def __index__(self):
        raise OSError("the number is out of office")


class Agent:
    def act(self, observation):
        return Number()
