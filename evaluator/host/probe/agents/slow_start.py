"""Is not ready when it must be."""

import time

time.sleep(3600)
