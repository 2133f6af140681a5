"""Answers for two positions fewer than it was asked about."""


class Agent:
    def act_batch(self, observations):
        return observations["action_mask"].argmax(axis=1)[:-2]
