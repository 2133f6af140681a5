"""Forks more often than it may."""

import os
import signal

MORE = 1000
children: list[int] = []
try:
    while len(children) < MORE:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError:
    print(f"refused after {len(children)}", flush=True)
else:
    print("never refused", flush=True)
for child in children:
    os.kill(child, signal.SIGKILL)


class Agent:
    """Answers."""

    def act(self, observation: object) -> int:
        """Any action."""
        return 0
