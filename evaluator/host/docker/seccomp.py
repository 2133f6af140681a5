"""The system calls that a container may make: those that Python, numpy, torch and onnxruntime need, nothing else.

The engine's own profile depends on its version, and misses calls that it does not know: Docker 20.10 lets containers open
AF_VSOCK sockets, which belong to no network namespace and reach other containers. This profile is the same under every
engine. Its format is Docker's (https://docs.docker.com/engine/security/seccomp/); the kernel's manual pages describe the
calls.
"""

import errno
import functools
import json
import resource
import socket
from collections.abc import Iterator
from typing import Any

# No fadvise64: a file of the image lies once in the kernel's memory for all containers. Who may clear it from there leaves
# a word that the next agent reads by timing, 64 bits in 64 files as tried, also after the first one's container is gone.
_FILE_CALLS = """
    access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
    fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fdatasync fgetxattr flistxattr fstat fstatfs
    fsync ftruncate futimesat getcwd getdents getdents64 getxattr lchown lgetxattr link linkat listxattr llistxattr
    lseek lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev
    pwritev2 read readahead readlink readlinkat readv rename renameat renameat2 rmdir sendfile splice stat statfs statx
    symlink symlinkat sync sync_file_range syncfs tee truncate umask unlink unlinkat utime utimensat utimes write writev
"""
_WAITING = """
    alarm clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait
    epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 getitimer gettimeofday nanosleep pause pipe pipe2 poll ppoll
    pselect6 select setitimer signalfd signalfd4 time timer_create timer_delete timer_getoverrun timer_gettime
    timer_settime timerfd_create timerfd_gettime timerfd_settime times
"""
_MEMORY = """
    brk madvise map_shadow_stack membarrier mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall
    munmap pkey_alloc pkey_free pkey_mprotect
"""
_PROCESSES = """
    arch_prctl capget capset execve execveat exit exit_group fork
    get_robust_list get_thread_area getcpu getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getpriority
    getrandom getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get kill pidfd_open pidfd_send_signal
    restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
    rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr
    sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam
    sched_setscheduler sched_yield set_robust_list set_thread_area set_tid_address setgid setgroups setpgid setpriority
    setregid setresgid setresuid setreuid setsid setuid sigaltstack sysinfo tgkill tkill uname vfork wait4
    waitid
"""
# Calls on existing sockets; the rules below say which sockets may be made.
_SOCKETS = """
    accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg
    sendto shutdown
"""
_ALLOWED = tuple(sorted(f"{_FILE_CALLS} {_WAITING} {_MEMORY} {_PROCESSES} {_SOCKETS}".split()))

