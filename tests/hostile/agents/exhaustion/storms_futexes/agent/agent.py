"""Lets threads wake each other without end."""

import threading

condition = threading.Condition()


def storm():
    while True:
        with condition:
            condition.notify_all()
            condition.wait(0.0001)


for _ in range(20):
    try:
        threading.Thread(target=storm, daemon=True).start()
    except RuntimeError:
        break


class Agent:
    def act(self, observation):
        with condition:
            condition.notify_all()
        threading.Event().wait(0.2)
        return 0
