"""Is a file that Python cannot compile."""


class Agent:
    def act(self, observation):
        pass

    return 0
