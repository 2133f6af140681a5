"""The frame format of host and sandbox: standard library only, nothing executable, no pickle.

A frame is a u32 body length, a u8 opcode and the body, all little-endian. `protocol.md` describes it for other languages.
"""

import enum
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

PROTOCOL_VERSION = 1
# In a game, the answer for a position for which the player returned no integer.
MALFORMED = -(1 << 63)
HEADER = struct.Struct("<IB")
COUNT = struct.Struct("<II")
LANE = struct.Struct("<HBxI")
INTEGER = struct.Struct("<q")
# The end of a STEPPED body about one environment: reward, and the terminated and truncated flags.
STEPPED_TAIL = struct.Struct("<dQQ")
ALIGNMENT = 8
ERROR_BYTES = 8192


@enum.unique
class Op(enum.IntEnum):
    """The kind of a frame."""

    HELLO = 1
    READY = 2
    ACT = 3
    ACTIONS = 4
    CLOSE = 5
    ERROR = 6
    OVER = 7
    MAKE = 8
    MADE = 9
    RESET = 10
    BEGUN = 11
    STEP = 12
    STEPPED = 13
    RELEASE = 14
    RELEASED = 15
    DONE = 16
    REFUSED = 17


@enum.unique
class ErrorReason(enum.StrEnum):
    """The reason in an ERROR frame."""

    INVALID = "invalid"
    CRASHED = "crashed"
    MEMORY = "memory"
    PROTOCOL = "protocol"


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaf:
    """One contiguous array of a space: all of Box, Discrete, MultiDiscrete and MultiBinary are one leaf."""

    path: tuple[str | int, ...]
    """Keys and indices from the space's root."""
    dtype: str
    """Little-endian numpy type, such as `<f4`."""
    shape: tuple[int, ...]
    """Shape of one value."""

    nbytes: int
    """Bytes of one value."""

    @classmethod
    def of(cls, path: tuple[str | int, ...], dtype: str, shape: tuple[int, ...]) -> Self:
        """A leaf with its computed size."""
        return cls(path=path, dtype=dtype, shape=shape, nbytes=math.prod(shape) * int(dtype[2:]))


def leaves(space: dict[str, Any], path: tuple[str | int, ...] = ()) -> Iterator[Leaf]:
    """The leaves of a described space in wire order: Dict keys sorted, Tuple in order."""
    match space["type"]:
        case "Dict":
            for key in sorted(space["spaces"]):
                yield from leaves(space["spaces"][key], (*path, key))
        case "Tuple":
            for index, inner in enumerate(space["spaces"]):
                yield from leaves(inner, (*path, index))
        case "Discrete":
            yield Leaf.of(path, "<i8", ())
        case _:
            yield Leaf.of(path, space["dtype"], tuple(space["shape"]))


def padded_size(size: int) -> int:
    """The size rounded up to the alignment of a leaf."""
    return -size % ALIGNMENT + size


def frame(op: Op, *parts: bytes | memoryview) -> bytes:
    """A frame of this kind, whose body is the parts."""
    return b"".join((HEADER.pack(sum(map(len, parts)), op), *parts))


def padding(size: int) -> bytes:
    """The zero bytes that pad a leaf of this size to the alignment."""
    return bytes(-size % ALIGNMENT)


def body_size(parts: tuple[Leaf, ...], count: int) -> int:
    """Bytes of all leaves of `count` values, each leaf padded."""
    return sum(padded_size(leaf.nbytes * count) for leaf in parts)


def slices(parts: tuple[Leaf, ...], count: int, start: int = 0) -> Iterator[tuple[Leaf, slice]]:
    """Where each leaf of `count` values lies in a body."""
    for leaf in parts:
        size = leaf.nbytes * count
        yield leaf, slice(start, start + size)
        start += padded_size(size)


def act_head(lanes: list[tuple[int, bool, int]]) -> bytes:
    """The head of an ACT body: for each lane its number, whether an episode starts, and the agent's seed for it."""
    return COUNT.pack(len(lanes), 0) + b"".join(LANE.pack(*lane) for lane in lanes)