# Every flag of clone that makes a namespace, except NEWTIME, whose bit is part of the signal number.
_NEW_NAMESPACES = 0x7E020000
# The arguments that some calls may have: the kernel's names with its numbers.
#
# No locks, by flock neither: a lock of an event descriptor or of a namespace can be seen from every container, since the
# kernel has one file for all of them, and locks of open files stand in /proc/locks of every container, with two numbers that
# the caller can choose.
FCNTL_COMMANDS = {
    "F_DUPFD": 0, "F_GETFD": 1, "F_SETFD": 2, "F_GETFL": 3, "F_SETFL": 4, "F_SETOWN": 8, "F_GETOWN": 9, "F_SETSIG": 10,
    "F_GETSIG": 11, "F_SETOWN_EX": 15, "F_GETOWN_EX": 16, "F_DUPFD_CLOEXEC": 1030, "F_SETPIPE_SZ": 1031,
    "F_GETPIPE_SZ": 1032,
}  # fmt: skip
IOCTL_REQUESTS = {
    "TCGETS": 0x5401, "TCSETS": 0x5402, "TCSETSW": 0x5403, "TCSETSF": 0x5404, "TIOCGPGRP": 0x540F, "TIOCSPGRP": 0x5410,
    "TIOCGWINSZ": 0x5413, "FIONREAD": 0x541B, "FIONBIO": 0x5421, "FIONCLEX": 0x5450, "FIOCLEX": 0x5451,
}  # fmt: skip
# No PR_SET_VMA: the names that it gives to parts of memory count for no container.
PRCTL_OPTIONS = {
    "PR_SET_PDEATHSIG": 1, "PR_GET_PDEATHSIG": 2, "PR_GET_DUMPABLE": 3, "PR_SET_DUMPABLE": 4, "PR_SET_NAME": 15,
    "PR_GET_NAME": 16, "PR_GET_SECCOMP": 21, "PR_CAPBSET_READ": 23, "PR_GET_TIMERSLACK": 30,
    "PR_SET_CHILD_SUBREAPER": 36, "PR_GET_CHILD_SUBREAPER": 37, "PR_SET_NO_NEW_PRIVS": 38, "PR_GET_NO_NEW_PRIVS": 39,
    "PR_SET_THP_DISABLE": 41, "PR_GET_THP_DISABLE": 42, "PR_CAP_AMBIENT": 47,
}  # fmt: skip
# The limits that a process may set; it may read all. Setting RLIMIT_CORE says yes and changes nothing: see `ULIMITS` in
# `container_options`. In gVisor it is refused, whose profiles know no such answer.
RESOURCES = {
    "RLIMIT_CPU": 0, "RLIMIT_FSIZE": 1, "RLIMIT_DATA": 2, "RLIMIT_STACK": 3, "RLIMIT_RSS": 5, "RLIMIT_NPROC": 6,
    "RLIMIT_NOFILE": 7, "RLIMIT_MEMLOCK": 8, "RLIMIT_AS": 9, "RLIMIT_LOCKS": 10, "RLIMIT_SIGPENDING": 11,
    "RLIMIT_MSGQUEUE": 12, "RLIMIT_NICE": 13, "RLIMIT_RTPRIO": 14, "RLIMIT_RTTIME": 15,
}  # fmt: skip
# Plain Linux, and the question for the current one.
PERSONALITIES = (0x0, 0xFFFFFFFF)
# Options of every socket. No SO_LINGER: whoever closes such a socket last may sleep for years, and that is the referee if it
# was passed the socket. The last two are the timeouts under newer numbers.
SOCKET_OPTIONS = {
    "SO_REUSEADDR": 2, "SO_BROADCAST": 6, "SO_SNDBUF": 7, "SO_RCVBUF": 8, "SO_KEEPALIVE": 9, "SO_OOBINLINE": 10,
    "SO_REUSEPORT": 15, "SO_PASSCRED": 16, "SO_RCVLOWAT": 18, "SO_RCVTIMEO": 20, "SO_SNDTIMEO": 21, "SO_ZEROCOPY": 60,
    "SO_RCVTIMEO_NEW": 66, "SO_SNDTIMEO_NEW": 67,
}  # fmt: skip
# Where there are TCP sockets these two say yes and change nothing: the kernel takes them for wishes anyway, up to 8 MiB for
# each socket since Linux 6.18, beyond what `SYSCTLS` in `container_options` lets one hold.
BUFFER_SIZES = ("SO_SNDBUF", "SO_RCVBUF")
# Options of internet sockets, by level. What some others are given the kernel keeps, up to 128 KiB for each socket, and it
# counts for no container: keys, groups, what to send with every packet. An agent held gigabytes so within seconds. And of
# labels of flows (IPv6) the whole machine has 4,096, so that one agent sees how many another one took.
INTERNET_OPTIONS = {
    socket.IPPROTO_IP: {
        "IP_TOS": 1, "IP_TTL": 2, "IP_MTU_DISCOVER": 10, "IP_BIND_ADDRESS_NO_PORT": 24,
    },
    socket.IPPROTO_TCP: {
        "TCP_NODELAY": 1, "TCP_MAXSEG": 2, "TCP_CORK": 3, "TCP_KEEPIDLE": 4, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 6,
        "TCP_SYNCNT": 7, "TCP_DEFER_ACCEPT": 9, "TCP_WINDOW_CLAMP": 10, "TCP_QUICKACK": 12, "TCP_USER_TIMEOUT": 18,
        "TCP_NOTSENT_LOWAT": 25, "TCP_INQ": 36,
    },
    socket.IPPROTO_IPV6: {
        "IPV6_UNICAST_HOPS": 16, "IPV6_MTU_DISCOVER": 23, "IPV6_V6ONLY": 26, "IPV6_TCLASS": 67,
    },
}  # fmt: skip
# The only type of internet sockets, with its protocols; zero is the usual one. No agent needs Multipath TCP or ping, and
# each is more of the kernel that an agent reaches. For a type without that protocol the kernel starts modprobe at each
# call, as root and outside of every limit. UDP is gVisor's alone: what waits in the kernel to be sent as one packet, 64 KiB
# for each socket, counts for no container: 1.4 GiB within seconds as tried. Libraries that ask by a UDP socket which
# addresses there are go on after EAFNOSUPPORT.
_TCP, _UDP = (0, socket.IPPROTO_TCP), (0, socket.IPPROTO_UDP)
# The other bits of a type are flags.
_SOCKET_TYPES = 0xF
# The bit by which a futex belongs to one process. Others in a page of the image's files are the same for all containers,
# since the kernel has that page once: who waits there is woken from another one, thousands of times in a second. Libraries
# wait so for the ends of threads; they all look again after EAGAIN, so they are slower and none fails. The newer calls,
# futex_waitv and its kin, are not needed.
_FUTEX_PRIVATE = 128
_IGNORED = {"action": "SCMP_ACT_ERRNO", "errnoRet": 0}
_NO_CLONE3 = {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS}
# gVisor knows no other error than EPERM (runsc of 2022 and of 2024), after which libraries do not fall back to clone. A call
# that is to be traced fails with ENOSYS where nobody traces.
_NO_CLONE3_GVISOR = {"names": ["clone3"], "action": "SCMP_ACT_TRACE"}
_ARCHITECTURES = ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")


