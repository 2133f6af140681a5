"""What the container engine answers, told without its library."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The oldest versions that hold what they promise, and what is wrong with those before.
_OLDEST = {
    "Engine": ((23, 0), "its makers no longer mend what is found in it; your distribution may"),
    "runc": ((1, 1, 12), "a container may reach this machine's files (CVE-2024-21626), unless your distribution mended it"),
}
# The last line of a push. With containerd's store it alone says what was pushed: no event has a field for it.
_PUSHED = re.compile(r"\S+: digest: (sha256:[0-9a-f]{64}) size: \d+")


class EngineError(Exception):
    """The container engine does not answer or refuses; the message says what to do."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused  # it found what it was asked for to be wrong, rather than failing itself


@dataclass(frozen=True, kw_only=True)
class StoredImage:
    """An image that the engine keeps."""

    name: str
    """Repository and tag."""
    size: int
    """Bytes, unpacked."""
    used: str
    """When it was named last, so that the longest unused one sorts first."""


def build_failure(arguments: dict[str, str], last: str, error: str) -> str:
    """Why an image was not built."""
    if " FROM " in last:
        base = arguments.get("BASE_IMAGE", "")[:60]
        return f"the base image {base} cannot be had here; name one that can with BASE_IMAGE=…"
    return f"the evaluator image cannot be built (at '{last[:60]}'): {' '.join(error.split())[:200]}"


def digest_of(reference: str, digests: Iterable[str]) -> str:
    """Of an image's `name@digest`s the one under the reference's own name: containerd's store lists other names, too.

    Raises:
        EngineError: there is none.
    """
    head, slash, last = reference.partition("@")[0].rpartition("/")
    name = f"{head}{slash}{last.partition(':')[0]}"
    for one in digests:
        if one.partition("@")[0] == name:
            return one.partition("@")[2]
    raise EngineError(f"the engine has no digest of {reference}")


def complaints(version: Mapping[str, Any], info: Mapping[str, Any]) -> list[str]:
    """What is wrong with an engine that strangers' agents are to run in, a line each.

    Args:
        version: the engine's answer at /version.
        info: its answer at /info.
    """
    lines = []
    for component in version.get("Components") or ():
        oldest, fault = _OLDEST.get(str(component.get("Name")), ((), ""))
        digits = re.match(r"\d+(\.\d+)*", str(component.get("Version")))
        if oldest and digits and tuple(int(part) for part in digits.group().split(".")) < oldest:
            name = "Docker Engine" if component["Name"] == "Engine" else component["Name"]
            lines.append(f"{name} {digits.group()} is older than {'.'.join(map(str, oldest))}: {fault}")
    if not any(str(option).startswith("name=seccomp") for option in info.get("SecurityOptions") or ()):
        lines.append("the engine filters no system calls (seccomp): strangers' agents have the whole kernel before them")
    return lines


def pushed_digest(target: str, events: Sequence[dict[str, Any]]) -> str:
    """By which digest the registry has what was pushed, as the events of the push say.

    Raises:
        EngineError: one of them is an error, or none says it.
    """
    if error := next((event["error"] for event in events if "error" in event), ""):
        raise EngineError(f"could not push {target}: {error}"[:300])
    for event in reversed(events):
        if digest := event.get("aux", {}).get("Digest"):
            return str(digest)
        if line := _PUSHED.fullmatch(str(event.get("status", ""))):
            return line[1]
    raise EngineError(f"could not push {target}: the engine tells no digest"[:300])
