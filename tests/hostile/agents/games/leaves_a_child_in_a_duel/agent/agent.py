"""Starts a process that is meant to outlive the duel."""

import subprocess
import sys

subprocess.Popen(
    [
        sys.executable,
        "-c",
        "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(99999)",
        "pullrank-left-behind",
    ],
    start_new_session=True,
)


class Agent:
    def act(self, observation):
        return int(observation["action_mask"].argmax())
