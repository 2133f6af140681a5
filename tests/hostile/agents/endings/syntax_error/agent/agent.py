"""Not Python, though a formatter takes it for some."""


class Agent:
    def act(self, observation):
        pass

    return 0
