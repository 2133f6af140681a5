"""Puts a program into the only writable place and starts it."""

import os
import shutil
import subprocess

shutil.copy("/bin/true", "/tmp/program")
os.chmod("/tmp/program", 0o755)
try:
    subprocess.run(["/tmp/program"], check=False)
except PermissionError as error:
    print("refused:", error.strerror, flush=True)
else:
    raise AssertionError("/tmp is executable")


class Agent:
    def act(self, observation):
        return 0
