"""Opens every file of /proc and /sys for writing, but for those of its own processes."""

import os
import time

until = time.monotonic() + 8
gained, tried = [], 0
EVERYBODYS = ("/proc/pressure/",)  # where every user may ask to be woken
for top in ("/proc", "/sys"):
    for folder, names, files in os.walk(top):
        names[:] = [
            name for name in names if not (folder == "/proc" and (name.isdigit() or name in ("self", "thread-self")))
        ]
        for name in files:
            path = f"{folder}/{name}"
            if not os.path.isfile(path) or os.path.islink(path) or path.startswith(EVERYBODYS):
                continue
            tried += 1
            try:
                os.close(os.open(path, os.O_WRONLY))
                gained.append(path)
            except OSError:
                pass
        if time.monotonic() > until:
            break
assert not gained, (len(gained), gained[:5])
assert tried > 5, tried
print("none of the kernel's files can be written", flush=True)


class Agent:
    def act(self, observation):
        return 0
