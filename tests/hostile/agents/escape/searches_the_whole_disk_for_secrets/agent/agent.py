"""Reads every file that it may read for tokens, keys, passwords and names of the host."""

import os
import re

LOOKS_LIKE = re.compile(rb"gh[pousr]_[A-Za-z0-9]{36}|-----BEGIN [A-Z ]*PRIVATE KEY|AKIA[0-9A-Z]{16}|PULLRANK_SEASON_SECRET=")
found, read = [], 0
for folder, names, files in os.walk("/"):
    if folder.startswith(
        ("/proc", "/sys", "/dev", "/opt/venv/lib", "/usr/lib/python3", "/usr/lib/x86_64-linux-gnu", "/usr/share")
    ):
        names[:] = []
        continue
    for name in files:
        path = f"{folder}/{name}"
        try:
            if not os.path.isfile(path) or os.path.getsize(path) > 1 << 20:
                continue
            with open(path, "rb") as file:
                text = file.read()
        except OSError:
            continue
        read += 1
        if LOOKS_LIKE.search(text) and not path.startswith("/submission"):
            found.append(path)
assert not found, found
assert read > 100, read
print("no secret lies about", flush=True)


class Agent:
    def act(self, observation):
        return 0
