"""Changes its mask of legal moves, and plays a taken cell."""


class Agent:
    def act(self, observation):
        mask = observation["action_mask"]
        taken = int(mask.argmin())
        mask[:] = 1
        observation["observation"][:] = 0
        return taken
