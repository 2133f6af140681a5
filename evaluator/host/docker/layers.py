"""Checks of an untrusted image's layers before the engine unpacks them.

A layer of kilobytes may hold a file of gigabytes, by compression or as a sparse file, and the engine unpacks everything. So
every layer is read here first, in constant memory, at least as strictly as by the engine.
"""

import gzip
import hashlib
import re
import zlib
from pathlib import Path
from typing import Protocol

from evaluator.host.errors import AgentFault
from evaluator.model.records.verdict import Verdict

_BLOCK = 512
_UNPACK_BYTES = 1 << 20
# An extended header holds a path and a few attributes; the engine reads it into memory as a whole.
_MAX_HEADER_BYTES = 1 << 20
# Every file costs an inode; a large Python environment has a third of that.
MAX_ENTRIES = 300_000
_GZIP = b"\x1f\x8b"
# The first bytes of other compressions that the engine would unpack.
_OTHER_COMPRESSIONS = (b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
_OCTAL = re.compile(rb"[0-7]*")
_EXTENDED, _GLOBAL, _SPARSE, _LONG = b"x", b"g", b"S", (b"L", b"K")
_WITHOUT_DATA = (b"1", b"2", b"3", b"4", b"5", b"6")
_PAX_RECORD = re.compile(rb"(\d+) ([^=\n]+)=")


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Unpacked:
    """A stream that is counted and hashed while it is read."""

    def __init__(self, stream: _Readable, most: int) -> None:
        self._stream = stream
        self._most = most
        self._hash = hashlib.sha256()
        self.count = 0

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes."""
        data = self._stream.read(min(size, _UNPACK_BYTES))
        self.count += len(data)
        if self.count > self._most:
            raise _fault("unpacks to more than the limit of the whole image; leave out what the agent does not need")
        self._hash.update(data)
        return data

    def exactly(self, size: int) -> bytes:
        """Read exactly `size` bytes, or fewer at the end."""
        parts = []
        while size and (data := self.read(size)):
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def skip(self, size: int) -> None:
        """Skip `size` bytes."""
        while size:
            data = self.read(size)
            if not data:
                raise _fault("ends in the middle of a file")
            size -= len(data)

    def finish(self) -> str:
        """Read to the end; returns the hash of everything."""
        while self.read(_UNPACK_BYTES):
            pass
        return self._hash.hexdigest()


def examine_layers(path: Path, diff_id: str, most: int, entries: int = MAX_ENTRIES) -> tuple[int, int]:
    """The bytes that a layer unpacks to, and its number of entries.

    Args:
        path: the layer as the registry gave it, compressed or not.
        diff_id: SHA-256 of the unpacked layer, as the image's configuration says.
        most: the largest allowed number of bytes.
        entries: the largest allowed number of entries.

    Raises:
        AgentFault: the layer is damaged, not the expected one, or too large.
    """
    with path.open("rb") as file:
        begin = file.read(8)
        file.seek(0)
        if begin.startswith(_OTHER_COMPRESSIONS):
            raise _fault("is compressed with something else than gzip; build the image without 'compression='")
        stream: _Readable = gzip.GzipFile(fileobj=file) if begin.startswith(_GZIP) else file
        unpacked = _Unpacked(stream, most)
        try:
            entry_count = _walk(unpacked, entries)
            digest = unpacked.finish()
        except (OSError, EOFError, zlib.error) as error:
            raise _fault("is damaged: it cannot be unpacked") from error
    if digest != diff_id:
        raise _fault("holds something else than the image's configuration says")
    return unpacked.count, entry_count


def _walk(stream: _Unpacked, entries: int) -> int:
    """Read every header of a tar archive; returns the number of entries."""
    count, override = 0, None
    while any(header := stream.exactly(_BLOCK)):
        if len(header) < _BLOCK:
            raise _fault("ends in the middle of a header")
        kind, size = header[156:157], _number(header[124:136])
        count += 1
        if count > entries:
            raise _fault(f"is one file too many: an image may have {MAX_ENTRIES} in all its layers")
        if kind in (_EXTENDED, _GLOBAL, *_LONG):
            data = _header_data(stream, size)
            if kind in (_EXTENDED, _GLOBAL):
                override = _overridden(data, everywhere=kind == _GLOBAL)
            continue
        size = size if override is None else override
        override = None
        if kind == _SPARSE:
            raise _sparse()
        if kind in _WITHOUT_DATA and size:
            raise _fault("has a link or a folder with bytes of its own")
        stream.skip(_padded(size))
    return count


def _header_data(stream: _Unpacked, size: int) -> bytes:
    if size > _MAX_HEADER_BYTES:
        raise _fault("has an extended header of more than a mebibyte")
    data = stream.exactly(_padded(size))
    if len(data) < size:
        raise _fault("ends in the middle of a header")
    return data[:size]


def _overridden(data: bytes, *, everywhere: bool) -> int | None:
    """The size that an extended header sets for the next file; None if it sets none."""
    if b"GNU.sparse" in data:
        raise _sparse()
    size = None
    while data:
        record = _PAX_RECORD.match(data)
        length = int(record[1][:9]) if record else 0
        if not record or length <= record.end() or data[length - 1 : length] != b"\n":
            raise _fault("has an extended header that cannot be read")
        value, key = data[record.end() : length - 1], record[2]
        data = data[length:]
        if key == b"size":
            if everywhere or not value or len(value) > 15 or not value.isdigit():
                raise _fault("has an extended header that cannot be read")
            size = int(value)
    return size


def _number(field: bytes) -> int:
    """A number of a tar header: octal digits, or big-endian bytes if the first bit is set."""
    if field[0] & 0x80:
        number = int.from_bytes(field, "big") & ((1 << 95) - 1)
        if field[0] & 0x40 or number >= 1 << 62:
            raise _fault("has a header that cannot be read")
        return number
    digits = field.strip(b" \0").split(b"\0")[0]
    if not _OCTAL.fullmatch(digits):
        raise _fault("has a header that cannot be read")
    return int(digits or b"0", 8)


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _sparse() -> AgentFault:
    return _fault("holds a sparse file, which unpacks to more than it says; write the file out")


def _fault(words: str) -> AgentFault:
    return AgentFault(Verdict.INVALID, f"a layer of the image {words}")
