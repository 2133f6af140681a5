"""Which system calls, and which of their arguments, the profile lets through."""

import errno
import fcntl
import json
import re
import resource
import socket
import termios
from collections.abc import Mapping
from types import ModuleType

import pytest

from evaluator.host.docker.seccomp import (
    FCNTL_COMMANDS,
    INTERNET_OPTIONS,
    IOCTL_REQUESTS,
    RESOURCES,
    SOCKET_OPTIONS,
    seccomp_profile,
)

# No agent has any business with these: other processes, namespaces, file systems, the kernel itself.
NEVER = {
    "acct", "add_key", "bpf", "chroot", "delete_module", "fanotify_init", "finit_module", "fsopen", "init_module",
    "inotify_init", "inotify_init1", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kcmp",
    "kexec_load", "keyctl", "memfd_create", "memfd_secret", "mount", "move_mount", "mq_open", "msgget", "open_by_handle_at",
    "open_tree", "perf_event_open", "pidfd_getfd", "pivot_root", "process_madvise", "process_vm_readv", "process_vm_writev",
    "ptrace", "quotactl", "reboot", "request_key", "seccomp", "semget", "setns", "shmget", "swapon", "syslog", "umount2",
    "unshare", "userfaultfd", "vmsplice",
}  # fmt: skip


@pytest.mark.parametrize("is_gvisor", [False, True])
def test_the_profile_lets_through_only_what_it_names(is_gvisor: bool) -> None:
    profile = json.loads(seccomp_profile(loopback=False, is_gvisor=is_gvisor))
    allowed = {name for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}

    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert not allowed & NEVER
    assert all(re.fullmatch("[a-z0-9_]+", name) for name in allowed)
    assert [name for rule in profile["syscalls"] for name in rule["names"] if not rule.get("args")].count("socket") == 0


Sockets = set[tuple[int, int | None, int | None]]


def sockets(*, loopback: bool, is_gvisor: bool = False, action: str = "SCMP_ACT_ALLOW") -> Sockets:
    """Family, type and protocol of the sockets that may be made, or have another action; None for any."""
    profile = json.loads(seccomp_profile(loopback=loopback, is_gvisor=is_gvisor))
    rules = [rule for rule in profile["syscalls"] if rule["names"] == ["socket"] and rule["action"] == action]
    of_types = [argument for rule in rules for argument in rule["args"] if argument["op"] != "SCMP_CMP_EQ"]
    assert {(one["op"], one["index"], one["value"]) for one in of_types} <= {("SCMP_CMP_MASKED_EQ", 1, 0xF)}
    wanted = [{one["index"]: one["valueTwo"] if one in of_types else one["value"] for one in rule["args"]} for rule in rules]
    return {(rule[0], rule.get(1), rule.get(2)) for rule in wanted}


def test_only_who_asks_for_the_loopback_makes_internet_sockets() -> None:
    assert sockets(loopback=False) == {(socket.AF_UNIX, None, None)}
    assert sockets(loopback=False, action="SCMP_ACT_ERRNO") == set()


@pytest.mark.parametrize("is_gvisor", [False, True])
def test_internet_sockets_are_those_of_tcp_and_in_gvisor_of_udp(is_gvisor: bool) -> None:
    # For any other pair of type and protocol the kernel would have a module looked for.
    kinds = {(socket.SOCK_STREAM, 0), (socket.SOCK_STREAM, 6)}
    kinds |= {(socket.SOCK_DGRAM, 0), (socket.SOCK_DGRAM, 17)} if is_gvisor else set()
    families = (socket.AF_INET, socket.AF_INET6)
    both: Sockets = {(family, *kind) for family in families for kind in kinds}
    refused: Sockets = set() if is_gvisor else {(family, socket.SOCK_DGRAM, None) for family in families}

    assert sockets(loopback=True, is_gvisor=is_gvisor) == {(socket.AF_UNIX, None, None)} | both
    assert sockets(loopback=True, is_gvisor=is_gvisor, action="SCMP_ACT_ERRNO") == refused


