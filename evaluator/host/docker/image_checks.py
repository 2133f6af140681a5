"""Checks of an untrusted image before the engine unpacks it: its manifest and configuration, then its layers.

A layer of kilobytes may hold a file of gigabytes, by compression or as a sparse file, and the engine unpacks everything. So
every layer is read here first, in constant memory, at least as strictly as by the engine.
"""

import gzip
import hashlib
import io
import json
import posixpath
import re
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evaluator.host.errors import AgentFault
from evaluator.host.usage import MIB
from evaluator.model.records.verdict import Verdict

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_LISTS = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
# One fewer than the engine's file system can stack, for our own.
_MAX_LAYERS = 124
_MAX_CONFIG_BYTES = 1 << 20
# The engine compares every variable with every other one: 40,000 kept it busy for two minutes.
_MAX_WORDS = 1000
# Bytes of a WORKDIR: the kernel takes no longer name of a file, and the engine no longer row of folders.
_MAX_FOLDER = 255
# The only fields kept of a configuration. VOLUME would be writable space without a limit, HEALTHCHECK a second program,
# USER another user, and LABEL could claim another owner of the container.
_KEPT_FIELDS = ("Entrypoint", "Cmd", "Env")
# Variables by which a runtime for graphics cards, where it is the engine's default, hands out what only the image asks for.
# CUDA's own is read by the program alone.
_ASKS_FOR_CARDS = re.compile(r"NVIDIA_|(?!CUDA_)\w*_VISIBLE_DEVICES=")


@dataclass(frozen=True, kw_only=True)
class BlobDescriptor:
    """A file in a registry."""

    digest: str
    """64 hexadecimal digits."""
    size: int
    """Bytes, as announced."""


@dataclass(frozen=True, kw_only=True)
class ImageManifest:
    """The files of an image."""

    config: BlobDescriptor
    layers: tuple[BlobDescriptor, ...]
    """From the lowest to the highest."""


@dataclass(frozen=True, kw_only=True)
class ImageConfig:
    """An image's configuration, reduced to how it is started, with our layer above its own."""

    diff_ids: tuple[str, ...]
    """SHA-256 of each unpacked layer."""
    document: bytes


def read_manifest(body: bytes, platform: str, fetch: Callable[[str], bytes], image_mib: int) -> ImageManifest:
    """The manifest for a platform such as `linux/amd64`, also if `body` is a list of manifests.

    Raises:
        AgentFault: there is none, it is invalid, or the image is too large.
    """
    value = _object(body)
    if value.get("mediaType") in _LISTS or "manifests" in value:
        value = _object(fetch(_choose(value, platform)))
    if value.get("schemaVersion") != 2 or not isinstance(value.get("layers"), list):
        raise _fault("has a manifest of an old kind; build it with a newer tool")
    layers = tuple(_blob(layer) for layer in value["layers"])
    if len(layers) > _MAX_LAYERS:
        raise _fault(f"has {len(layers)} layers, the limit is {_MAX_LAYERS}; copy it into fewer")
    check_size(sum(layer.size for layer in layers), image_mib, "in its registry")
    config = _blob(value.get("config"))
    if config.size > _MAX_CONFIG_BYTES:
        raise _fault("has a configuration of more than a mebibyte")
    return ImageManifest(config=config, layers=layers)


def check_size(size: int, image_mib: int, where: str) -> None:
    """Raise AgentFault for an image that is too large."""
    if size > image_mib * MIB:
        words = f"has {-(-size // MIB)} MiB {where}, the limit is {image_mib} MiB; leave out what the agent does not need"
        raise _fault(words)


