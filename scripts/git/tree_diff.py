"""What a pull request changes, by untrusted trees: however they are nested, little of them is read.

A tree may contain another one many times, so that a kilobyte stands for a million paths, all of which git's recursive
comparison collects before it prints one. So only the author's folder is listed recursively, up to a limit; elsewhere trees
are compared one by one, as few as it takes to name what differs.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from evaluator.host.usage import MIB
from scripts.console import OUR_FAULT, CommandError
from scripts.git.git_repository import GitError, GitLimitError, GitRepository, TreeLeaf, full_sha
from scripts.repository.layout import SUBMISSIONS

# Limits of one list of a head's paths.
LIST_BYTES = 4 << 20
LIST_SECONDS = 60.0
# Limit of all lists of one comparison together.
ALL_BYTES = 4 * LIST_BYTES
# Folders of others that are opened to name their changed files; further ones are named as a whole.
FOLDERS_OPENED = 32
MERGE_BASES = 16
# Fetching an honest head takes seconds.
FETCH_SECONDS = 180.0
# All that a head brings, as git packs it. More would fill the disk of who fetches many heads one after the other.
HEAD_BYTES = 512 * MIB
# All heads of a report stay on its disk. Each takes a quarter of the free bytes at most, of which these are no head's: the
# report writes a summary, and a runner whose disk is full ends the job.
SPARE_BYTES, DISK_PARTS = 1024 * MIB, 4
_DISK_FULL = ("No space left on device", "Disk quota exceeded")
FOLDER_DEPTH = 64
TREE = "040000"
_ABSENT = ("000000", "")
_ILL_NAMED = (b"", b".", b"..")

Listing = dict[bytes, tuple[str, str]]
"""Path to mode and object name."""


class UnreadableError(CommandError):
    """A commit cannot be read completely, by its author's fault."""

    def __init__(self, reason: str) -> None:
        super().__init__(OUR_FAULT, reason)
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class TreeChange:
    """One path that differs between two commits; a rename is a deletion and an addition."""

    status: str
    """Git's letter: A, M, D or T."""
    new_mode: str
    """000000 if there is nothing."""
    path: bytes
    """As git has it, which need not be text; a folder that was not opened ends with a slash."""


def tree_changes(repository: GitRepository, base: str, head: str, login: str) -> list[TreeChange]:
    """What the head changes since its merge base; with several merge bases, since any of them.

    Every changed path in the folder of `login`, in any spelling; outside of it, enough to say where.

    Raises:
        UnreadableError: the head cannot be read within the limits.
        GitError: a commit is missing.
    """
    reader = _TreeComparison(repository=repository, owner=login.casefold())
    changed: dict[bytes, TreeChange] = {}
    for since in merge_bases(repository, base, head):
        for change in reader.compare(since, full_sha(head), b""):
            changed[change.path] = change
    return [changed[path] for path in sorted(changed)]


def merge_bases(repository: GitRepository, base: str, head: str) -> list[str]:
    """The merge bases; empty if the histories have nothing in common.

    Raises:
        UnreadableError: there are too many, or finding them takes too long.
        GitError: a commit is missing.
    """
    try:
        bases = repository.merge_bases(base, head, seconds=LIST_SECONDS)
    except GitLimitError as error:
        raise UnreadableError("its history is too large to be compared with main's; begin a new branch on main") from error
    if len(bases) > MERGE_BASES:
        raise UnreadableError(f"its history meets main's at more than {MERGE_BASES} commits; begin a new branch on main")
    return bases


@dataclass(frozen=True, kw_only=True)
class AddedBytes:
    """What a head's commits add to main's history."""

    packed: int
    """As git packs it."""
    unpacked: int
    """As each clone unpacks it."""
    commits: int
    """Of this the commits themselves, most of which are their messages."""


def added_bytes(repository: GitRepository, base: str, head: str) -> AddedBytes:
    """What the head's commits add to main's history.

    Raises:
        UnreadableError: there are too many objects to add up.
        GitError: a commit is missing.
    """
    form = ("--objects", "--no-object-names", full_sha(head), f"^{full_sha(base)}")
    try:
        added = repository.run("rev-list", *form, at_most=LIST_BYTES, seconds=LIST_SECONDS)
        sizes = ("--batch-check=%(objecttype) %(objectsize:disk) %(objectsize)", "--buffer")
        listed = repository.run("cat-file", *sizes, given=added, seconds=LIST_SECONDS).split()
    except GitLimitError as error:
        raise UnreadableError("its history is too large to be added up; begin a new branch on main") from error
    packed, unpacked = list(map(int, listed[1::3])), list(map(int, listed[2::3]))
    commits = sum(size for kind, size in zip(listed[::3], unpacked, strict=True) if kind == b"commit")
    return AddedBytes(packed=sum(packed), unpacked=sum(unpacked), commits=commits)


