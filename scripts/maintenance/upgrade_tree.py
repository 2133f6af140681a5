"""The tree of an upgraded copy: each file from the copy or from upstream, decided by what both had in common."""

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from evaluator.host.digests import image_files
from evaluator.host.process_owner import scratch_folder
from scripts.console import USAGE, CommandError
from scripts.git.git_repository import FILE_MODES, GitError, GitRepository, full_sha
from scripts.repository.layout import SUBMISSIONS

IDENTITY = "pullrank upgrade <pullrank@users.noreply.github.com>"
TRAILER = "Pullrank-Upstream: "
# What a host decides or receives. Everything else that only the copy has is the host's, too.
HOSTS_FILES = ("challenge.yml", "moderation.yml", ".github/CODEOWNERS", "CITATION.cff")
HOSTS_FOLDERS = ("submissions/", "results/", "traces/", "site/pages/seasons/")
# What a result depends on; the first has had two names.
_MEASURING = (
    ("evaluator/model/measurement_version.py", "evaluator/model/protocol.py"),
    ("evaluator/Dockerfile",),
    *((name,) for name in image_files.LOCK_FILES),
)
_MARK = re.compile(r"^(?:MEASUREMENT_VERSION|PROTOCOL)\b[^=\n]*= *(\d+)|^(?:ARG BASE_IMAGE=\S+)", re.MULTILINE)
# Where both sides changed a file, these must fit together, so they are upstream's; of the rest the host's is kept.
_CODE = (
    "evaluator/", "leaderboard/", "scripts/", "requirements/", "tests/", "bench/", ".github/", "Makefile",
    "pyproject.toml", "setup.py", "pullrank.py",
)  # fmt: skip
_HOSTS_CODE = "evaluator/environments/"
File = tuple[str, str]
"""Mode and object name."""
Files = Mapping[str, File]


@enum.unique
class PathDecision(enum.Enum):
    """What was decided about a path where the sides differ, in words for the host; `before` is the commit before."""

    DROPPED = "Dropped, as upstream did"
    DROPPED_CHANGES = "Dropped, as upstream did, with your changes, which are in 'git show {before}:PATH'"
    MERGED = "Merged, changed on both sides without touching each other"
    REPLACED = "Upstream's, changed on both sides; yours is in 'git show {before}:PATH'"
    DELETED = "Left out, since you deleted it; upstream has a newer one"
    KEPT = "Yours, where upstream has another"
    KEPT_ALONE = "Yours, where upstream has none any more"


@dataclass(kw_only=True)
class UpgradedTree:
    """Files of the new tree, and the paths about which something was decided."""

    files: dict[str, File] = field(default_factory=dict)
    decided: dict[PathDecision, list[str]] = field(default_factory=lambda: {decision: [] for decision in PathDecision})


def files_of(clone: GitRepository, commit: str) -> dict[str, File]:
    """The files of a commit by path."""
    return {leaf.path.decode("utf-8", "surrogateescape"): (leaf.mode, leaf.oid) for leaf in clone.tree(commit)}


def common_commit(clone: GitRepository, upstream: str) -> str:
    """The commit of upstream that the copy was made from, or was upgraded to last.

    Raises:
        CommandError: there is none.
    """
    commits = set(clone.run("rev-list", full_sha(upstream)).decode().split())
    merged = clone.merge_bases(clone.resolve("HEAD") or "", upstream)
    if merged:
        return merged[0]
    by_tree: dict[str, str] = {}
    for line in clone.run("log", "--format=%H %T", upstream).decode().splitlines():
        sha, tree = line.split()
        by_tree.setdefault(tree, sha)
    # Anybody may write such a line into a pull request; only commits that change more than agents can be upgrades.
    tops = {path.partition("/")[0] for tree in ("HEAD", upstream) for path in files_of(clone, clone.resolve(tree) or "")}
    log = clone.run("log", "--format=%x00%T%n%B", "HEAD", "--", *sorted(tops - {SUBMISSIONS}))
    for line in log.decode("utf-8", "replace").split("\0")[1:]:
        tree, *message = line.splitlines()
        named = [word.removeprefix(TRAILER).strip() for word in message if word.startswith(TRAILER)]
        if begun := next((commit for commit in named if commit in commits), None) or by_tree.get(tree):
            return begun
    raise CommandError(
        USAGE, "no commit of this copy has the files of one of upstream's: name the one it was made from with --base COMMIT"
    )


def refuse_odd_files(files: Files, ours: Files) -> None:
    """Refuse upstream's paths that are no plain files, or that another file system may take for the copy's.

    Raises:
        CommandError: there is one.
    """
    hosts = {path.casefold(): path for path in (*ours, *HOSTS_FILES) if is_hosts(path)}
    folders = tuple(folder.casefold() for folder in HOSTS_FOLDERS)
    for path, (mode, _) in files.items():
        parts = path.casefold().split("/")
        if mode not in FILE_MODES:
            fault = "is no plain file"
        elif (
            not path.isprintable()
            or "\\" in path
            or ":" in path
            or {".git", "..", ""} & {part.rstrip(". ") for part in parts}
        ):
            fault = "is a name that could lead elsewhere"
        elif (hosts.get(path.casefold(), path) != path) or (path.casefold().startswith(folders) and not is_hosts(path)):
            fault = "could overwrite a file of the host's"
        elif f"{parts[0]}/" in folders and len(parts) == 1:
            fault = "would take the place of a folder of the host's"
        else:
            continue
        raise CommandError(USAGE, f"upstream's {path!r:.80} {fault}; nothing was changed")


