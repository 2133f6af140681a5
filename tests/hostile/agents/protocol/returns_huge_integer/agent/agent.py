"""Returns an integer of more than eight bytes."""


class Agent:
    def act(self, observation):
        return 10**400
