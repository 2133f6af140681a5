"""The lists of hashes of what a round records, each as long as can be attested at once."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from leaderboard.core.store import write_atomically
from scripts.console import say

FOLDER = "manifests"
# What actions/attest takes at once: so many subjects, in a file of so many bytes.
SUBJECTS, SUBJECT_BYTES = 1024, 512 * 1024
# GitHub ends a matrix at 256 jobs, each of which attests one list: together a quarter of a million results.
MOST = 256


def write_manifests(paths: Iterable[Path], place: Path) -> int:
    """Write the lists of files below a folder, as 0.sha256 and so on; returns how many there are.

    Traces need not be in them, as each result names the hash of its own.
    """
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(place)}\n".encode() for path in paths]
    lists = list(_lists(sorted(lines)))
    (place / FOLDER).mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(lists[:MOST]):
        write_atomically(place / FOLDER / f"{number}.sha256", content)
    if len(lists) > MOST:
        left = sum(content.count(b"\n") for content in lists[MOST:])
        say(f"{left} results are not attested: one run can attest {MOST} lists of {SUBJECTS}.")
    return min(len(lists), MOST)


def _lists(lines: Sequence[bytes]) -> Iterator[bytes]:
    part: list[bytes] = []
    size = 0
    for line in lines:
        if part and (len(part) == SUBJECTS or size + len(line) > SUBJECT_BYTES):
            yield b"".join(part)
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part:
        yield b"".join(part)
