"""Makes a directory in a directory, a hundred thousand deep."""

import os

deep = 0
os.chdir("/tmp")
try:
    for _ in range(100_000):
        os.mkdir("d")
        os.chdir("d")
        deep += 1
except OSError as error:
    print("stopped by", error.strerror, flush=True)
os.chdir("/opt/pullrank")
print("deep:", deep > 1000, flush=True)


class Agent:
    def act(self, observation):
        return 0
