"""A trace: the actions of every episode, and for each a checksum over observations and rewards."""

import base64
import binascii
import hashlib
import math
import zlib
from typing import TYPE_CHECKING, Self

from pydantic import Field, model_validator

from evaluator.model import canonical_json
from evaluator.model.base import Frozen
from evaluator.model.identifiers import Digest

if TYPE_CHECKING:  # numpy takes long to import, and is needed only to pack or unpack actions
    import numpy as np
    import numpy.typing as npt

TRACE_SCHEMA = 1
# GitHub refuses files of more than 100 MiB.
MAX_TRACE_BYTES = 95 << 20
# Of one leaf, unpacked: a thousand million steps. The lengths are the record's own, so they alone are no bound.
MAX_UNPACKED_BYTES = 1 << 30
# What a sealed trace file holds besides its content, at most.
_SEALED_EXTRA = 128
_DTYPES = ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<i8", "<u8", "<f4", "<f8", "<f2")


def largest_trace(*, sealed: bool) -> int:
    """Bytes that a trace file may have before it is sealed; sealing pads it to a power of two, written in base64."""
    if not sealed:
        return MAX_TRACE_BYTES
    return (1 << (MAX_TRACE_BYTES * 3 // 4 - _SEALED_EXTRA).bit_length() - 1) - _SEALED_EXTRA


def is_recordable(shape: tuple[int, ...]) -> bool:
    """Whether a trace may hold actions of this shape."""
    return len(shape) <= 8 and all(1 <= n <= 1 << 20 for n in shape)


class TraceLeaf(Frozen):
    """All actions of one leaf of the action space, episode after episode."""

    dtype: str
    """Little-endian numpy type of the stored numbers."""
    shape: tuple[int, ...]
    """Shape of one action's leaf."""
    data: str
    """Base64 of the zlib-compressed bytes."""

    def unpacked_bytes(self, steps: int) -> int:
        """Bytes of the actions of so many steps; of at most `MAX_UNPACKED_BYTES` a file is read."""
        return steps * math.prod(self.shape) * int(self.dtype[-1])

    def array(self, steps: int) -> "npt.NDArray[np.generic]":
        """The actions, shape (steps, *shape).

        Raises:
            ValueError: the data is not exactly that many numbers; it is never unpacked further, so a bomb does no harm.
        """
        import numpy as np

        if self.dtype not in _DTYPES or not is_recordable(self.shape):
            raise ValueError("an action leaf of unknown type or shape")
        dtype, size = np.dtype(self.dtype), self.unpacked_bytes(steps)
        if size > MAX_UNPACKED_BYTES:
            raise ValueError("more actions than any file holds")
        try:
            unpack = zlib.decompressobj()
            raw = unpack.decompress(base64.b64decode(self.data, validate=True), size + 1)
        except (zlib.error, binascii.Error) as error:
            raise ValueError(f"the actions cannot be unpacked: {error}") from error
        if len(raw) != size or not unpack.eof or unpack.unused_data:
            raise ValueError(f"the actions are not the {size} bytes that the lengths ask for")
        array = np.frombuffer(raw, dtype).reshape(steps, *self.shape)
        if dtype.kind in "iu" and size and self.dtype != _smallest(int(array.min()), int(array.max())):
            raise ValueError("the actions are not packed as an evaluation packs them; a byte was changed")
        return array

    @classmethod
    def of(cls, actions: "npt.NDArray[np.generic]") -> Self:
        """Pack actions of shape (steps, *shape), integers in the smallest type that holds them."""
        import numpy as np

        if actions.dtype.kind == "b":
            actions = actions.view(np.uint8)
        if actions.dtype.kind in "iu" and actions.size:
            actions = actions.astype(_smallest(int(actions.min()), int(actions.max())))
        little = np.ascontiguousarray(actions, actions.dtype.newbyteorder("<"))
        name = little.dtype.str.replace("|", "")
        data = base64.b64encode(zlib.compress(little.tobytes(), 9)).decode("ascii")
        return cls(dtype=name, shape=actions.shape[1:], data=data)


def _smallest(low: int, high: int) -> str:
    for name in ("u1", "i1", "<u2", "<i2", "<u4", "<i4"):
        bits = 8 * int(name[-1])
        least = 0 if "u" in name else -(2 ** (bits - 1))
        if least <= low and high < least + 2**bits:
            return name
    return "<i8"


class EpisodeTrace(Frozen):
    """What one episode met."""

    length: int = Field(ge=0)
    """Steps; 0 only where a script began an episode and left it."""
    checksum: str = Field(pattern=r"^[0-9a-f]{32}$")
    """BLAKE2b-128 over observations, rewards and end flags, in order."""


class Trace(Frozen):
    """What `verify` replays."""

    schema_version: int = Field(default=TRACE_SCHEMA, alias="schema", ge=1, le=TRACE_SCHEMA)
    key: Digest
    episodes: tuple[EpisodeTrace, ...]
    actions: tuple[TraceLeaf, ...]
    """Every leaf of the action space, in wire order."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if not self.episodes or not self.actions:
            raise ValueError("a trace holds episodes and actions")
        return self

    def steps(self) -> int:
        """The steps of all episodes."""
        return sum(episode.length for episode in self.episodes)

    def serialised(self) -> bytes:
        """The trace file's bytes: the canonical form, so that any change is seen."""
        return canonical_json.canonical(self.model_dump(mode="json", by_alias=True)) + b"\n"

    def sha256(self) -> str:
        """Hash of the trace file, as in its result."""
        return hashlib.sha256(self.serialised()).hexdigest()
