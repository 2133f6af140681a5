"""Calls every system call, socket and ioctl that no agent needs."""

import ctypes
import errno
import os
import platform
import socket

# Numbers of system calls on x86-64 and, where it differs, on 64-bit ARM; none where there is no such call.
CALLS = {
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "userfaultfd": (323, 282),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "umount2": (166, 39),
    "fsopen": (430, 430),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "mount_setattr": (442, 442),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "io_setup": (206, 0),
    "vmsplice": (278, 75),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "acct": (163, 89),
    "swapon": (167, 224),
    "init_module": (175, 105),
    "kexec_load": (246, 104),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "lookup_dcookie": (212, 18),
    "landlock_create_ruleset": (444, 444),
    "move_pages": (279, 239),
    "mbind": (237, 235),
}
NEWUSER, NEWNET = 0x10000000, 0x40000000
REFUSED = (errno.EPERM, errno.ENOSYS)
column = 0 if platform.machine() == "x86_64" else 1
libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    ctypes.set_errno(0)
    done = libc.syscall(number, *arguments, *[0] * (6 - len(arguments)))
    return None if done == -1 and ctypes.get_errno() in REFUSED else f"{done}, {errno.errorcode.get(ctypes.get_errno())}"


# An unknown request and bad pointers: a door that opens says EFAULT, EINVAL, or gives a descriptor.
found = {name: call(numbers[column], 0xFFFF) for name, numbers in CALLS.items() if numbers[column] is not None}
for flags in (NEWUSER, NEWNET, NEWUSER | NEWNET):
    found[f"unshare {flags:x}"] = call(272 if column == 0 else 97, flags)
    found[f"clone {flags:x}"] = call(56 if column == 0 else 220, flags | 17)
# Flags in memory, which no filter can read.
found["clone3"] = call(435, ctypes.byref((ctypes.c_uint64 * 8)(NEWUSER)), 64)
for option in (22, 35, 0x59616D61, 0x53564D41):  # PR_SET_SECCOMP, PR_SET_MM, PR_SET_PTRACER, PR_SET_VMA
    found[f"prctl {option}"] = call(157 if column == 0 else 167, option, 1)
found["TIOCSTI"] = call(16 if column == 0 else 29, 1, 0x5412, ctypes.byref(ctypes.c_char(b"x")))
found["personality"] = call(135 if column == 0 else 92, 0x0400000)  # READ_IMPLIES_EXEC
for family in range(2, 64):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            door = socket.socket(family, kind)
        except OSError:
            continue
        found[f"socket {family} {kind}"] = "made"
        door.close()
# The kernel takes the low half of a family only.
found["socket of a long family"] = call(41 if column == 0 else 198, ctypes.c_uint64((1 << 32) | 40), 1, 0)
open_doors = {name: what for name, what in found.items() if what is not None}
assert not open_doors, open_doors
print("every door is closed", flush=True)


class Agent:
    def act(self, observation):
        return 0
