"""The runtime digest of the first results: a hash over files of that time, which protocol_1.tar.xz holds.

Later the digest became one over versions, though nothing was measured differently. So protocol 1 with its first packages
keeps its first digest, and no result has to be measured again. The files have no other use.
"""

import functools
import hashlib
import tarfile
from pathlib import Path

_ARCHIVE = Path(__file__).with_name("protocol_1.tar.xz")
# The SHA-256 of each extra's versions, and of the lock that held them.
FIRST_EXTRA_LOCKS = {
    "torch": (
        "6e5ab9c0c5099b4c15161be8b6c3d7f92f00ead0d5f189b8fcec1c5238062fcb",
        "70e8132742fe509db7ab6530e24ab874ab773f4cb12cae935b7b1d37d5fda9ee",
    ),
    "sb3": (
        "dd4e1da0244e010f5dd774775ae0faade81e3546eb18fb54983ffb353388fed7",
        "e74b0e36b683517a1b559d7eecd25c242f4d5489fb50218846462ada198cab2d",
    ),
    "onnx": (
        "87d98ba132e8a8753c7d04acdec031cd1f358157064833f1f1590b52425b943f",
        "e89ef0196b95c02d000b1f76a846ce51e4815e88240d1f970f1039f03cf8c575",
    ),
    "grpc": (
        "b55d655536dc65adfbf7bac92bcdfc7990d573034d2186b9d4527431f231292f",
        "5fba82786abfb839d9ffd2fde5dd4be4cf67deaaa71b66dac8bf7a666808ff69",
    ),
}


@functools.cache
def files_of_protocol_1() -> dict[str, bytes]:
    """The lock files, the Dockerfile and the sandbox's sources at the time, by their paths."""
    with tarfile.open(_ARCHIVE, "r:xz") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive.getmembers()}  # type: ignore[union-attr]


def runtime_digest_of_protocol_1(base: str) -> str:
    """SHA-256 over the base image's identity and those files."""
    hasher = hashlib.sha256(base.encode())
    for path, content in sorted(files_of_protocol_1().items()):
        hasher.update(f"\0{path}\0{len(content)}\0".encode() + content)
    return hasher.hexdigest()
