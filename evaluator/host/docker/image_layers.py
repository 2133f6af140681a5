"""Layers of an untrusted image: each is read here, in constant memory, and the engine gets what we write of it.

The engine unpacks all that it is given, and a tar header can be read in more than one way. So it is given an archive of
ours, with files, folders and links only: no device or pipe, owner, attribute, sparse file or compression. Where we misread
a layer its agent has other files, and the machine is in no danger.
"""

import gzip
import hashlib
import io
import posixpath
import re
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evaluator.host.errors import AgentFault
from evaluator.model.records.verdict import Verdict

# Every file costs an inode; a large Python environment has a third of that.
MAX_ENTRIES = 300_000
_BLOCK = 512
_PIECE_BYTES = 1 << 20
# An extended header holds a path and a few attributes, and is read as a whole.
_MAX_HEADER_BYTES = 1 << 20
# Thousands of small ones in each header would keep us for an hour and more, while no other image can be fetched.
_MAX_RECORDS = 100
# By links to long rows of folders a name of a hundred bytes leads through tens of thousands, and each step takes time: the
# engine unpacked a layer of kilobytes for minutes, without any clock. A link may lead through fewer: a short name goes
# through forty of them.
_MAX_SLASHES, _MAX_LINK_SLASHES = 50, 20
# The engine holds each header of a folder in memory, twice over: 300,000 names of four kilobytes were 4 GiB.
_MAX_NAME_BYTES = 1000
_GZIP = b"\x1f\x8b"
# Other compressions, which no agent needs.
_OTHER_COMPRESSIONS = (b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
_OCTAL = re.compile(rb"[0-7]*")
_PAX_RECORD = re.compile(rb"(\d{1,9}) ([^=\n]+)=")
_FILES, _HARD, _SYMBOLIC, _FOLDER = (b"0", b"\0", b"7"), b"1", b"2", b"5"
_EXTENDED, _GLOBAL, _LONG_NAME, _LONG_LINK, _SPARSE = b"x", b"g", b"L", b"K", b"S"
# The engine mounts a /dev of its own, and nobody needs the image's pipes.
_LEFT_OUT = (b"3", b"4", b"6")
# Names by which an engine's file system keeps books in a layer; the second is a folder's that hides what lies below it.
_BOOKKEEPING, _OPAQUE = b".wh..wh.", b".wh..wh..opq"
_PERMISSIONS = 0o1777
_LAST_TIME = (1 << 33) - 1


@dataclass(frozen=True, kw_only=True)
class Layer:
    """An archive that an engine unpacks."""

    diff_id: str
    """Its SHA-256."""
    size: int
    """Bytes."""
    pieces: Callable[[], Iterator[bytes]]
    """Writes it anew at each call."""


@dataclass(frozen=True, kw_only=True)
class CheckedLayer:
    """A layer of an untrusted image that is within its limits."""

    written: Layer
    unpacked: int
    """Bytes of the archive that was read."""
    entries: int
    """Files, folders and links, with the folders that the engine makes though none is listed."""


def check_layer(
    path: Path, diff_id: str, most: int, entries: int = MAX_ENTRIES, check: Callable[[], None] = lambda: None
) -> CheckedLayer:
    """Read a layer to its end.

    Args:
        path: the file, which is read again whenever the layer is written.
        diff_id: SHA-256 of the unpacked layer, as the image's configuration says.
        most: bytes that it may unpack to.
        entries: how many it may have.
        check: called again and again; raises when there is no time left.

    Raises:
        AgentFault: the layer is damaged, not the expected one, or too large.
    """
    reader = _LayerReader(path, most, entries, check)
    digest, size = hashlib.sha256(), 0
    for piece in reader.pieces():
        digest.update(piece)
        size += len(piece)
    if reader.digest() != diff_id:
        raise _fault("holds something else than the image's configuration says")
    # The second time takes no longer than the first, which had its clock.
    written = Layer(
        diff_id=digest.hexdigest(), size=size, pieces=lambda: _LayerReader(path, most, entries, lambda: None).pieces()
    )
    return CheckedLayer(written=written, unpacked=reader.count, entries=reader.entries)


def pack_layer(files: Iterable[tuple[tarfile.TarInfo, bytes]]) -> Layer:
    """Pack files of ours into a layer."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for member, content in files:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    content = buffer.getvalue()
    return Layer(diff_id=hashlib.sha256(content).hexdigest(), size=len(content), pieces=lambda: iter([content]))


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class _Watched:
    """A stream that asks before each reading whether there is time left: compressed, it may yield nothing for hours."""

    stream: _Readable
    check: Callable[[], None]

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes."""
        self.check()
        return self.stream.read(size)


@dataclass
class _Extended:
    """What the headers before an entry's own say of it."""

    name: bytes = b""
    link: bytes = b""
    size: int | None = None


class _LayerReader:
    """Reads a layer once, and writes it anew meanwhile."""

    def __init__(self, path: Path, most: int, entries: int, check: Callable[[], None]) -> None:
        self._path = path
        self._most = most
        self._most_entries = entries
        self._check = check
        self._hash = hashlib.sha256()
        self._stream: _Readable = io.BytesIO()
        self._folders = [b""]
        self.count = 0
        self.entries = 0

    def digest(self) -> str:
        """SHA-256 of all that was unpacked."""
        return self._hash.hexdigest()

    def pieces(self) -> Iterator[bytes]:
        """The layer as it is written, in pieces of about a mebibyte."""
        with self._path.open("rb") as file:
            begin = file.read(8)
            file.seek(0)
            if begin.startswith(_OTHER_COMPRESSIONS):
                raise _fault("is compressed with something else than gzip; build the image without 'compression='")
            packed: Any = _Watched(file, self._check)
            self._stream = gzip.GzipFile(fileobj=packed) if begin.startswith(_GZIP) else packed
            try:
                yield from _joined(self._written())
                while self._read(_PIECE_BYTES):
                    pass
            except (OSError, EOFError, zlib.error) as error:
                raise _fault("is damaged: it cannot be unpacked") from error

    def _written(self) -> Iterator[bytes]:
        # First, so that no name of theirs is where the engine looks for a compression.
        yield _header(tarfile.DIRTYPE, b".", mode=0o755)
        extended = _Extended()
        while any(header := self._exactly(_BLOCK)):
            if len(header) < _BLOCK:
                raise _fault("ends in the middle of a header")
            kind, size = header[156:157], _number(header[124:136])
            self._count(1)
            if kind in (_EXTENDED, _GLOBAL, _LONG_NAME, _LONG_LINK):
                self._extend(extended, kind, self._header_data(size))
                continue
            yield from self._entry(header, extended, size if extended.size is None else extended.size)
            extended = _Extended()
        yield bytes(2 * _BLOCK)

    def _entry(self, header: bytes, extended: _Extended, size: int) -> Iterator[bytes]:
        """One entry as it is written; nothing if it is left out."""
        kind, raw_name = header[156:157], extended.name or _own_name(header)
        target = (extended.link or _text(header[157:257])) if kind in (_HARD, _SYMBOLIC) else b""
        if max(len(raw_name), len(target)) > _MAX_NAME_BYTES:
            raise _fault(f"has a name or a link of more than {_MAX_NAME_BYTES:,} bytes")
        name = posixpath.normpath(b"/" + raw_name).lstrip(b"/") or b"."
        if kind in _FILES and raw_name.endswith(b"/"):
            kind = _FOLDER
        if kind == _SPARSE:
            raise _sparse()
        if kind not in (*_FILES, _HARD, _SYMBOLIC, _FOLDER, *_LEFT_OUT):
            raise _fault("has an entry of an unknown kind; build it with a common tool")
        if name == b"." and kind != _FOLDER:
            raise _fault("has something else than a folder as its root")
        if kind not in _FILES and size:
            raise _fault("has a link or a folder with bytes of its own")
        self._check_folders(name)
        if kind in (_HARD, _SYMBOLIC) and target.count(b"/") > _MAX_LINK_SLASHES:
            raise _fault(f"has a link through more than {_MAX_LINK_SLASHES} folders; lead it there by a shorter way")
        if kind == _HARD:
            target = posixpath.normpath(b"/" + target).lstrip(b"/")
        places = name.split(b"/") + (target.split(b"/") if kind == _HARD else [])
        is_bookkeeping = any(part.startswith(_BOOKKEEPING) and part != _OPAQUE for part in places)
        if kind in _LEFT_OUT or is_bookkeeping or name == b".":  # the root is written already, and engines take it once
            self._skip(size)
            return
        mode, time = _number(header[100:108]) & _PERMISSIONS, min(_number(header[136:148]), _LAST_TIME)
        yield _header(tarfile.REGTYPE if kind in _FILES else kind, name, target=target, size=size, mode=mode, time=time)
        yield from self._data(size)

    def _check_folders(self, name: bytes) -> None:
        """Count folders that the entry before is not below: the engine makes them, listed or not."""
        folders = name.split(b"/")
        if len(folders) > _MAX_SLASHES + 1:
            raise _fault(f"has a file below more than {_MAX_SLASHES} folders")
        above = [b"", *folders[:-1]]
        pairs = zip(above, self._folders, strict=False)
        differ = (index for index, (one, other) in enumerate(pairs) if one != other)
        self._count(len(above) - next(differ, min(len(above), len(self._folders))))
        self._folders = [b"", *folders]

    def _count(self, entries: int) -> None:
        self.entries += entries
        if self.entries > self._most_entries:
            raise _fault(f"is one file too many: an image may have {MAX_ENTRIES} in all its layers, and folders count, too")

    def _header_data(self, size: int) -> bytes:
        if size > _MAX_HEADER_BYTES:
            raise _fault("has an extended header of more than a mebibyte")
        data = self._exactly(_padded(size))
        if len(data) < size:
            raise _fault("ends in the middle of a header")
        return data[:size]

    @staticmethod
    def _extend(extended: _Extended, kind: bytes, data: bytes) -> None:
        if kind == _LONG_NAME:
            extended.name = _text(data)
        elif kind == _LONG_LINK:
            extended.link = _text(data)
        elif kind == _EXTENDED:
            _read_records(extended, data)

    def _read(self, size: int) -> bytes:
        """Read at most `size` bytes; counted and hashed."""
        data = self._stream.read(min(size, _PIECE_BYTES))
        self.count += len(data)
        if self.count > self._most:
            raise _fault("unpacks to more than the limit of the whole image; leave out what the agent does not need")
        self._hash.update(data)
        return data

    def _exactly(self, size: int) -> bytes:
        """Read exactly `size` bytes, or fewer at the end."""
        parts = []
        while size and (data := self._read(size)):
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def _data(self, size: int) -> Iterator[bytes]:
        """The bytes of a file, up to the next header."""
        left = _padded(size)
        while left:
            piece = self._read(left)
            if not piece:
                raise _fault("ends in the middle of a file")
            left -= len(piece)
            yield piece

    def _skip(self, size: int) -> None:
        for _ in self._data(size):
            pass


def _header(kind: bytes, name: bytes, *, target: bytes = b"", size: int = 0, mode: int = 0, time: int = 0) -> bytes:
    member = tarfile.TarInfo(name.decode("utf-8", "surrogateescape"))
    member.type, member.size, member.mode, member.mtime = kind, size, mode, time
    member.linkname = target.decode("utf-8", "surrogateescape")
    return member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer pieces: each is sent by itself."""
    parts, size = [], 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= _PIECE_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _own_name(header: bytes) -> bytes:
    name, before = _text(header[:100]), _text(header[345:500])
    is_posix = header[257:263] == b"ustar\0"
    return b"/".join(filter(None, (before, name))) if is_posix else name


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _read_records(extended: _Extended, data: bytes) -> None:
    """Take the name, the link's target and the size from the records of an extended header."""
    if b"GNU.sparse" in data:
        raise _sparse()
    for _ in range(_MAX_RECORDS):
        if not data:
            return
        record = _PAX_RECORD.match(data)
        length = int(record[1]) if record else 0
        if not record or length <= record.end() or data[length - 1 : length] != b"\n":
            raise _unreadable("an extended header")
        key, value = record[2], data[record.end() : length - 1]
        data = data[length:]
        if key == b"path":
            extended.name = _text(value)
        elif key == b"linkpath":
            extended.link = _text(value)
        elif key == b"size":
            if not value.isdigit() or len(value) > 15:
                raise _unreadable("an extended header")
            extended.size = int(value)
    if data:
        raise _fault(f"has an extended header of more than {_MAX_RECORDS} records")


def _number(field: bytes) -> int:
    """A number of a tar header: octal digits, or big-endian bytes if the first bit is set."""
    if field[0] & 0x80:
        number = int.from_bytes(field, "big") & ((1 << (8 * len(field) - 1)) - 1)
        if field[0] & 0x40 or number >= 1 << 62:
            raise _unreadable("a header")
        return number
    digits = field.strip(b" \0").split(b"\0")[0]
    if not _OCTAL.fullmatch(digits):
        raise _unreadable("a header")
    return int(digits or b"0", 8)


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _sparse() -> AgentFault:
    return _fault("holds a sparse file, which unpacks to more than it says; write the file out")


def _unreadable(what: str) -> AgentFault:
    return _fault(f"has {what} that cannot be read")


def _fault(words: str) -> AgentFault:
    return AgentFault(Verdict.INVALID, f"a layer of the image {words}")
