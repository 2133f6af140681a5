"""What an agent may ask for beyond numpy, by name; the locks in evaluator/extras say which versions."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

DEFAULT = "numpy"
GRPC = "grpc"


@dataclass(frozen=True, kw_only=True)
class Extra:
    """One extra of the evaluator image."""

    memory_mib: int
    """Memory that an agent with it has at least, where the challenge's limit is lower."""
    contains: tuple[str, ...] = ()
    """Extras whose lock is part of this one's."""


EXTRAS = {
    "torch": Extra(memory_mib=2048),
    "sb3": Extra(memory_mib=2048, contains=("torch",)),
    "onnx": Extra(memory_mib=1024),
    GRPC: Extra(memory_mib=768),
}
# Which extra an adapter cannot do without.
OF_ADAPTERS = {"sb3": "sb3", "onnx": "onnx", "evalai-grpc": GRPC}


def needed(adapter: str | None, extras: Iterable[str]) -> tuple[str, ...]:
    """The locks to be installed, sorted: what is asked for and what the adapter needs, without what others contain."""
    named = {name for name in extras if name != DEFAULT}
    if adapter in OF_ADAPTERS:
        named.add(OF_ADAPTERS[adapter])
    contained = {inner for name in named for inner in EXTRAS[name].contains}
    return tuple(sorted(named - contained))


def memory_mib(extras: Iterable[str], own: int) -> int:
    """The memory an agent with these extras has."""
    return max([own, *(EXTRAS[name].memory_mib for name in extras)])


def with_extras(runtime_digest: str, extras: Sequence[str], locks: Mapping[str, str]) -> str:
    """The runtime digest of agents that need extras; without any it is as it was. `locks`: extra to its lock's SHA-256."""
    if not extras:
        return runtime_digest
    lines = [runtime_digest, *(f"{name} {locks[name]}" for name in extras)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
