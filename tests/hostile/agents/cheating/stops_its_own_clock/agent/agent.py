"""Replaces all clocks of its process, thinks too long, and hopes that somebody asks them."""

import time

sleep = time.sleep
for name in (
    "time",
    "monotonic",
    "perf_counter",
    "process_time",
    "thread_time",
    "time_ns",
    "monotonic_ns",
    "perf_counter_ns",
):
    setattr(time, name, lambda: 0)


class Agent:
    def act(self, observation):
        sleep(1.5)
        return 0
