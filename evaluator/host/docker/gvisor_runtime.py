"""gVisor as the engine's runtime: what is wrong with it, and the build of runsc that workflows install."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GVISOR_RUNTIME = "runsc"
# Without it gVisor ignores the list of system calls, and programs in memory can be run.
_FILTERING = "--oci-seccomp"
RUNTIME_ARGUMENTS = ("--platform=systrap", "--host-uds=open", "--network=none", _FILTERING)
# gVisor's release of 29 July 2024 as Debian 12 builds it, one static binary: the newest that the attacks of our tests were
# played in. Its platform systrap needs nothing of the machine.
RUNSC_VERSION = "0.0~20240729.0-4~bpo12+2"


@dataclass(frozen=True, kw_only=True)
class RunscPackage:
    """Debian's package of runsc for one architecture, pinned by its bytes."""

    file: str
    sha256: str
    sha1: str
    """Its name in Debian's archive of all packages that ever were."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Where it can be had: Debian's mirrors while it is the newest there, its archive after that."""
        return (
            f"https://deb.debian.org/debian/pool/main/g/golang-gvisor-gvisor/{self.file}",
            f"https://snapshot.debian.org/file/{self.sha1}",
        )


RUNSC_PACKAGES: Mapping[str, RunscPackage] = {
    "x86_64": RunscPackage(
        file=f"runsc_{RUNSC_VERSION}_amd64.deb",
        sha256="afdde883e3876ea807e19c708d4432674a20cb10186a7a5b554d62f38ea8de46",
        sha1="22dfdfc034fafe96521c363749972cb50e66038d",
    ),
    "aarch64": RunscPackage(
        file=f"runsc_{RUNSC_VERSION}_arm64.deb",
        sha256="b984477f968f9dfe15564d19f6654863327e01244935526d8eecd1741a0bd49d",
        sha1="c2eeb6d0ec72f57ddfeb28eff2a8d31453b0973b",
    ),
}


def runtime_fault(runtimes: Mapping[str, Any]) -> str | None:
    """What is wrong with gVisor among an engine's runtimes, in one line; None if it can be used.

    `runtimes`: the engine's answer at /info, by the runtime's name; older engines leave out arguments that are not set.
    """
    runsc = runtimes.get(GVISOR_RUNTIME)
    if runsc is None:
        return "gVisor is missing here: the engine has no runtime runsc"
    if _FILTERING not in (runsc.get("runtimeArgs") or ()):
        return f"gVisor filters no system calls here: runsc lacks {_FILTERING} in its runtimeArgs"
    return None


def gpus_fault(runtimes: Mapping[str, Any]) -> str | None:
    """Why gVisor hands no graphics cards on, in one line; None if it does."""
    arguments = (runtimes.get(GVISOR_RUNTIME) or {}).get("runtimeArgs") or ()
    if any(argument.removesuffix("=true") in ("--nvproxy", "-nvproxy") for argument in arguments):
        return None
    return "gVisor hands no graphics cards on here: runsc lacks --nvproxy in its runtimeArgs"


def with_runtime(settings: str, path: str) -> str:
    """The engine's daemon.json with runsc at a path among its runtimes; everything else stays.

    Raises:
        ValueError: the settings are no JSON.
        TypeError: they are no JSON object.
    """
    document = json.loads(settings) if settings.strip() else {}
    if not isinstance(document, dict):
        raise TypeError("not a JSON object")
    runtime = {"path": path, "runtimeArgs": list(RUNTIME_ARGUMENTS)}
    document["runtimes"] = {**(document.get("runtimes") or {}), GVISOR_RUNTIME: runtime}
    return json.dumps(document, indent=2) + "\n"
