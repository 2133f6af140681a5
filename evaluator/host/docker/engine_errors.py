"""Errors and answers of the container engine, independent of its client library."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.host.errors import SandboxError

# The oldest safe version of each component, and what is wrong with older ones.
_OLDEST_SAFE = {
    "Engine": ((23, 0), "its makers no longer mend what is found in it; your distribution may"),
    "runc": ((1, 1, 12), "a container may reach this machine's files (CVE-2024-21626), unless your distribution mended it"),
}
# The last line of a push. With containerd's image store only this line names the digest, no event field does.
_PUSHED = re.compile(r"\S+: digest: (sha256:[0-9a-f]{64}) size: \d+")


# An OSError as Python shows it.
_SYSTEM_ERROR = re.compile(r"\b\w+Error\(\d+, '([^']+)'\)")
# The versions that an index has, in pip's words: all but the first and the last are left out.
_VERSIONS = re.compile(r"\(from versions: ([^,)]+),[^)]*, ([^,)]+)\)")
# What the engine reports as its own failure though the image is at fault: a WORKDIR that leads nowhere, layers that it
# cannot unpack, and places to mount at that lead in circles, into /proc, or in place of a device. The same messages may end
# with what a machine lacks.
_IMAGE_FAULT = re.compile(
    r"Cannot mkdir|too many links|mkdir /.*: (read-only|file exists)|tar file\(exit status 1\)|unhandled tar"
    r"|lstat /.*: not a directory|too many levels of symbolic links|file name too long|inside /proc|duplicates of file paths"
    r"|archive/tar: |ApplyLayer exit status 1|reopening /dev/null|rootfs at \W*/sbin/docker-init"
)
# Only at the end: before it stand names of the image's own files.
_MACHINE_FAULT = re.compile(
    r"(no space left on device|disk quota exceeded|input/output error|cannot allocate memory|too many open files"
    r'( in system)?)(: unknown)?("\))?$'
)
_REASON = 300
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class EngineError(SandboxError):
    """The container engine does not answer or refuses; the message says what to do."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused  # the request was wrong, and the engine works


@dataclass(frozen=True, kw_only=True)
class StoredImage:
    """An image in the engine's store."""

    name: str
    size: int
    """Bytes, unpacked."""
    used: str
    """When it was last named; sorts by time."""


def is_image_fault(error: str) -> bool:
    """Whether an error that an engine reports as its own failure is an image's fault, and the engine works."""
    return bool(_IMAGE_FAULT.search(error)) and not _MACHINE_FAULT.search(error)


# The end of the message where no engine answers.
OR_PROCESS = " or use --sandbox process"


def no_answer(error: str) -> str:
    """The message where no engine answers. Of the library's text, which wraps it twice, what the system said is kept."""
    said = _SYSTEM_ERROR.search(error)
    reason = said[1] if said else error
    start = "join the group docker" if reason == "Permission denied" else "start Docker"
    return f"no container engine answers ({reason}); {start}{OR_PROCESS}"


def build_failure(arguments: dict[str, str], output: Sequence[str], error: str) -> str:
    """The message of a failed build, from the last lines of its output and the engine's error."""
    if output and " FROM " in output[-1]:
        base = arguments.get("BASE_IMAGE", "")[:60]
        return f"the base image {base} cannot be had here; name one that can with BASE_IMAGE=…"
    return f"the evaluator image cannot be built: {_reason(output) or ' '.join(error.split())[-300:]}"


def _reason(output: Sequence[str]) -> str:
    """Why a step failed: the last line of its output that says ERROR, as pip's do, or else its last line."""
    lines = [" ".join(_COLOURS.sub("", line).split()) for line in output if not line.startswith(("Step ", " ---> "))]
    errors = [line for line in lines if line.startswith(("ERROR:", "E: ", "error:"))]
    reason = _VERSIONS.sub(r"(from versions: \1 … \2)", next(iter([*errors[:1], *reversed(lines)]), ""))
    return reason if len(reason) <= _REASON else f"{reason[: _REASON - 1]}…"


def digest_of(reference: str, digests: Iterable[str]) -> str:
    """The digest among `name@digest`s whose name is the reference's; containerd's image store lists other names too.

    Raises:
        EngineError: there is no such digest.
    """
    head, slash, last = reference.partition("@")[0].rpartition("/")
    name = f"{head}{slash}{last.partition(':')[0]}"
    for listed in digests:
        if listed.partition("@")[0] == name:
            return listed.partition("@")[2]
    raise EngineError(f"the engine has no digest of {reference}")


def engine_warnings(version: Mapping[str, Any], info: Mapping[str, Any]) -> list[str]:
    """Faults of an engine that is to run strangers' agents, one line each.

    The arguments are the engine's answers at /version and /info.
    """
    lines = []
    for component in version.get("Components") or ():
        oldest, fault = _OLDEST_SAFE.get(str(component.get("Name")), ((), ""))
        digits = re.match(r"\d+(\.\d+)*", str(component.get("Version")))
        if oldest and digits and tuple(int(part) for part in digits.group().split(".")) < oldest:
            name = "Docker Engine" if component["Name"] == "Engine" else component["Name"]
            lines.append(f"{name} {digits.group()} is older than {'.'.join(map(str, oldest))}: {fault}")
    if not any(str(option).startswith("name=seccomp") for option in info.get("SecurityOptions") or ()):
        lines.append("the engine filters no system calls (seccomp): strangers' agents have the whole kernel before them")
    if info.get("CgroupVersion") == "1":
        words = "does not count what internet sockets hold: an agent with 'loopback' takes 100 MiB beside its limit"
        lines.append(f"memory is limited by control groups of version 1, which {words}; start the machine with version 2")
    return lines


def pushed_digest(target: str, events: Sequence[dict[str, Any]]) -> str:
    """The digest of a pushed image, from the events of the push.

    Raises:
        EngineError: an event is an error, or none holds the digest.
    """
    if error := next((event["error"] for event in events if "error" in event), ""):
        raise EngineError(f"could not push {target}: {error}"[:300])
    for event in reversed(events):
        if digest := event.get("aux", {}).get("Digest"):
            return str(digest)
        if line := _PUSHED.fullmatch(str(event.get("status", ""))):
            return line[1]
    raise EngineError(f"could not push {target}: the engine tells no digest"[:300])
