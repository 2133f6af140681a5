"""Whether the site in build/ is still what a local build would make: nothing that it is made from has changed since."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from leaderboard.core.store import write_atomically

_STAMP = Path("build") / "site-inputs.txt"
_PAGE = Path("build") / "site" / "index.html"
# Neither is made from by hand or recorded; git says in these files what is checked out.
_LEFT_OUT = ("build", "node_modules", "__pycache__")
_GIT_FILES = (".git/HEAD", ".git/logs/HEAD", ".git/packed-refs")


def is_current(root: Path, fingerprint: str) -> bool:
    """Whether the site was built from what has this fingerprint."""
    try:
        return (root / _STAMP).read_text() == fingerprint and (root / _PAGE).exists()
    except OSError:
        return False


def remember_fingerprint(root: Path, fingerprint: str) -> None:
    """Note what the site was built from."""
    write_atomically(root / _STAMP, fingerprint.encode())


def forget_fingerprint(root: Path) -> None:
    """Note that the site is about to be another one."""
    (root / _STAMP).unlink(missing_ok=True)


def fingerprint_of(root: Path, day: str) -> str:
    """A hash over the name, size and time of change of every file of a checkout, the day and the site's address.

    Code of the package is among the files where the checkout is its own; rendered replays are named by their contents.
    """
    digest = hashlib.sha256(f"{day} {os.environ.get('PULLRANK_SITE_URL', '')}".encode())
    for path, status in _files(root):
        digest.update(f"\0{path}\0{status.st_size}\0{status.st_mtime_ns}".encode())
    return digest.hexdigest()


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    for name in _GIT_FILES:
        if (root / name).is_file():
            yield name, (root / name).stat()
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(files):
            path = Path(folder, name)
            yield str(path), path.lstat()
