"""Says that it plays each episode separately, but has one memory for all."""

import json

honest = json.dumps
json.dumps = lambda value, **options: honest({**value, "shared": False}, **options)


class Agent:
    memoryless = True

    def act(self, observation):
        return 0
