"""All episodes at once, and none of them."""


class Agent:
    def act_batch(self, observations):
        raise ZeroDivisionError("on purpose")
