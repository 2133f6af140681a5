"""Writes into all files of /proc that are its own: another user, namespace, profile or clock, and to be spared when memory ends."""

import os

WANTED = {
    "uid_map": b"0 0 1\n",
    "gid_map": b"0 0 1\n",
    "projid_map": b"0 0 1\n",
    "setgroups": b"allow",
    "sessionid": b"0",
    "timens_offsets": b"monotonic 864000 0\n",
    "attr/current": b"changeprofile unconfined",
    "attr/exec": b"exec unconfined",
    "attr/apparmor/exec": b"exec unconfined",
    "attr/keycreate": b"x",
    "attr/sockcreate": b"x",
    "make-it-fail": b"1",
    "fail-nth": b"1",
    "latency": b"1",
    "patch_state": b"1",
    "io": b"0",
    "syscall": b"0",
    "wchan": b"0",
    "stack": b"0",
    "seccomp_cache": b"0",
    "cpu_resctrl_groups": b"x",
    "arch_status": b"x",
    "cgroup": b"0::/\n",
    "limits": b"Max processes unlimited\n",
    "environ": b"",
    "cmdline": b"x",
    "maps": b"x",
}
# These may be written, and change nothing but the process itself.
KEPT = ("sched", "oom_score_adj", "oom_adj", "autogroup", "coredump_filter", "timerslack_ns", "clear_refs", "comm", "mem")


def number(name):
    with open(f"/proc/self/{name}") as file:
        return int(file.read())


gained = []
for name, text in WANTED.items():
    for place in ("/proc/self", "/proc/thread-self", f"/proc/{os.getppid()}", "/proc/1"):
        try:
            file = os.open(f"{place}/{name}", os.O_WRONLY)
        except OSError:
            continue
        try:
            if os.write(file, text) and text:
                gained.append(f"{place}/{name}")
        except OSError:
            pass
        os.close(file)
for place in ("/proc/self", f"/proc/{os.getppid()}", "/proc/1"):
    for name in KEPT:
        for text in (b"-1000", b"-17", b"-20", b"0x1ff", b"0", b"5"):
            try:
                with open(f"{place}/{name}", "wb", buffering=0) as file:
                    if name != "mem":
                        file.write(text)
            except OSError:
                pass
assert not gained, gained
try:
    spared = number("oom_score_adj") < 0
except FileNotFoundError:  # gVisor has none
    spared = False
assert not spared
with open("/proc/self/status") as file:
    status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
assert set(status.get("CapEff", "0")) == {"0"}, status["CapEff"]
assert os.getuid() != 0
print("nothing gained", flush=True)


class Agent:
    def act(self, observation):
        return 0
