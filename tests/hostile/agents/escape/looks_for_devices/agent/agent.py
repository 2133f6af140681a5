"""Looks in /dev for hardware, virtual machines, loop devices and file systems in user space."""

import fcntl
import os

EXPECTED = {
    "null",
    "zero",
    "full",
    "random",
    "urandom",
    "tty",
    "ptmx",
    "pts",
    "fd",
    "stdin",
    "stdout",
    "stderr",
    "core",
    "console",
    "shm",
    "mqueue",
}
OF_GVISOR = {"net", "fuse"}  # its own, without a kernel behind them
there = set(os.listdir("/dev"))
assert there <= EXPECTED | OF_GVISOR, there - EXPECTED
assert not there & OF_GVISOR or there >= OF_GVISOR
for name in ("kvm", "fuse", "net/tun", "mem", "kmsg", "loop-control", "mapper/control", "vhost-net", "vhost-vsock", "dri"):
    try:
        descriptor = os.open(f"/dev/{name}", os.O_RDWR | os.O_NONBLOCK)
    except OSError:
        continue
    for number in (
        0x400454CA,
        0xAE00,
        0x4C82,
        0x5382,
    ):  # TUNSETIFF, KVM_GET_API_VERSION, LOOP_CTL_GET_FREE, SCSI_IOCTL_GET_IDLUN
        try:
            fcntl.ioctl(descriptor, number, bytes(64))
        except OSError:
            continue
        raise AssertionError(name)
print("no hardware is there", flush=True)


class Agent:
    def act(self, observation):
        return 0