def read_config(body: bytes, platform: str, layers: int) -> ImageConfig:
    """The configuration of an image, reduced to how it is started; raises AgentFault where it cannot be run here."""
    value = _object(body)
    _check_platform(value, platform)
    rootfs = value.get("rootfs")
    listed = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
    if not isinstance(listed, list) or len(listed) != layers:
        raise _fault("has another number of layers in its configuration than in its manifest")
    diff_ids = tuple(_digest(name) for name in listed)
    settings = value.get("config")
    original: dict[str, Any] = settings if isinstance(settings, dict) else {}
    kept: dict[str, Any] = {name: _words(original, name) for name in _KEPT_FIELDS}
    kept["Env"] = [word for word in kept["Env"] if not _ASKS_FOR_CARDS.match(word)]
    if not kept["Entrypoint"] and not kept["Cmd"]:
        raise _fault("has neither ENTRYPOINT nor CMD; say in its Dockerfile what is to be run")
    where = original.get("WorkingDir") or "/"
    if not isinstance(where, str) or not where.startswith("/") or "\0" in where:
        raise _fault("has a WORKDIR that is not an absolute path")
    if len(where.encode("utf-8", "replace")) > _MAX_FOLDER:
        raise _fault(f"has a WORKDIR of more than {_MAX_FOLDER} bytes")
    system, _, machine = platform.partition("/")
    stacked = (*diff_ids, hashlib.sha256(USERS_LAYER).hexdigest())
    document = {
        "architecture": machine,
        "os": system,
        "config": {**kept, "WorkingDir": where},
        "rootfs": {
            "type": "layers",
            "diff_ids": [f"sha256:{name}" for name in stacked],
        },
    }
    return ImageConfig(diff_ids=diff_ids, document=json.dumps(document, sort_keys=True).encode())


# Where the engine mounts, and their modes: it gives what it mounts at /tmp that of the folder. With a file, a pipe or a link
# of the image's there it fails as if by itself, or mounts elsewhere.
_MOUNTED = {"channel": 0o755, "submission": 0o755, "tmp": 0o1777}


def _users_layer() -> bytes:
    """A layer with lists of users and groups that nobody needs: an agent's own user stands in none."""
    lists = {"etc/passwd": b"root:x:0:0:root:/:\n", "etc/group": b"root:x:0:\n"}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, mode in {"etc": 0o755, **_MOUNTED}.items():
            member = tarfile.TarInfo(name)
            member.type, member.mode = tarfile.DIRTYPE, mode
            tar.addfile(member)
        for name, content in lists.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


# Lies above an image's own layers. The engine reads both lists itself whenever it starts a container: it waits for ever for
# a pipe, reads a device without end, and gigabytes of empty lines for minutes.
USERS_LAYER = _users_layer()


def _choose(value: dict[str, Any], platform: str) -> str:
    """The digest of the manifest for a platform."""
    listed = value.get("manifests")
    platforms = []
    for item in listed if isinstance(listed, list) else ():
        about = item.get("platform") if isinstance(item, dict) else None
        if isinstance(about, dict):
            name = f"{about.get('os')}/{about.get('architecture')}"
            if name == platform:
                return _digest(item.get("digest"))
            platforms.append(name)
    raise _other_platform(sorted(set(platforms) - {"unknown/unknown"}), platform)


def _check_platform(value: dict[str, Any], platform: str) -> None:
    name = f"{value.get('os')}/{value.get('architecture')}"
    if name != platform:
        raise _other_platform([name], platform)


def _other_platform(names: list[str], platform: str) -> AgentFault:
    platforms = ", ".join(name[:40] for name in names[:5]) or "nothing that is named"
    return _fault(f"is for {platforms}, and this board runs {platform}; build it with '--platform {platform}'")


def _blob(value: Any) -> BlobDescriptor:
    if not isinstance(value, dict) or type(value.get("size")) is not int or value["size"] < 0:
        raise _unreadable()
    kind = str(value.get("mediaType"))
    if "foreign" in kind or "nondistributable" in kind or value.get("urls"):
        raise _fault("has a layer that is kept outside its registry")
    if kind.endswith(("zstd", "encrypted")):
        raise _fault("has a layer that is compressed with zstd or encrypted; build it with gzip")
    return BlobDescriptor(digest=_digest(value.get("digest")), size=value["size"])


def _digest(value: Any) -> str:
    match = _DIGEST.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise _unreadable()
    return match[1]


def _words(config: dict[str, Any], name: str) -> list[str]:
    """A list of strings without zero bytes, which would cut an argument short."""
    words = config.get(name) or []
    if not isinstance(words, list) or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise _fault(f"has a configuration whose {name} is not a list of words")
    if len(words) > _MAX_WORDS:
        raise _fault(f"has a configuration whose {name} has {len(words)} words, the limit is {_MAX_WORDS}")
    if name == "Env" and not all(word.partition("=")[0] and "=" in word for word in words):
        raise _fault("has an ENV without a name or a value")
    return words


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _unreadable()
    return value


def _unreadable() -> AgentFault:
    return _fault("has a manifest or a configuration that cannot be read; push it again")


def _fault(words: str) -> AgentFault:
    return AgentFault(Verdict.INVALID, f"the image {words}")


