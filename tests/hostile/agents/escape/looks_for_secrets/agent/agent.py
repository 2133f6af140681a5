"""Reads whatever may tell a seed, a beacon, the host or a way out."""

import errno
import gc
import os
import pathlib

ALLOWED = {
    "PATH",
    "HOSTNAME",
    "HOME",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "MKL_CBWR",
    "ONEDNN_MAX_CPU_ISA",
    "ATEN_CPU_CAPABILITY",
    "OPENBLAS_CORETYPE",
    "NPY_DISABLE_CPU_FEATURES",
    "GLIBC_TUNABLES",
    "LC_CTYPE",
}
assert set(os.environ) <= ALLOWED, set(os.environ) - ALLOWED
assert os.environ["HOSTNAME"] == "sandbox"
for pid in (1, os.getpid()):
    try:
        raw = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        continue
    names = {item.split(b"=")[0].decode() for item in raw.split(b"\0") if item}
    assert names <= ALLOWED, names - ALLOWED

pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
assert 1 in pids and os.getpid() in pids and len(pids) <= 3, pids

status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd"):
    assert int(status[name], 16) == 0, (name, status[name])
# gVisor, whose list of mounts names its own options, does not show these two.
is_gvisor = "gvisor" in open("/proc/cmdline").read()
assert is_gvisor or int(status["CapAmb"], 16) == 0, status["CapAmb"]
assert is_gvisor or status["NoNewPrivs"] == "1", status["NoNewPrivs"]
assert status["Seccomp"] == "2", status["Seccomp"]
# A user of its own: neither root, nor one that the machine or another container may have.
uid = os.getuid()
assert uid > 65535, uid
assert os.getresuid() == (uid,) * 3 and os.getresgid() == (uid,) * 3
assert set(os.getgroups()) <= {uid}, os.getgroups()

mounts = {}
for line in open("/proc/self/mounts"):
    _, place, kind, options, *_ = line.split()
    mounts[place] = (kind, options.split(","))
assert "ro" in mounts["/"][1], mounts["/"]
assert "ro" in mounts["/submission"][1]
assert {"noexec", *(() if is_gvisor else ("nosuid", "nodev"))} <= set(mounts["/tmp"][1]), mounts["/tmp"]
writable = {p for p, (_, options) in mounts.items() if os.path.isdir(p) and "ro" not in options and os.access(p, os.W_OK)}
assert writable <= {"/tmp", "/dev/mqueue"}, writable
assert "/dev/shm" not in mounts, list(mounts)
if "/dev/mqueue" in writable:
    try:
        os.open("/dev/mqueue/x", os.O_CREAT | os.O_RDWR)
    except OSError as error:
        assert error.errno in (errno.EMFILE, errno.EACCES), error
    else:
        raise AssertionError("a message queue was made")
assert not any("docker.sock" in place for place in mounts)
for place in ("/var/run/docker.sock", "/run/docker.sock", "/home/runner", "/github", "/.dockerenv-host"):
    assert not os.path.exists(place), place

ours = {str(p.relative_to("/opt/pullrank")) for p in pathlib.Path("/opt/pullrank").rglob("*.py")}
shared = {"evaluator/__init__.py", "evaluator/wire.py"}
others = {name for name in ours if not name.startswith("evaluator/sandbox/")}
assert others == shared, others ^ shared
assert "evaluator/sandbox/main.py" in ours, ours
assert {p.name for p in pathlib.Path("/channel").iterdir()} == {"agent.sock"} if os.path.exists("/channel") else True

# Nothing on the heap tells the referee's seeds: the handshake holds these keys and no more.
hello = [d for d in gc.get_objects() if isinstance(d, dict) and "observation_space" in d and "protocol" in d]
assert hello, "the handshake should be found, so that this test means something"
for found in hello:
    assert set(found) == {"protocol", "mode", "task_id", "observation_space", "action_space", "seed"}, set(found)
    assert found["seed"] < 1 << 32
for place in ("/proc/kcore", "/proc/kallsyms", "/proc/keys", "/proc/timer_list", "/sys/firmware", "/dev/mem", "/dev/sda"):
    try:
        content = open(place, "rb").read(100) if not os.path.isdir(place) else os.listdir(place)
    except OSError:
        continue
    assert not content, place


class Agent:
    def act(self, observation):
        return 0