def commit_outside(repository: GitRepository, base: str, head: str, owner: str) -> str | None:
    """Which of the head's commits changes something outside of the owner's folder, also if a later one takes it back.

    None if none does. `owner` is a login, whose letters count in either case. A merge changes a file that is none of its
    parents': one of main brings what main has.

    Raises:
        UnreadableError: there is too much to look at.
        GitError: a commit is missing.
    """
    either_case = "".join(f"[{letter.lower()}{letter.upper()}]" if letter.isalpha() else letter for letter in owner)
    since = full_sha(head), f"^{full_sha(base)}"
    paths = "--", ":(top)", f":(top,exclude,glob){SUBMISSIONS}/{either_case}/**"
    excluding = replace(repository, has_path_patterns=True)
    try:
        ways = ("--full-history", "--no-merges", "--max-count=1", *since, *paths)
        if sha := excluding.run("rev-list", *ways, seconds=LIST_SECONDS).decode():
            return f"commit {sha[:12]}"
        merges = repository.run("rev-list", "--merges", *since, seconds=LIST_SECONDS)
        forms = ("--stdin", "-c", "-r", "--name-only", "--no-commit-id", *paths)
        return "a merge" if excluding.run("diff-tree", *forms, given=merges, seconds=LIST_SECONDS) else None
    except GitLimitError as error:
        raise UnreadableError("its commits take too long to be looked at; begin a new branch on main") from error


def fetch_head(repository: GitRepository, head: str) -> None:
    """Fetch an untrusted commit, as objects.

    Raises:
        UnreadableError: git cannot pack or check its objects, or they are too many.
        GitError: origin does not answer, or does not have the commit, or the disk is full.
        CommandError: other heads have taken the room for it.
    """
    try:
        _fetch_bounded(repository, head)
    except GitLimitError as error:
        raise UnreadableError(f"fetching the commit takes more than {FETCH_SECONDS:g} seconds; make it smaller") from error
    except GitError as error:
        if "not our ref" in error.stderr or any(words in error.stderr for words in _DISK_FULL):
            raise
        # It is the commit's fault only if origin answers other requests and fails at this commit again.
        repository.run("ls-remote", "--refs", "origin", "refs/heads/main")
        try:
            _fetch_bounded(repository, head)
        except GitError as again:
            raise UnreadableError(f"the commit cannot be fetched ({again}); begin a new branch on main") from error


