"""Rewrites its manifest, its entry and its name after they were read, through every way to its folder."""

import os

changed = []
for way in (
    "/submission",
    "/proc/self/root/submission",
    "/proc/1/root/submission",
    f"/proc/self/fd/{os.open('/submission', os.O_RDONLY)}",
):
    for name in ("submission.yml", "agent.py", "new.py", "."):
        for action in (
            lambda path: open(path, "w").close(),
            lambda path: os.chmod(path, 0o777),
            lambda path: os.unlink(path),
            lambda path: os.rename(path, path + ".old"),
            lambda path: os.link(path, "/tmp/linked"),
            lambda path: os.utime(path, (0, 0)),
            lambda path: os.truncate(path, 0),
            lambda path: os.setxattr(path, "user.x", b"x"),
        ):
            try:
                action(f"{way}/{name}")
                changed.append((way, name))
            except OSError:
                pass
assert not changed, changed
print("its folder stays as it was read", flush=True)


class Agent:
    def act(self, observation):
        return int(observation[2] + 0.02 * observation[3] > 0)
