"""Not Python."""

class Agent:
    def act(self, observation)
        return 0
