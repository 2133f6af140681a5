"""Returns None."""


class Agent:
    def act(self, observation):
        return None
