"""Answers two positions too few."""


class Agent:
    def act_batch(self, observations):
        return observations["action_mask"].argmax(axis=1)[:-2]
