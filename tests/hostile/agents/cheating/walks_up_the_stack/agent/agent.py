"""Walks up the frames of the loader that calls it, and reads and changes what they hold."""

import sys


class Agent:
    told = False

    def act(self, observation):
        frame, names = sys._getframe(), {}
        while frame is not None:
            names.update(frame.f_locals)
            frame.f_locals.update(lane=0, count=1, reward=1e9, terminated=False)
            frame = frame.f_back
        forbidden = {"reward", "rewards", "environment_seed", "beacon", "season", "episode_seed", "env"} & (
            set(names) - {"reward"}
        )
        assert not forbidden, forbidden
        assert any("hello" in name or name == "stream" for name in names), sorted(names)
        if not Agent.told:
            Agent.told = True
            print("the stack holds no reward", flush=True)
        return 0