def _fetch_bounded(repository: GitRepository, head: str) -> None:
    """Fetch a commit as one file of a limited size; of a larger one nothing stays.

    Raises:
        UnreadableError: it is larger.
        GitError: git failed.
        CommandError: it is not larger than a commit may be, but than there is room for.
    """
    no_room = CommandError(OUR_FAULT, "the disk has no room for its commits, beside those of other pull requests")
    room = (shutil.disk_usage(repository.path).free - SPARE_BYTES) // DISK_PARTS
    most = min(HEAD_BYTES, room // MIB * MIB)
    if most <= 0:
        raise no_room
    # Git would store up to a hundred objects as a file each, which have no limit together.
    bounded = replace(repository, largest_file=most, settings=(*repository.settings, "fetch.unpackLimit=1"))
    try:
        bounded.fetch(head, seconds=FETCH_SECONDS)
    except GitError as error:
        packs = repository.path / repository.run("rev-parse", "--git-path", "objects/pack").decode().strip()
        left = list(packs.glob("tmp_*"))
        size = max((path.stat().st_size for path in left), default=0)
        for path in left:
            path.unlink(missing_ok=True)
        if size >= HEAD_BYTES:
            raise UnreadableError(
                f"its commits bring more than {HEAD_BYTES // MIB} MiB; begin a new branch on main, with one commit"
            ) from error
        if size >= most:
            raise no_room from error
        raise


def list_leaves(repository: GitRepository, head: str, folder: str) -> tuple[TreeLeaf, ...]:
    """All paths under a folder of an untrusted commit.

    Raises:
        UnreadableError: there are too many, or git cannot read them.
    """
    try:
        return repository.leaves(head, folder, at_most=LIST_BYTES, seconds=LIST_SECONDS)
    except GitError as error:
        raise _unreadable(folder, error) from error


@dataclass(kw_only=True)
class _TreeComparison:
    """Compares trees, and remembers the lists that it read."""

    repository: GitRepository
    owner: str
    """Login without capitals, whose folder is listed recursively."""
    opened: int = 0
    size: int = 0
    listed: dict[tuple[str, bool], Listing] = field(default_factory=dict)
    """By object name, and whether the list is recursive."""

    def compare(self, old: str | None, new: str | None, prefix: bytes, *, unfolded: bool = False) -> Iterator[TreeChange]:
        """The differences of two trees; `prefix`: their path, with a slash at its end."""
        before, after = self._list(old, prefix, unfolded=unfolded), self._list(new, prefix, unfolded=unfolded)
        for name in sorted({*before, *after}):
            was, now = before.get(name, _ABSENT), after.get(name, _ABSENT)
            if was != now:
                yield from self._entry(prefix + name, was, now)

    def _entry(self, path: bytes, was: tuple[str, str], now: tuple[str, str]) -> Iterator[TreeChange]:
        """The changes of one name."""
        if TREE not in (was[0], now[0]):
            yield _tree_change(path, was[0], now[0])
            return
        # If one side is a file, it comes or goes besides the tree's own paths.
        if was[0] not in (TREE, _ABSENT[0]):
            yield _tree_change(path, was[0], _ABSENT[0])
        if now[0] not in (TREE, _ABSENT[0]):
            yield _tree_change(path, _ABSENT[0], now[0])
        old, new = (oid if mode == TREE else None for mode, oid in (was, now))
        folder = path + b"/"
        parts = path.decode("utf-8", "backslashreplace").split("/")
        if len(parts) == 2 and parts[0] == SUBMISSIONS and parts[1].casefold() == self.owner:
            yield from self.compare(old, new, folder, unfolded=True)
        elif path == SUBMISSIONS.encode():
            yield from self.compare(old, new, folder)
        else:
            yield from self._outside(old, new, folder)

    def _outside(self, old: str | None, new: str | None, folder: bytes) -> Iterator[TreeChange]:
        """Another login's folder, named by its changed files as long as that is cheap."""
        self.opened += 1
        if self.opened <= FOLDERS_OPENED:
            try:
                self._list(old, folder), self._list(new, folder)
            except UnreadableError:
                pass
            else:
                yield from self.compare(old, new, folder)
                return
        yield _tree_change(folder, TREE if old else _ABSENT[0], TREE if new else _ABSENT[0])

    def _list(self, tree: str | None, prefix: bytes, *, unfolded: bool = False) -> Listing:
        """The entries of a tree, recursively if `unfolded`."""
        if tree is None:
            return {}
        if (tree, unfolded) not in self.listed:
            form = ("ls-tree", "-z", "--full-tree", *(("-r",) if unfolded else ()), full_sha(tree))
            left = min(LIST_BYTES, ALL_BYTES - self.size)
            try:
                raw = self.repository.run(*form, at_most=left, seconds=LIST_SECONDS)
            except GitError as error:
                raise _unreadable(_printable(prefix), error) from error
            self.size += len(raw)
            self.listed[tree, unfolded] = _parse_listing(raw, prefix, unfolded=unfolded)
        return self.listed[tree, unfolded]


def _parse_listing(raw: bytes, prefix: bytes, *, unfolded: bool) -> Listing:
    """Git's list of a tree; each name may occur once."""
    listing: Listing = {}
    for line in raw.split(b"\0"):
        if not line:
            continue
        meta, name = line.split(b"\t", 1)
        mode, _, oid = meta.decode("ascii").split()
        if name in listing or (not unfolded and (b"/" in name or name in _ILL_NAMED)):
            raise UnreadableError(
                f"{_printable(prefix)}: the tree is malformed (the name {_printable(name)}); commit it with git"
            )
        listing[name] = (mode, oid)
    if unfolded:
        _refuse_files_that_are_folders(listing, prefix)
    return listing


def _refuse_files_that_are_folders(listing: Listing, prefix: bytes) -> None:
    for path in listing:
        if path.count(b"/") > FOLDER_DEPTH:
            raise UnreadableError(f"{_printable(prefix)}: holds folders more than {FOLDER_DEPTH} deep; leave them out")
        folder = path.rpartition(b"/")[0]
        while folder:
            if folder in listing:
                raise UnreadableError(f"{_printable(prefix + folder)}: is a file and a folder at once; commit it with git")
            folder = folder.rpartition(b"/")[0]


def _tree_change(path: bytes, old: str, new: str) -> TreeChange:
    if old == _ABSENT[0]:
        status = "A"
    elif new == _ABSENT[0]:
        status = "D"
    else:
        # The first three digits are the kind: file, link, submodule.
        status = "M" if old[:3] == new[:3] else "T"
    return TreeChange(status=status, new_mode=new, path=path)


def _unreadable(where: str, error: GitError) -> UnreadableError:
    if isinstance(error, GitLimitError):
        return UnreadableError(f"{where}: holds more than can be listed; leave out what is no part of an agent")
    return UnreadableError(f"{where}: git cannot read it ({error}); begin a new branch on main")


def _printable(path: bytes) -> str:
    text = path.decode("utf-8", "backslashreplace").rstrip("/") or "the commit"
    printable = text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
    return printable if len(printable) <= 100 else printable[:99] + "…"