def is_hosts(path: str) -> bool:
    """Whether a path is never taken from upstream."""
    return path in HOSTS_FILES or path.startswith(HOSTS_FOLDERS)


def upgraded(clone: GitRepository, base: Files, ours: Files, theirs: Files) -> UpgradedTree:
    """Decide about each path; nothing is merged within a file unless git can do it without a conflict."""
    tree = UpgradedTree()
    for path in sorted({*base, *ours, *theirs}):
        before, own, new = base.get(path), ours.get(path), theirs.get(path)
        chosen: File | None
        if is_hosts(path) or own == new or new == before:
            chosen = own
        elif own == before:
            chosen = new
            if new is None:
                tree.decided[PathDecision.DROPPED].append(path)
        elif own is None:
            chosen = None
            tree.decided[PathDecision.DELETED].append(path)
        elif before is None:
            chosen = own
            tree.decided[PathDecision.KEPT].append(path)
        elif new and (both := _merged(clone, before, own, new)):
            chosen = both
            tree.decided[PathDecision.MERGED].append(path)
        elif path.startswith(_CODE) and not path.startswith(_HOSTS_CODE):
            chosen = new
            tree.decided[PathDecision.REPLACED if new else PathDecision.DROPPED_CHANGES].append(path)
        else:
            chosen = own
            tree.decided[PathDecision.KEPT if new else PathDecision.KEPT_ALONE].append(path)
        if chosen:
            tree.files[path] = chosen
    for path in tree.files:
        if above := next((str(parent) for parent in PurePosixPath(path).parents if str(parent) in tree.files), None):
            raise CommandError(USAGE, f"{above!r:.80} is a file on one side and a folder on the other; rename yours first")
    return tree


def _merged(clone: GitRepository, before: File, own: File, new: File) -> File | None:
    """Both changes of a text, if they do not touch each other."""
    with scratch_folder("upgrade") as place:
        names = [str(Path(place) / name) for name in ("own", "before", "new")]
        for name, content in zip(names, clone.read([own[1], before[1], new[1]]), strict=True):
            Path(name).write_bytes(content)
        try:
            content = clone.run("merge-file", "-p", "--quiet", *names)
        except GitError:
            return None
    return new[0], clone.run("hash-object", "-w", "--stdin", given=content).decode().strip()


def write_commit(clone: GitRepository, files: Files, message: str, now: datetime) -> str:
    """A commit of these files on top of HEAD; index and folder stay as they are."""
    tree, head = _write_tree(clone, _nested(files)), clone.resolve("HEAD") or ""
    who = f"{IDENTITY} {int(now.timestamp())} +0000"
    content = f"tree {tree}\nparent {full_sha(head)}\nauthor {who}\ncommitter {who}\n\n{message}".encode()
    return clone.run("hash-object", "-t", "commit", "-w", "--stdin", given=content).decode().strip()


def _nested(files: Files) -> dict[str, Any]:
    """The files as nested folders."""
    root: dict[str, Any] = {}
    for path, file in files.items():
        folder = root
        *above, name = path.split("/")
        for part in above:
            folder = folder.setdefault(part, {})
        folder[name] = file
    return root


def _write_tree(clone: GitRepository, folder: dict[str, Any]) -> str:
    lines = []
    for name, inner in folder.items():
        mode, oid = ("040000", _write_tree(clone, inner)) if isinstance(inner, dict) else inner
        lines.append(f"{mode} {'tree' if mode == '040000' else 'blob'} {oid}\t{name}\0")
    return clone.run("mktree", "-z", given="".join(lines).encode("utf-8", "surrogateescape")).decode().strip()


def measuring_changes(clone: GitRepository, ours: Files, new: Files) -> Iterator[str]:
    """What changes of all that a result depends on, in words."""
    for names in _MEASURING:
        path = names[0]
        before, after = (
            clone.read([files[name][1]])[0].decode("utf-8", "replace") if name else ""
            for files, name in ((files, next(filter(files.__contains__, names), None)) for files in (ours, new))
        )
        for old, now in zip(*(_marks(path, text) for text in (before, after)), strict=False):
            if old != now:
                gone, come = (", ".join(sorted(marks)) or "nothing" for marks in (old - now, now - old))
                yield f"{path}: {gone} becomes {come}"


def _marks(path: str, text: str) -> list[set[str]]:
    if path.endswith(".txt"):
        return [set(image_files.measuring_pins(text))]
    return [set(_MARK.findall(text))]
