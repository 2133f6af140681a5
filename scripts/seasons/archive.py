"""How a closed season is cited: CITATION.cff for GitHub and archives, BibTeX for papers."""

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
    """An archive that was written."""

    path: Path
    sha256: str
    manifest_sha256: str
    """The hash of its list of hashes."""
    files: int
    """How many it holds, the list aside."""


def files_under(folder: Path, name: str, leave_out: Iterable[str] = ()) -> Iterator[tuple[str, Path]]:
    """Every plain file below a folder: its name in the archive, and where it lies."""
    left_out = set(leave_out)
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and inside.parts[0] not in left_out:
            yield f"{name}/{inside.as_posix()}", path


def write_archive(target: Path, root: str, files: Iterable[tuple[str, Path]], moment: int) -> SeasonArchive:
    """Pack files below one folder of the archive; owners, rights, order and times are always the same.

    Args:
        target: a path that ends in .tar.gz.
        root: the folder inside.
        files: names and where they lie.
        moment: what all files are dated, in seconds since 1970.
    """
    found = sorted(files)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in found]
    manifest = "".join(lines).encode()
    raw = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=raw, mode="wb", mtime=moment, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, path in found:
            _add(tar, f"{root}/{name}", path.read_bytes(), moment)
        _add(tar, f"{root}/{MANIFEST}", manifest, moment)
    write_atomically(target, raw.getvalue())
    return SeasonArchive(
        path=target, sha256=hashlib.sha256(raw.getvalue()).hexdigest(),
        manifest_sha256=hashlib.sha256(manifest).hexdigest(), files=len(found),
    )  # fmt: skip


def _add(tar: tarfile.TarFile, name: str, content: bytes, moment: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(content), moment, 0o644
    tar.addfile(member, io.BytesIO(content))


_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Citation:
    """What a citation says."""

    challenge: Challenge
    by: str
    """Who signs for the season."""
    date: str
    """The day it was closed: 2026-12-31."""
    address: str | None

    @property
    def title(self) -> str:
        """The board and its season."""
        return f"{self.challenge.title}, season {self.challenge.season}"

    def cff(self) -> str:
        """CITATION.cff, version 1.2.0: every value is written as JSON, which is YAML."""
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
        """One entry of type misc."""
        words = re.findall(r"[a-z0-9]+", f"{self.challenge.title} {self.challenge.season}".lower())
        address = self.address or self.challenge.repository
        lines = [
            f"  title = {{{{{_tex(self.title)}}}}},",
            f"  author = {{{{{_tex(self.by)}}}}},",
            f"  year = {{{self.date[:4]}}},",
            f"  month = {{{int(self.date[5:7])}}},",
            *([f"  url = {{{address}}},"] if address else []),
        ]
        return "\n".join([f"@misc{{{'-'.join(words) or 'board'},", *lines, "}"]) + "\n"


def _tex(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)
