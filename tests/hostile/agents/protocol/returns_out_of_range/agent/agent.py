"""There are two buttons; it presses the third."""


class Agent:
    def act(self, observation):
        return 2
