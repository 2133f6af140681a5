"""Trees that unfold to more than anybody could read, and such as git would not make."""

import hashlib
import struct
import subprocess
import zlib
from collections.abc import Iterable
from pathlib import Path

from tests.scripts.github.remotes import Clone, git

TREE, BLOB = "40000", "100644"
_KINDS = {"tree": 2, "blob": 3}


def bomb(place: Path, levels: int, width: int = 10) -> str:
    """A tree of so many levels, in each the same tree `width` times: `width ** levels` paths in a few hundred bytes."""
    blob = git(place, "hash-object", "-w", "--stdin", given=b"x\n")
    lines = "".join(f"100644 blob {blob}\tf{n}\n" for n in range(width))
    tree = git(place, "mktree", given=lines.encode())
    for _ in range(levels - 1):
        lines = "".join(f"040000 tree {tree}\td{n}\n" for n in range(width))
        tree = git(place, "mktree", given=lines.encode())
    return tree


def raw_tree(entries: Iterable[tuple[str, bytes, str]]) -> bytes:
    """A tree's bytes from modes, names and objects, whatever git would say of it."""
    return b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)


def object_id(kind: str, content: bytes) -> str:
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).hexdigest()


def write_objects(place: Path, objects: Iterable[tuple[str, bytes]]) -> list[str]:
    """Put objects into a repository as one pack, unchecked; returns their names."""
    unique = list(dict.fromkeys(objects))
    pack = bytearray(b"PACK" + struct.pack(">II", 2, len(unique)))
    for kind, content in unique:
        size = len(content)
        byte = _KINDS[kind] << 4 | size & 15
        size >>= 4
        while size:
            pack.append(byte | 128)
            byte, size = size & 127, size >> 7
        pack.append(byte)
        pack += zlib.compress(content)
    pack += hashlib.sha1(pack).digest()
    subprocess.run(["git", "index-pack", "--stdin"], cwd=place, input=bytes(pack), capture_output=True, check=True)
    return [object_id(kind, content) for kind, content in unique]


def chain(place: Path, levels: int) -> str:
    """A tree so many levels deep, with one file at its end."""
    objects = [("blob", b"x\n"), ("tree", raw_tree([(BLOB, b"f", object_id("blob", b"x\n"))]))]
    for _ in range(levels - 1):
        objects.append(("tree", raw_tree([(TREE, b"d", object_id(*objects[-1]))])))
    return write_objects(place, objects)[-1]


def commit_tree(clone: Clone, path: str, tree: str, parent: str) -> str:
    """A commit on `parent` in which `path` is a tree and all else as it was."""
    for folder, _, name in reversed(list(_steps(path))):
        at = f"{parent}:{folder}" if folder else f"{parent}^{{tree}}"
        listed = git(clone.path, "ls-tree", at).splitlines() if _exists(clone, at) else []
        lines = [line for line in listed if line.partition("\t")[2] != name]
        tree = git(
            clone.path, "mktree", given="".join(f"{one}\n" for one in [*lines, f"040000 tree {tree}\t{name}"]).encode()
        )
    return git(clone.path, "commit-tree", tree, "-p", parent, "-m", "hostile")


def _steps(path: str) -> Iterable[tuple[str, str, str]]:
    parts = path.split("/")
    return ((("/".join(parts[:n])), "/", parts[n]) for n in range(len(parts)))


def _exists(clone: Clone, name: str) -> bool:
    done = subprocess.run(["git", "rev-parse", "--verify", "-q", name], cwd=clone.path, capture_output=True, check=False)
    return done.returncode == 0
