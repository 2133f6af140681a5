"""Looks for another player in processes, sockets, shared memory, queues, locks and files."""

import ctypes
import errno
import gc
import os
import socket

processes = {int(name) for name in os.listdir("/proc") if name.isdigit()}
assert processes <= {1, os.getpid(), os.getppid()}, processes
assert len(processes) <= 2, processes
assert os.listdir("/channel") == ["agent.sock"] if os.path.exists("/channel") else True
assert sorted(os.listdir("/submission")) == ["agent.py", "submission.yml"], os.listdir("/submission")
assert os.listdir("/tmp") == [], os.listdir("/tmp")
for place in ("/dev/shm", "/var/tmp", "/run/lock", "/dev/mqueue"):
    if os.path.isdir(place) and os.access(place, os.W_OK):
        assert os.listdir(place) == [], (place, os.listdir(place))
        try:
            open(place + "/left", "w").write("I was here")
        except OSError as error:
            print(place, error, flush=True)
assert "@" not in open("/proc/net/unix").read(), "abstract sockets"
for kind in ("shm", "msg", "sem"):
    table = f"/proc/sysvipc/{kind}"
    assert not os.path.exists(table) or len(open(table).readlines()) <= 1, kind

# Nobody must see another's System V memory, where one may make any. The key is fixed: the opponent, if it is the same file,
# asks for it too.
libc = ctypes.CDLL(None, use_errno=True)
nothing = (errno.ENOENT, errno.EPERM, errno.ENOSYS)
assert libc.shmget(0x70756C6C, 4096, 0o600) == -1 and ctypes.get_errno() in nothing, "the other one's memory"
libc.shmget(0x70756C6C, 4096, 0o1600)
try:
    socket.socket(socket.AF_UNIX).connect("\0pullrank")
except OSError as error:
    assert error.errno == errno.ECONNREFUSED, error
else:
    raise AssertionError("the other one listens")
listener = socket.socket(socket.AF_UNIX)
listener.bind("\0pullrank")
listener.listen()
for address in [("127.0.0.1", port) for port in (7, 80, 4000)] + [(f"172.17.0.{n}", 4000) for n in range(1, 6)]:
    try:
        door = socket.create_connection(address, 0.2)
    except OSError:
        continue
    raise AssertionError(f"{address} answers")
try:
    inside = socket.create_server(("", 4000))
except OSError as error:
    assert error.errno in nothing, error
for name in ("/tmp/left", "/tmp/.left"):
    open(name, "w").write("I was here")

# A second connection to the referee is nobody's ear.
if os.path.exists("/channel"):
    second = socket.socket(socket.AF_UNIX)
    second.settimeout(0.3)
    try:
        second.connect("/channel/agent.sock")
        assert second.recv(1) == b"", "the referee speaks to a second one"
    except OSError:
        pass

hello = [d for d in gc.get_objects() if isinstance(d, dict) and "observation_space" in d and "protocol" in d]
assert hello, "the handshake should be found, so that this test means something"
for found in hello:
    assert set(found) == {"protocol", "mode", "task_id", "observation_space", "action_space", "seed", "clock"}, set(found)


class Agent:
    def act(self, observation):
        assert set(observation) == {"observation", "action_mask"}, set(observation)
        return int(observation["action_mask"].argmax())
