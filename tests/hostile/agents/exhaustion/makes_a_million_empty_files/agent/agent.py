"""Makes empty files with long names and links to them: what no size limit of a disk counts."""

import os

count = 0
try:
    for count in range(1_000_000):
        os.symlink("x" * 4000, f"/tmp/{count:0240}")
except OSError as error:
    print("names:", count, error.strerror, flush=True)


class Agent:
    def act(self, observation):
        return 0
