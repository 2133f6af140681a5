"""What an engine's answers say of its age, and the profile that every engine is given."""

import json
import re
import socket
from typing import Any

import pytest

from evaluator.host.docker.engine_errors import complaints, no_answer
from evaluator.host.docker.seccomp import seccomp_profile

SECCOMP = {"SecurityOptions": ["name=apparmor", "name=seccomp,profile=default"]}
# No agent has any business with these: other processes, namespaces, file systems, the kernel itself.
NEVER = {
    "acct", "add_key", "bpf", "chroot", "delete_module", "fanotify_init", "finit_module", "fsopen", "init_module",
    "inotify_init", "inotify_init1", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kcmp",
    "kexec_load", "keyctl", "memfd_create", "memfd_secret", "mount", "move_mount", "mq_open", "msgget", "open_by_handle_at",
    "open_tree", "perf_event_open", "pidfd_getfd", "pivot_root", "process_madvise", "process_vm_readv", "process_vm_writev",
    "ptrace", "quotactl", "reboot", "request_key", "seccomp", "semget", "setns", "shmget", "swapon", "syslog", "umount2",
    "unshare", "userfaultfd", "vmsplice",
}  # fmt: skip


def components(**versions: str) -> dict[str, Any]:
    return {"Components": [{"Name": name, "Version": version} for name, version in versions.items()]}


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        ({"Engine": "28.2.2", "runc": "1.2.6"}, []),
        ({"Engine": "23.0", "runc": "1.1.12"}, []),
        ({"Engine": "20.10.24+dfsg1", "runc": "1.1.12"}, ["Docker Engine 20.10.24 is older than 23.0"]),
        ({"Engine": "27.0.1-rc.1", "runc": "1.1.5+ds1"}, ["runc 1.1.5 is older than 1.1.12"]),
        ({"Engine": "dev", "runc": ""}, []),
    ],
)
def test_an_engine_that_is_too_old_is_named(versions: dict[str, str], says: list[str]) -> None:
    assert [line.partition(":")[0] for line in complaints(components(**versions), SECCOMP)] == says


@pytest.mark.parametrize("info", [{}, {"SecurityOptions": None}, {"SecurityOptions": ["name=apparmor"]}])
def test_an_engine_without_seccomp_is_named(info: dict[str, Any]) -> None:
    (line,) = complaints({}, info)

    assert line.startswith("the engine filters no system calls")


@pytest.mark.parametrize("is_gvisor", [False, True])
def test_the_profile_lets_through_only_what_it_names(is_gvisor: bool) -> None:
    profile = json.loads(seccomp_profile(loopback=False, is_gvisor=is_gvisor))
    allowed = {name for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}

    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert not allowed & NEVER
    assert all(re.fullmatch("[a-z0-9_]+", name) for name in allowed)
    assert [name for rule in profile["syscalls"] for name in rule["names"] if not rule.get("args")].count("socket") == 0


def families(*, loopback: bool) -> set[int]:
    rules = [rule for rule in json.loads(seccomp_profile(loopback=loopback))["syscalls"] if rule["names"] == ["socket"]]
    assert all(len(rule["args"]) == 1 and rule["args"][0]["op"] == "SCMP_CMP_EQ" for rule in rules)
    return {rule["args"][0]["value"] for rule in rules}


def test_only_who_asks_for_the_loopback_makes_internet_sockets() -> None:
    assert families(loopback=False) == {1}
    assert families(loopback=True) == {1, 2, 10}


@pytest.mark.parametrize("loopback", [False, True])
def test_no_socket_is_told_to_linger(loopback: bool) -> None:
    rules = [rule for rule in json.loads(seccomp_profile(loopback=loopback))["syscalls"] if "setsockopt" in rule["names"]]
    wanted = [{argument["index"]: argument["value"] for argument in rule["args"]} for rule in rules]

    assert {argument["op"] for rule in rules for argument in rule["args"]} == {"SCMP_CMP_EQ"}
    assert {rule.get(2) for rule in wanted if rule[1] == socket.SOL_SOCKET} & {None, socket.SO_LINGER} == set()
    assert {rule[1] for rule in wanted} == ({0, 1, 6, 17, 41} if loopback else {1})


@pytest.mark.parametrize(
    ("system", "words"),
    [
        (
            "FileNotFoundError(2, 'No such file or directory')",
            "(No such file or directory); start Docker or use --sandbox process",
        ),
        ("PermissionError(13, 'Permission denied')", "(Permission denied); join the group docker or use --sandbox process"),
        (
            "other",
            "(Error while fetching server API version: ('Connection aborted.', other)); start Docker or",
        ),
    ],
)
def test_where_no_engine_answers_the_systems_own_words_say_why(system: str, words: str) -> None:
    said = no_answer(f"Error while fetching server API version: ('Connection aborted.', {system})")

    assert said.startswith(f"no container engine answers {words}")