@functools.cache
def seccomp_profile(*, loopback: bool, is_gvisor: bool = False) -> str:
    """The profile as a JSON document for the engine.

    Other calls fail with ENOSYS, as on a kernel without them, so that libraries fall back to older calls; calls of another
    architecture kill the process.

    Args:
        loopback: whether TCP sockets may be made. Without a network they reach only the container's own loopback.
        is_gvisor: whether the profile is for gVisor, whose other calls fail with EPERM.
    """
    families = (socket.AF_INET, socket.AF_INET6) if loopback else ()
    ignored = BUFFER_SIZES if loopback and not is_gvisor else ()
    plain = {name: number for name, number in SOCKET_OPTIONS.items() if name not in ignored}
    options = {int(socket.SOL_SOCKET): plain, **(INTERNET_OPTIONS if loopback else {})}
    document = {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": errno.ENOSYS,
        "archMap": [{"architecture": name, "subArchitectures": []} for name in _ARCHITECTURES],
        "syscalls": [
            _rule(_ALLOWED),
            _rule(("socket",), (0, int(socket.AF_UNIX), "SCMP_CMP_EQ")),
            *_internet_sockets(families, is_gvisor=is_gvisor),
            *(
                _socket_option(int(level), option)
                for level, named in options.items()
                for option in named.values()
            ),
            *({**_socket_option(int(socket.SOL_SOCKET), SOCKET_OPTIONS[name]), **_IGNORED} for name in ignored),
            _rule(("socketpair",), (0, int(socket.AF_UNIX), "SCMP_CMP_EQ")),
            *(_rule(("ioctl",), (1, number, "SCMP_CMP_EQ")) for number in IOCTL_REQUESTS.values()),
            *(_rule(("prctl",), (0, number, "SCMP_CMP_EQ")) for number in PRCTL_OPTIONS.values()),
            *(_rule(("personality",), (0, number, "SCMP_CMP_EQ")) for number in PERSONALITIES),
            *(_rule(("fcntl",), (1, number, "SCMP_CMP_EQ")) for number in FCNTL_COMMANDS.values()),
            *(_rule(("setrlimit",), (0, number, "SCMP_CMP_EQ")) for number in RESOURCES.values()),
            *(_rule(("prlimit64",), (1, number, "SCMP_CMP_EQ")) for number in RESOURCES.values()),
            _rule(("prlimit64",), (2, 0, "SCMP_CMP_EQ")),
            *(() if is_gvisor else _ignored_limits_of_cores()),
            *_futexes(is_gvisor=is_gvisor),
            _rule(("clone",), (0, _NEW_NAMESPACES, "SCMP_CMP_MASKED_EQ", 0)),
            # clone3 has its flags in memory, where no filter can read them; without it libraries use clone. It is named here
            # since Docker 20.10 does not know defaultErrnoRet and would answer EPERM.
            _NO_CLONE3_GVISOR if is_gvisor else _NO_CLONE3,
        ],
    }  # fmt: skip
    return json.dumps(document, sort_keys=True)


