"""Hands the channel to a daemon and ends, so that the daemon runs unwatched."""

import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(99999)
    os._exit(0)
time.sleep(0.2)
os._exit(0)
