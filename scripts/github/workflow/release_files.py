"""The files of a release: the source of the tag's commit, the image by digest, their hashes, and the notes."""

import gzip
import hashlib
import re
import tomllib
from pathlib import Path

from scripts.console import OUR_FAULT, CommandError
from scripts.git.git_repository import GitRepository

CHECKSUMS, NOTES, IMAGE = "SHA256SUMS", "notes", "image.txt"
_REFERENCE = re.compile(r"\S+@sha256:[0-9a-f]{64}")


def write_release(clone: GitRepository, tag: str, image: str, folder: Path) -> list[str]:
    """Write the files of a release beside those that are in `folder` already; returns the names of all that are hashed.

    `clone`: at the tag's commit. `tag`: `v` and the version that pyproject.toml has there. `image`:
    `registry/name@sha256:…` of the evaluator image.

    Raises:
        CommandError: tag, pyproject.toml and CHANGELOG.md do not agree, or the image has no digest.
    """
    if not _REFERENCE.fullmatch(image):
        raise CommandError(OUR_FAULT, f"{image[:100]!r} is no image by digest; give it as registry/name@sha256:…")
    version = tomllib.loads((clone.path / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if tag != f"v{version}":
        advice = f"tag v{version} or change the file"
        raise CommandError(OUR_FAULT, f"the tag is {tag[:60]!r} and pyproject.toml says {version}; {advice}")
    notes = _section((clone.path / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NOTES).write_text(f"{notes}\n\nThe evaluator image is `{image}`.\n", encoding="utf-8")
    (folder / IMAGE).write_text(f"{image}\n", encoding="utf-8")
    (folder / f"pullrank-{version}.tar.gz").write_bytes(_source(clone, version))
    names = sorted(path.name for path in folder.iterdir() if path.name not in (CHECKSUMS, NOTES))
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
    return names


def _section(changelog: str, version: str) -> str:
    """What the changelog says of a version."""
    sections = re.split(r"^## \[([^\]\n]+)\][^\n]*\n", changelog, flags=re.MULTILINE)
    bodies = dict(zip(sections[1::2], sections[2::2], strict=True))
    if not bodies.get(version, "").strip():
        raise CommandError(OUR_FAULT, f"CHANGELOG.md says nothing of {version}; give it a section '## [{version}]'")
    return bodies[version].strip()


def _source(clone: GitRepository, version: str) -> bytes:
    """Every file of the commit, packed without the time of packing: the same commit gives the same bytes."""
    archive = clone.run("archive", "--format=tar", f"--prefix=pullrank-{version}/", "HEAD")
    return gzip.compress(archive, mtime=0)