_BLOCK = 512
_UNPACK_BYTES = 1 << 20
# An extended header holds a path and a few attributes; the engine reads it into memory as a whole.
_MAX_HEADER_BYTES = 1 << 20
# Of all in a layer: it keeps those of folders to the end, in twice their bytes. A header of usual records has 100 bytes.
_MAX_EXTENDED_BYTES = 64 << 20
# By links to long rows of folders a name of a hundred bytes leads through tens of thousands, and each step takes time: the
# engine unpacked a layer of kilobytes for minutes, without any clock.
_MAX_SLASHES = 50
# A link may lead through fewer: a short name goes through forty of them. And each attribute is set by the whole name anew.
_MAX_LINK_SLASHES = 20
_MAX_ATTRIBUTES = 10
# Thousands of small ones in each header would keep us for an hour and more, while no other image can be fetched.
_MAX_RECORDS = 100
# Every file costs an inode; a large Python environment has a third of that.
MAX_ENTRIES = 300_000
_GZIP = b"\x1f\x8b"
# The first bytes of other compressions that the engine would unpack. A stream of zstd may begin with bytes to be skipped,
# which may be the header of a tar archive.
_SKIPPED = tuple(bytes([first]) + b"*M\x18" for first in range(0x50, 0x60))
_OTHER_COMPRESSIONS = (b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", *_SKIPPED)
_OCTAL = re.compile(rb"[0-7]*")
_EXTENDED, _GLOBAL, _SPARSE, _LONG = b"x", b"g", b"S", (b"L", b"K")
_WITHOUT_DATA = (b"1", b"2", b"3", b"4", b"5", b"6")
_SYMBOLIC, _CHARACTERS, _BLOCKS, _FOLDER = b"2", b"3", b"4", b"5"
# Unix's seventh edition wrote it for files and folders alike. A name that ends in a slash is a folder's, and the engine
# takes what follows for the next header, however many bytes this one promises.
_OLD_FILE = b"\0"
# The devices that every container has: null, zero, full, random, urandom, tty and ptmx. An engine lets a container open some
# more if only its image brings their files, such as the machine's own console.
_DEVICES = ((1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2))
# Where every debootstrap leaves it, and nobody sees it: the engine mounts its own folder there.
_CONSOLE, _CONSOLE_PLACES, _LINKS, _HARD = (5, 1), (b"dev/console", b"./dev/console"), (b"1", b"2"), b"1"
_HIDING = re.compile(rb"(^|[/=])(dev|console)[/.]*(\0|$)", re.MULTILINE)
_MAX_NAMES = 1 << 14
_LONG_NAME = re.compile(rb"^(\d+ )?path=", re.MULTILINE)
# A link into this folder is a file of its own, with all bytes, to engines that do not unpack into overlays.
_COPIES = b".wh..wh.plnk"
_ATTRIBUTE = b"SCHILY.xattr."
# By these the engine's own file system keeps how layers lie above each other; by the second where it has no root's rights.
_OF_THE_ENGINE = (_ATTRIBUTE + b"trusted.", _ATTRIBUTE + b"user.overlay.")
# Of all extended attributes of a file; more than its file system takes would look like a full disk.
_MAX_ATTRIBUTE_BYTES = 1024
# Nine digits are more than there may be bytes; the engine reads as many as there are.
_PAX_RECORD = re.compile(rb"(\d{1,9}) ([^=\n]+)=")


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
            raise _layer_fault("unpacks to more than the limit of the whole image; leave out what the agent does not need")
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
                raise _layer_fault("ends in the middle of a file")
            size -= len(data)

    def finish(self) -> str:
        """Read to the end; returns the hash of everything."""
        while self.read(_UNPACK_BYTES):
            pass
        return self._hash.hexdigest()


def examine_layers(
    path: Path, diff_id: str, most: int, entries: int = MAX_ENTRIES, check: Callable[[], None] = lambda: None
) -> tuple[int, int]:
    """The bytes that a layer unpacks to, and its number of entries.

    `diff_id`: SHA-256 of the unpacked layer, as the image's configuration says. `most` bytes and `entries` are allowed;
    `check` is called again and again, and raises when there is no time left.

    Raises:
        AgentFault: the layer is damaged, not the expected one, or too large.
    """
    with path.open("rb") as file:
        begin = file.read(8)
        file.seek(0)
        if begin.startswith(_OTHER_COMPRESSIONS):
            raise _layer_fault("is compressed with something else than gzip; build the image without 'compression='")
        packed: Any = _Watched(file, check)
        stream: _Readable = gzip.GzipFile(fileobj=packed) if begin.startswith(_GZIP) else packed
        unpacked = _Unpacked(stream, most)
        try:
            entry_count = _walk(unpacked, entries)
            digest = unpacked.finish()
        except (OSError, EOFError, zlib.error) as error:
            raise _layer_fault("is damaged: it cannot be unpacked") from error
    if digest != diff_id:
        raise _layer_fault("holds something else than the image's configuration says")
    return unpacked.count, entry_count


def _walk(stream: _Unpacked, entries: int) -> int:
    """Read every header of a tar archive; returns the number of entries."""
    count, extended, override, extra, has_console, may_hide = 0, 0, None, b"", False, False
    gnu_name, pax_name, folders = b"", b"", [b""]
    while any(header := stream.exactly(_BLOCK)):
        if len(header) < _BLOCK:
            raise _layer_fault("ends in the middle of a header")
        kind, size = header[156:157], _number(header[124:136])
        count += 1
        _check_count(count, entries)
        if kind in (_EXTENDED, _GLOBAL, *_LONG):
            data = _header_data(stream, size)
            extended += size
            if extended > _MAX_EXTENDED_BYTES:
                raise _layer_fault(f"has extended headers of more than {_MAX_EXTENDED_BYTES // MIB} MiB in all")
            if kind == b"K":
                _check_link(data)
            elif kind == b"L":
                gnu_name = data.split(b"\0")[0]
            extra += {b"L": b"\npath=", b"K": b"\nlinkpath="}.get(kind, b"\n") + data
            if len(extra) > _MAX_HEADER_BYTES:
                raise _layer_fault("has an extended header of more than a mebibyte")
            if kind in (_EXTENDED, _GLOBAL):
                override, pax_name = _overridden(data, everywhere=kind == _GLOBAL)
            if kind != _GLOBAL:
                continue
            gnu_name = b""  # To the engine it is an entry: what came before it is forgotten.
        name, kind = _name_and_kind(header, gnu_name, pax_name)
        parts = posixpath.normpath(b"/" + name).split(b"/")
        count += _unlisted(parts[:-1], folders)
        _check_count(count, entries)
        if kind == _GLOBAL:  # Some engines make its folders, and nothing else.
            pax_name, folders = b"", parts
            continue
        size = size if override is None else override
        override, gnu_name, pax_name, folders = None, b"", b"", parts
        if kind == _SYMBOLIC:
            _check_link(header[157:257])
        if kind == _CHARACTERS and not extra and _is_hidden_console(header):
            has_console = True
        elif kind == _BLOCKS or (kind == _CHARACTERS and _device(header) not in _DEVICES):
            raise _layer_fault("holds a device other than null, zero, full, random, urandom, tty and ptmx; leave it out")
        may_hide = may_hide or (kind in _LINKS and _may_hide_console(kind, header, extra))
        if has_console and may_hide:
            raise _layer_fault("holds a device, the console, and a link by which it may have another place; leave it out")
        extra = b""
        if kind in _WITHOUT_DATA and size:
            raise _layer_fault("has a link or a folder with bytes of its own")
        stream.skip(_padded(size))
    return count


def _check_count(count: int, entries: int) -> None:
    if count > entries:
        raise _layer_fault(
            f"is one file too many: an image may have {MAX_ENTRIES} in all its layers, and folders count, too"
        )


def _unlisted(folders: list[bytes], before: list[bytes]) -> int:
    """How many folders the path of the entry before does not lead through: the engine makes those, listed or not."""
    differ = (index for index, (one, other) in enumerate(zip(folders, before, strict=False)) if one != other)
    return len(folders) - next(differ, min(len(folders), len(before)))


def _name_and_kind(header: bytes, gnu_name: bytes, pax_name: bytes) -> tuple[bytes, bytes]:
    """As the engine chooses among an entry's names, and what it takes the entry for; refused if no layer needs such."""
    names, kind = (gnu_name, pax_name, _own_name(header)), header[156:157]
    if kind == _SPARSE:
        raise _sparse()
    if any(_COPIES in name for name in names):
        raise _layer_fault("holds files of AUFS, of which an engine makes a copy for each link; leave them out")
    is_folder = kind == _OLD_FILE and any(name.endswith(b"/") for name in names)
    return next(filter(None, names), b""), _FOLDER if is_folder else kind


def _own_name(header: bytes) -> bytes:
    """The name that stands in a header, as the engine reads it."""
    end = 476 if header[508:] == b"tar\0" else 500
    name, before = (field.split(b"\0")[0] for field in (header[:100], header[345:end]))
    if header[257:263] == b"ustar\0":
        return before + b"/" + name if before else name
    for time in (
        header[345:357],
        header[357:369],
    ):  # where these are no numbers, the engine takes them for a part of the name
        _number(time)
    return name


def _is_hidden_console(header: bytes) -> bool:
    is_there = header[:100].rstrip(b"\0") in _CONSOLE_PLACES and not header[345:500].strip(b"\0")
    return is_there and _device(header) == _CONSOLE


def _may_hide_console(kind: bytes, header: bytes, extra: bytes) -> bool:
    """Whether a link may be another name of the console, or of the folder that it lies in.

    The engine shortens what a hard link leads to before it looks: "console/x/.." is the console.
    """
    name, target, before = (field.split(b"\0")[0] for field in (header[:100], header[157:257], header[345:500]))
    whole = b"/".join(filter(None, (before, name)))
    is_hard = kind == _HARD
    is_winding = (
        b".." in whole or (b".." in target and is_hard) or (b".." in extra and (is_hard or _LONG_NAME.search(extra)))
    )
    return bool(is_winding or len(extra) > _MAX_NAMES or _HIDING.search(b"\n".join((whole, target, extra))))


def _check_link(target: bytes) -> None:
    if target.count(b"/") > _MAX_LINK_SLASHES:
        raise _layer_fault(f"has a link through more than {_MAX_LINK_SLASHES} folders; lead it there by a shorter way")


def _device(header: bytes) -> tuple[int, int]:
    return _number(header[329:337]), _number(header[337:345])


def _header_data(stream: _Unpacked, size: int) -> bytes:
    if size > _MAX_HEADER_BYTES:
        raise _layer_fault("has an extended header of more than a mebibyte")
    data = stream.exactly(_padded(size))
    if len(data) < size:
        raise _layer_fault("ends in the middle of a header")
    if data.count(b"/") > _MAX_SLASHES:
        raise _layer_fault(f"has a file whose long name, link and attributes have more than {_MAX_SLASHES} folders")
    return data[:size]


def _overridden(data: bytes, *, everywhere: bool) -> tuple[int | None, bytes]:
    """The size and the name that an extended header sets for the next file; None and nothing if it sets none."""
    if b"GNU.sparse" in data:
        raise _sparse()
    size, path, records, attributes, attribute_bytes = None, b"", 0, 0, 0
    while data:
        records += 1
        if records > _MAX_RECORDS:
            raise _layer_fault(f"has an extended header of more than {_MAX_RECORDS} records")
        record = _PAX_RECORD.match(data)
        length = int(record[1]) if record else 0
        if not record or length <= record.end() or data[length - 1 : length] != b"\n":
            raise _layer_fault("has an extended header that cannot be read")
        value, key = data[record.end() : length - 1], record[2]
        data = data[length:]
        if key.startswith(_ATTRIBUTE):
            attributes, attribute_bytes = attributes + 1, attribute_bytes + len(key) + len(value)
            is_too_much = attributes > _MAX_ATTRIBUTES or attribute_bytes > _MAX_ATTRIBUTE_BYTES
            if is_too_much or key.startswith(_OF_THE_ENGINE):
                raise _layer_fault(
                    "has a file with extended attributes too many, too long or not for images; leave them out"
                )
        if key == b"linkpath":
            _check_link(value)
        if key == b"path":
            path = value
        if key == b"size":
            if everywhere or not value or len(value) > 15 or not value.isdigit():
                raise _layer_fault("has an extended header that cannot be read")
            size = int(value)
    return size, path


def _number(field: bytes) -> int:
    """A number of a tar header: octal digits, or big-endian bytes if the first bit is set."""
    if field[0] & 0x80:
        number = int.from_bytes(field, "big") & ((1 << 95) - 1)
        if field[0] & 0x40 or number >= 1 << 62:
            raise _layer_fault("has a header that cannot be read")
        return number
    digits = field.strip(b" \0").split(b"\0")[0]
    if not _OCTAL.fullmatch(digits):
        raise _layer_fault("has a header that cannot be read")
    return int(digits or b"0", 8)


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _sparse() -> AgentFault:
    return _layer_fault("holds a sparse file, which unpacks to more than it says; write the file out")


def _layer_fault(words: str) -> AgentFault:
    return AgentFault(Verdict.INVALID, f"a layer of the image {words}")
