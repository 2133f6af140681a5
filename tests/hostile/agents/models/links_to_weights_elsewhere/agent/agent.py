"""Names weights outside of its folder, by paths, descriptors and devices, and by the address of a file."""

import urllib.request

read = []
for way in ("../../etc/shadow", "/proc/1/mem", "/dev/sda", "/var/run/docker.sock", "/root/.ssh/id_rsa", "/home/runner/work"):
    try:
        with open(f"/submission/{way}" if way.startswith("..") else way, "rb") as file:
            file.seek(4096 if way.endswith("mem") else 0)
            words = file.read(64)
    except (OSError, ValueError):
        continue
    if words:
        read.append(way)
for address in ("file:///etc/shadow", "file:///proc/1/mem", "http://169.254.169.254/latest", "ftp://127.0.0.1/x"):
    try:
        urllib.request.urlopen(address, timeout=1).read(10)
        read.append(address)
    except (OSError, ValueError):
        pass
assert not read, read
print("only its own weights can be read", flush=True)


class Agent:
    def act(self, observation):
        return 0
