"""Asks the kernel for what only root may do."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
CALLS = {
    "setuid": lambda: libc.setuid(0),
    "setgid": lambda: libc.setgid(0),
    "setgroups": lambda: libc.setgroups(1, (ctypes.c_uint * 1)(0)),
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "remount": lambda: libc.mount(None, b"/", None, 32, None),
    "umount": lambda: libc.umount2(b"/submission", 2),
    "chroot": lambda: libc.chroot(b"/tmp"),
    "unshare user": lambda: libc.unshare(0x10000000),
    "unshare mount": lambda: libc.unshare(0x00020000),
    "unshare net": lambda: libc.unshare(0x40000000),
    "setns": lambda: libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0),
    "ptrace of a stranger": lambda: libc.ptrace(16, os.getpid() + 1000, None, None),
    "sethostname": lambda: libc.sethostname(b"owned", 5),
    "reboot": lambda: libc.reboot(0x01234567),
    "keyctl": lambda: libc.syscall(250, 0, -3, 1),
    "add_key": lambda: libc.syscall(248, b"user", b"x", b"y", 1, -3),
    "bpf": lambda: libc.syscall(321, 5, None, 0),
    "perf_event_open": lambda: libc.syscall(298, None, 0, -1, -1, 0),
    "userfaultfd": lambda: libc.syscall(323, 0),
    "init_module": lambda: libc.syscall(175, b"", 0, b""),
    "open_by_handle_at": lambda: libc.syscall(304, -100, None, 0),
    "mknod": lambda: libc.mknod(b"/tmp/mem", 0o020666, os.makedev(1, 1)),
    "less likely to be killed": lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000"),
    "nice": lambda: libc.setpriority(0, 0, -20),
    "settime": lambda: libc.clock_settime(0, (ctypes.c_long * 2)(0, 0)),
}
# Granted by gVisor's own kernel, and known only to it: a device that leads nowhere, and two wishes that it does not pass on.
GRANTED_BY_GVISOR = {"mknod", "less likely to be killed", "nice"}
granted = []
for name, call in CALLS.items():
    try:
        result = call()
    except OSError:
        continue
    if result != -1:
        granted.append(name)
if "gvisor" in open("/proc/cmdline").read():
    granted = sorted(set(granted) - GRANTED_BY_GVISOR)
    if os.path.exists("/tmp/mem"):
        try:
            os.open("/tmp/mem", os.O_RDONLY)
        except OSError:
            pass
        else:
            raise AssertionError("a device was opened")
assert not granted, granted
for program in ("/bin/su", "/usr/bin/passwd", "/usr/bin/newgrp", "/bin/mount"):
    if os.path.exists(program) and os.stat(program).st_mode & 0o4000:
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open("/dev/null", os.O_RDWR), 1)
            os.execv("/usr/bin/env", ["env", "sh", "-c", f"{program} -h >/dev/null 2>&1; exit $(id -u | grep -c '^0$')"])
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert os.getuid() > 65535, os.getuid()


class Agent:
    def act(self, observation):
        return 0
