"""Writes its own rules: every cell is free, the taken ones first."""


class Agent:
    def act(self, observation):
        mask = observation["action_mask"]
        taken = int(mask.argmin())
        mask[:] = 1
        observation["observation"][:] = 0
        return taken
