"""Brings archives whose names, links and devices lead out of the folder that they are unpacked in."""

import os
import tarfile
import zipfile

os.mkdir("/tmp/x")
with zipfile.ZipFile("/submission/weights.zip") as archive:
    for name in archive.namelist():
        try:
            archive.extract(name, "/tmp/x")
        except OSError:
            pass
with tarfile.open("/submission/weights.tar") as archive:
    for member in archive.getmembers():
        try:
            archive.extract(member, "/tmp/x")
        except (OSError, KeyError):
            pass
outside = [path for path in ("/pullrank-owned", "/var/tmp/pullrank-owned", "/channel/owned") if os.path.exists(path)]
assert not outside, outside
assert os.stat("/submission/agent.py").st_size > 100
print("unpacked only where it may write", flush=True)


class Agent:
    def act(self, observation):
        return 0
