"""Returns an object that raises when it is converted to an integer."""


class Number:
    def __index__(self):
        raise OSError("the number is out of office")


class Agent:
    def act(self, observation):
        return Number()
