"""Returns an object that hangs when it is described."""


class Epic:
    def __repr__(self):
        while True:
            pass


class Agent:
    def act(self, observation):
        return Epic()