def test_no_container_wakes_or_waits_for_another() -> None:
    rules = json.loads(seccomp_profile(loopback=False))["syscalls"]
    about = [rule for rule in rules if any("futex" in name for name in rule["names"])]

    assert [
        (rule["names"], rule["action"], rule.get("errnoRet"), argument["index"], argument["value"], argument["valueTwo"])
        for rule in about
        for argument in rule["args"]
    ] == [
        (["futex"], "SCMP_ACT_ALLOW", None, 1, 128, 128),
        (["futex"], "SCMP_ACT_ERRNO", errno.EAGAIN, 1, 128, 0),
    ]
    assert {argument["op"] for rule in about for argument in rule["args"]} == {"SCMP_CMP_MASKED_EQ"}


@pytest.mark.parametrize("loopback", [False, True])
def test_no_socket_is_told_to_linger(loopback: bool) -> None:
    rules = [rule for rule in json.loads(seccomp_profile(loopback=loopback))["syscalls"] if "setsockopt" in rule["names"]]
    wanted = [{argument["index"]: argument["value"] for argument in rule["args"]} for rule in rules]

    assert {argument["op"] for rule in rules for argument in rule["args"]} == {"SCMP_CMP_EQ"}
    assert {rule.get(2) for rule in wanted if rule[1] == socket.SOL_SOCKET} & {None, socket.SO_LINGER} == set()
    assert {rule[1] for rule in wanted} == ({0, 1, 6, 41} if loopback else {1})


def test_setting_the_limit_of_a_core_changes_nothing() -> None:
    rules = json.loads(seccomp_profile(loopback=True))["syscalls"]
    where = {"setrlimit": 0, "prlimit64": 1}
    named = [rule for rule in rules if where.keys() & set(rule["names"])]
    conditions = {
        (*rule["names"], rule.get("errnoRet"), *((one["index"], one["value"], one["op"][9:]) for one in rule["args"]))
        for rule in named
    }

    core = resource.RLIMIT_CORE
    others = {(call, None, (at, one, "EQ")) for call, at in where.items() for one in set(range(16)) - {core}}
    read = ("prlimit64", None, (2, 0, "EQ"))
    ignored = {("setrlimit", 0, (0, core, "EQ")), ("prlimit64", 0, (1, core, "EQ"), (2, 0, "NE"))}
    assert conditions == {read} | others | ignored


def test_every_option_of_a_socket_is_named() -> None:
    # The kernel keeps what some of the others are given, such as keys and sources of multicast, and counts it for nobody.
    rules = [rule for rule in json.loads(seccomp_profile(loopback=True))["syscalls"] if "setsockopt" in rule["names"]]

    assert all({argument["index"] for argument in rule["args"]} == {1, 2} for rule in rules)


@pytest.mark.parametrize(("loopback", "is_gvisor", "action"), [(True, False, 0), (False, False, None), (True, True, None)])
def test_nobody_chooses_how_much_a_tcp_socket_holds(loopback: bool, is_gvisor: bool, action: int | None) -> None:
    rules = [
        rule
        for rule in json.loads(seccomp_profile(loopback=loopback, is_gvisor=is_gvisor))["syscalls"]
        if "setsockopt" in rule["names"] and [argument["value"] for argument in rule["args"]] in ([1, 7], [1, 8])
    ]

    assert [rule.get("errnoRet") for rule in rules] == [action, action]


@pytest.mark.parametrize(
    ("allowed", "module"),
    [(FCNTL_COMMANDS, fcntl), (IOCTL_REQUESTS, termios), (RESOURCES, resource), (SOCKET_OPTIONS, socket),
     ({name: number for options in INTERNET_OPTIONS.values() for name, number in options.items()}, socket)],
)  # fmt: skip
def test_allowed_arguments_have_the_numbers_of_their_names(allowed: Mapping[str, int], module: ModuleType) -> None:
    known = {name: getattr(module, name) for name in allowed if hasattr(module, name)}

    assert len(known) > 10
    assert {name: allowed[name] for name in known} == known
