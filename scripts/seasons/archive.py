"""The archive of a closed season, and its citation: CITATION.cff and BibTeX."""

import gzip
import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.model.config.challenge import Challenge
from leaderboard.core.store import write_atomically

MANIFEST = "MANIFEST.sha256"


@dataclass(frozen=True, kw_only=True)
class SeasonArchive:
    """A written archive."""

    path: Path
    sha256: str
    manifest_sha256: str
    """SHA-256 of MANIFEST.sha256."""
    files: int
    """Number of files without the manifest."""


def files_under(folder: Path, name: str, leave_out: Iterable[str] = ()) -> Iterator[tuple[str, Path]]:
    """All regular files below a folder: name in the archive, and path; `leave_out` names top-level entries."""
    excluded = set(leave_out)
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and inside.parts[0] not in excluded:
            yield f"{name}/{inside.as_posix()}", path


def write_archive(target: Path, root: str, files: Iterable[tuple[str, Path]], timestamp: int) -> SeasonArchive:
    """Write a reproducible archive: owners, modes, order and times are fixed.

    Args:
        target: a path that ends in .tar.gz.
        root: the folder inside the archive.
        files: names in that folder, and paths.
        timestamp: the time of all files, in seconds since 1970.
    """
    ordered = sorted(files)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in ordered]
    manifest = "".join(lines).encode()
    raw = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=raw, mode="wb", mtime=timestamp, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, path in ordered:
            _add(tar, f"{root}/{name}", path.read_bytes(), timestamp)
        _add(tar, f"{root}/{MANIFEST}", manifest, timestamp)
    write_atomically(target, raw.getvalue())
    return SeasonArchive(
        path=target, sha256=hashlib.sha256(raw.getvalue()).hexdigest(),
        manifest_sha256=hashlib.sha256(manifest).hexdigest(), files=len(ordered),
    )  # fmt: skip


def _add(tar: tarfile.TarFile, name: str, content: bytes, timestamp: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(content), timestamp, 0o644
    tar.addfile(member, io.BytesIO(content))


_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Citation:
    """How to cite a closed season."""

    challenge: Challenge
    by: str
    """The author: who signs for the season."""
    date: str
    """The closing date, such as 2026-12-31."""
    address: str | None

    @property
    def title(self) -> str:
        """Leaderboard and season."""
        return f"{self.challenge.title}, season {self.challenge.season}"

    def cff(self) -> str:
        """CITATION.cff, version 1.2.0; values are written as JSON, which is valid YAML."""
        fields: dict[str, object] = {
            "cff-version": "1.2.0",
            "message": "If you use these results, please cite them like this.",
            "type": "dataset",
            "title": self.title,
            "version": self.challenge.season,
            "date-released": self.date,
            "authors": [{"name": self.by}],
        }
        if self.challenge.repository:
            fields["repository-code"] = self.challenge.repository
        if self.address:
            fields["url"] = self.address
        return "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())

    def bibtex(self) -> str:
        """A BibTeX entry of type misc."""
        words = re.findall(r"[a-z0-9]+", f"{self.challenge.title} {self.challenge.season}".lower())
        address = self.address or self.challenge.repository
        lines = [
            f"  title = {{{{{_latex(self.title)}}}}},",
            f"  author = {{{{{_latex(self.by)}}}}},",
            f"  year = {{{self.date[:4]}}},",
            f"  month = {{{int(self.date[5:7])}}},",
            *([f"  url = {{{address}}},"] if address else []),
        ]
        return "\n".join([f"@misc{{{'-'.join(words) or 'board'},", *lines, "}"]) + "\n"


def _latex(text: str) -> str:
    return "".join(_LATEX_ESCAPES.get(letter, letter) for letter in text)
