"""What an installed board needs beside its packages; everything else about the package stands in pyproject.toml."""

import os
from collections.abc import Iterator
from pathlib import Path

from setuptools import setup

# Where `INSTALLED` of evaluator/host/digests/image_files.py looks, below the environment's own folder.
SHARE = "share/pullrank"
RULES = ("challenge.yml", "moderation.yml")
# What lies at the root of Pullrank's own repository, and what runs leave there. All else at a board's root is its host's:
# modules of environments, metrics and games that challenge.yml names, and the files that they read.
PULLRANKS_OWN = frozenset({
    "AGENTS.md", "ARCHITECTURE.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md",
    "SECURITY.md", "bench", "challenge.yml", "evaluator", "example_agents", "leaderboard", "mkdocs.yml", "moderation.yml",
    "pullrank.py", "pyproject.toml", "requirements", "scripts", "setup.py", "site", "tests",
    "build", "node_modules", "pullrank.egg-info", "results", "submissions", "traces",
})  # fmt: skip


def _hosts_files(root: Path) -> Iterator[Path]:
    """The files at the root that are not Pullrank's, and those in folders there, without hidden and compiled ones."""
    for path in sorted(root.iterdir()):
        if path.name in PULLRANKS_OWN or path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_file():
            yield path
        for folder, inner, files in os.walk(path):
            inner[:] = sorted(name for name in inner if not name.startswith((".", "__pycache__")))
            yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def data_files(root: Path) -> list[tuple[str, list[str]]]:
    """Folders of the environment, each with the files that come into it, by paths from `root`."""
    rules = [root / name for name in RULES if (root / name).is_file()]
    locks = [path for path in sorted((root / "requirements").iterdir()) if path.suffix in (".txt", ".in")]
    folders: dict[str, list[str]] = {}
    for path in (*rules, *locks, *_hosts_files(root)):
        inner = path.relative_to(root)
        folders.setdefault((Path(SHARE) / inner.parent).as_posix(), []).append(inner.as_posix())
    return list(folders.items())


if __name__ == "__main__":
    setup(data_files=data_files(Path(__file__).resolve().parent))
