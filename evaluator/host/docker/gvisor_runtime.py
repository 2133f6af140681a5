"""gVisor as the engine's runtime: what is wrong with it, and the settings that name it."""

import json
from collections.abc import Mapping
from typing import Any

GVISOR_RUNTIME = "runsc"
# Without it gVisor ignores the list of system calls, and programs in memory can be run.
_FILTERING = "--oci-seccomp"
RUNTIME_ARGUMENTS = ("--platform=systrap", "--host-uds=open", "--network=none", _FILTERING)


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