def _internet_sockets(families: tuple[int, ...], *, is_gvisor: bool) -> Iterator[dict[str, Any]]:
    """The rules for sockets of these families."""
    kinds = {socket.SOCK_STREAM: _TCP, **({socket.SOCK_DGRAM: _UDP} if is_gvisor else {})}
    for family in families:
        of_family = (0, int(family), "SCMP_CMP_EQ")
        for kind, protocols in kinds.items():
            of_kind = (1, _SOCKET_TYPES, "SCMP_CMP_MASKED_EQ", int(kind))
            yield from (_rule(("socket",), of_family, of_kind, (2, int(one), "SCMP_CMP_EQ")) for one in protocols)
        if not is_gvisor:
            udp = _rule(("socket",), of_family, (1, _SOCKET_TYPES, "SCMP_CMP_MASKED_EQ", int(socket.SOCK_DGRAM)))
            yield {**udp, "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EAFNOSUPPORT}


def _futexes(*, is_gvisor: bool) -> tuple[dict[str, Any], ...]:
    """The rules for futex. Each gVisor has a kernel of its own, and could answer only EPERM, which ends a program."""
    if is_gvisor:
        return (_rule(("futex",)),)
    private = _rule(("futex",), (1, _FUTEX_PRIVATE, "SCMP_CMP_MASKED_EQ", _FUTEX_PRIVATE))
    shared = _rule(("futex",), (1, _FUTEX_PRIVATE, "SCMP_CMP_MASKED_EQ", 0))
    return private, {**shared, "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EAGAIN}


def _ignored_limits_of_cores() -> Iterator[dict[str, Any]]:
    core = (int(resource.RLIMIT_CORE), "SCMP_CMP_EQ")
    for rule in (_rule(("setrlimit",), (0, *core)), _rule(("prlimit64",), (1, *core), (2, 0, "SCMP_CMP_NE"))):
        yield {**rule, **_IGNORED}


def _socket_option(level: int, option: int) -> dict[str, Any]:
    return _rule(("setsockopt",), (1, level, "SCMP_CMP_EQ"), (2, option, "SCMP_CMP_EQ"))


def _rule(names: tuple[str, ...], *arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Allow calls with these arguments: each is its index, value, comparison, and for a mask the second value."""
    conditions = [
        {"index": index, "value": value, "op": how, "valueTwo": other[0] if other else 0}
        for index, value, how, *other in arguments
    ]
    return {"names": list(names), "action": "SCMP_ACT_ALLOW", "args": conditions}
