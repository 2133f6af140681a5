"""The data branches: results and traces, added as commits and pushed together or not at all."""

import hashlib
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from evaluator.host.process_owner import scratch_folder
from evaluator.model import canonical_json
from evaluator.model.base import Frozen
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import parse_record
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import may_lie_at
from evaluator.model.validation_messages import error_in_words
from leaderboard.core.store import RECORD_ENDING, write_atomically
from leaderboard.text.urls import traces_branch_name
from scripts.console import OUR_FAULT, SUBMISSION_AT_FAULT, USAGE, CommandError, say
from scripts.git.git_repository import OUTPUT_BYTES, GitError, GitRepository, full_sha
from scripts.repository.layout import RESULTS_BRANCH

NoteModel = TypeVar("NoteModel", bound=Frozen)
DAMAGED_SHOWN = 20
# What a small file takes of a disk, and the most of a stranger's that is held in memory at once.
SMALLEST_FILE, BATCH_BYTES = 4096, 256 << 20
# So often a small change is pushed where others push at the same time; for a round's results see `PushRetries`.
MAX_PUSHES = 5
BOT_IDENTITY = "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>"
# Git's messages if somebody else pushed first; other failures (a rule, a right, the network) are raised, not retried.
_RACED = re.compile(
    r"^!\t[^\t]*\t\[(?:rejected\] \((?:fetch first|non-fast-forward|stale info)"
    r"|remote rejected\] \((?:cannot lock ref|failed to update ref|incorrect old value|reference already exists"
    r"|failed to lock|atomic transaction failed|fetch first|non-fast-forward))",
    re.MULTILINE,
)

# What GitHub's push protection says, and the places that it names: five at most.
_SECRETS = re.compile(r"cannot contain secrets")
_SECRET_PLACE = re.compile(r"^remote: +path: (.+?)(?::\d+)?\s*$", re.MULTILINE)


class SecretsRefusedError(GitError):
    """The remote takes something in a pushed file for a secret, and refuses the whole push."""

    def __init__(self, stderr: str) -> None:
        super().__init__("push", stderr)
        self.paths = frozenset(_SECRET_PLACE.findall(stderr))


@dataclass(frozen=True, kw_only=True)
class BranchCommit:
    """A commit to be made, and the files that it adds."""

    message: str
    files: tuple[tuple[str, bytes | Path], ...]
    """Path and content of each added file, or the file that holds it: a round can be larger than memory."""
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DataBranches:
    """The data branches, in a small repository apart from the clone of main."""

    repository: GitRepository
    """Bare; has the newest commit's trees, and no blobs."""
    traces: str
    """Name of the season's traces branch."""

    def tips(self) -> dict[str, str]:
        """Newest commit by branch, for existing branches; fetched shallow and without blobs."""
        names = [f"refs/heads/{name}" for name in (RESULTS_BRANCH, self.traces)]
        lines = self.repository.run("ls-remote", "--refs", "origin", *names).decode("utf-8", "replace")
        tips = {name.removeprefix("refs/heads/"): sha for sha, name in (line.split("\t") for line in lines.splitlines())}
        if tips:
            self.repository.fetch(*tips.values(), options=("--depth=1", "--filter=blob:none"))
        return tips

    def objects(self, tip: str | None) -> dict[str, str]:
        """Object name by path of a commit."""
        if tip is None:
            return {}
        return {leaf.text: leaf.oid for leaf in self.repository.tree(tip)}

    def build(self, tip: str | None, commit: BranchCommit, now: datetime) -> str:
        """Make a commit on top of a tip, or an orphan branch."""
        return make_commit(self.repository, tip, commit, now)

    def push(self, built: dict[str, str]) -> bool:
        """Push all branches or none; False if somebody else pushed first.

        Raises:
            SecretsRefusedError: the remote takes something for a secret.
            GitError: the remote refuses for another reason.
        """
        refs = [f"{full_sha(sha)}:refs/heads/{name}" for name, sha in sorted(built.items())]
        try:
            self.repository.run("push", "--porcelain", "--atomic", "--no-verify", "origin", *refs)
        except GitError as error:
            if _RACED.search(error.output):
                return False
            if _SECRETS.search(error.stderr):
                raise SecretsRefusedError(error.stderr) from error
            raise
        return True


def _wait(attempt: int) -> None:
    """Wait a random time that grows with the number of attempts, so that competing jobs do not retry together."""
    time.sleep(random.uniform(0.1, min(8.0, 0.5 * 2**attempt)))


@dataclass(frozen=True, kw_only=True)
class PushRetries:
    """How often a round's results are pushed when others pushed first."""

    tries: int = 100
    pause: Callable[[int], None] = _wait
    """Waits before the next push; takes the number of pushes so far."""


def object_name(content: bytes) -> str:
    """Git's name for a blob."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def make_commit(
    repository: GitRepository, parent: str | None, commit: BranchCommit, now: datetime, identity: str = BOT_IDENTITY
) -> str:
    """Make a commit with a parent or without; returns its id. Nothing is checked out.

    `identity`: name and e-mail address of the committer.
    """
    stream = _fast_import_stream(parent, commit, f"{identity} {int(now.timestamp())} +0000")
    return repository.run("fast-import", "--quiet", "--force", "--done", given=stream).decode().strip()


def _fast_import_stream(parent: str | None, commit: BranchCommit, committer: str) -> Iterator[bytes]:
    """The input of `git fast-import`, which prints the commit's id."""
    name, message = "refs/pullrank/built", commit.message.encode()
    yield f"reset {name}\n\ncommit {name}\nmark :1\ncommitter {committer}\n".encode()
    yield f"data {len(message)}\n".encode() + message + b"\n"
    if parent is not None:
        yield f"from {full_sha(parent)}\n".encode()
    yield from (f"D {path}\n".encode() for path in commit.removed)
    for path, source in commit.files:
        content = source.read_bytes() if isinstance(source, Path) else source
        yield f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n"
    yield b"get-mark :1\ndone\n"


@contextmanager
def open_branches(clone: GitRepository, season: str) -> Iterator[DataBranches]:
    """The data branches of a clone's origin, in a temporary repository."""
    with scratch_folder("branches") as place:
        yield DataBranches(repository=_open_beside(clone, Path(place)), traces=traces_branch_name(season))


def _open_beside(clone: GitRepository, place: Path) -> GitRepository:
    """A bare repository with the same origin and credentials."""
    address = clone.run("remote", "get-url", "origin").decode().strip()
    repository = replace(clone, path=place, is_ours=True)
    repository.run("init", "--quiet", "--bare", ".")
    if (clone.path / address).is_dir():
        address = str((clone.path / address).resolve())
    repository.run("config", "remote.origin.url", address)
    return repository


def tip_of(repository: GitRepository, branch: str) -> str:
    """The newest commit of a branch of origin; empty if there is none."""
    # Git lists all branches whose names end so, and one such as `a/refs/heads/results` first.
    name = f"refs/heads/{branch}"
    lines = repository.run("ls-remote", "--refs", "origin", name).decode("utf-8", "replace").splitlines()
    return next((sha for sha, ref in (line.split("\t", 1) for line in lines) if ref == name), "")


def results_commit(clone: GitRepository) -> str:
    """The newest commit of the results branch; empty before the first."""
    return tip_of(clone, RESULTS_BRANCH)


def _read_files(
    clone: GitRepository,
    sha: str,
    take: Callable[[str, bytes], None],
    ending: str = RECORD_ENDING,
    at_most: int = OUTPUT_BYTES,
) -> None:
    """Pass every file of a commit with that ending to `take`; none has more than `at_most` bytes."""
    with scratch_folder("results") as place:
        repository = _open_beside(clone, Path(place))
        repository.fetch(sha, options=("--depth=1",))
        files = [leaf for leaf in repository.tree(sha, at_most) if leaf.mode == "100644" and leaf.text.endswith(ending)]
        for leaf, content in zip(files, repository.read_each([leaf.oid for leaf in files], at_most), strict=True):
            take(leaf.text, content)


def read_recorded(
    clone: GitRepository, sha: str, root_files: dict[str, bytes] | None = None
) -> tuple[list[Result], list[Duel]]:
    """All results and duels on a commit, without fields that planning does not need; damaged files are logged.

    Files at the branch's root are neither: they are added to `root_files`, if given.
    """
    results: list[Result] = []
    duels: list[Duel] = []
    damaged: list[str] = []

    def take(path: str, content: bytes) -> None:
        if "/" not in path:
            if root_files is not None:
                root_files[path] = content
            return
        try:
            record = parse_record(content, quick=True)
            if not may_lie_at(path.removesuffix(RECORD_ENDING), record.path(), record.verdict):
                raise ValueError(f"it says that it is {record.path()}{RECORD_ENDING}, and lies elsewhere")
        except ValueError as error:
            damaged.append(f"{path}: is not a result ({error_in_words(error)}); it is left out")
            return
        if isinstance(record, Duel):
            # Ratings need the results and the moves, whose first ones tell which matches begin alike.
            players = tuple(player.model_copy(update={"log_tail": ""}) for player in record.players)
            duels.append(record.model_copy(update={"players": players, "milliseconds": None}))
        else:
            results.append(record.model_copy(update={"seeds": (), "returns": (), "lengths": (), "log_tail": ""}))

    if sha:
        _read_files(clone, sha, take)
    for line in damaged[:DAMAGED_SHOWN]:
        say(line)
    if len(damaged) > DAMAGED_SHOWN:
        say(f"and {len(damaged) - DAMAGED_SHOWN} more files of the results branch that are no results")
    return results, duels


def read_records_with_unchecked_commits(clone: GitRepository, sha: str) -> list[tuple[str, Result | Duel, bytes]]:
    """Path, record and content of the records, on a commit of `results`, whose beacon GitHub was not yet asked about."""
    records: list[tuple[str, Result | Duel, bytes]] = []

    def take(path: str, content: bytes) -> None:
        if b'"beacon_verified": null' not in content:
            return
        try:
            record = parse_record(content, quick=True)
        except ValueError:
            return  # `read_recorded` logs it.
        if record.beacon_verified is None and path == record.path() + RECORD_ENDING and content == record.serialised():
            records.append((path, record, content))

    if sha:
        _read_files(clone, sha, take)
    return records


def export_files(
    clone: GitRepository, sha: str, target: Path, ending: str = RECORD_ENDING, *, at_most: int | None = None
) -> int:
    """Write a commit's results, or files of another ending, below a folder, as pages read them; returns their number.

    `sha`: empty for none. `at_most`: bytes that a stranger's files may have.

    Raises:
        CommandError: they have more, or cannot be written under their names; or the folder is a link.
    """
    written = size = 0

    def take(path: str, content: bytes) -> None:
        nonlocal written, size
        size += max(len(content), SMALLEST_FILE)
        if at_most is not None and size > at_most:
            raise CommandError(SUBMISSION_AT_FAULT, f"its records have more than {at_most >> 20} MiB, which is the limit")
        place = target / path
        try:
            if place.resolve().is_relative_to(target.resolve()):
                write_atomically(place, content)
                written += 1
        except OSError as error:
            raise CommandError(OUR_FAULT, f"{path[:100]}: cannot be written here ({error.strerror})") from error

    if target.is_symlink():  # In a stranger's clone it may lead anywhere, such as to the settings of other programs.
        raise CommandError(USAGE, f"{target}: is a link, and nothing is written through it; remove it")
    target.mkdir(parents=True, exist_ok=True)
    if sha:
        _read_files(clone, sha, take, ending, OUTPUT_BYTES if at_most is None else BATCH_BYTES)
    return written


def read_note(clone: GitRepository, branch: str, kind: type[NoteModel], otherwise: str) -> NoteModel | None:
    """The note in a branch's only file; None where there is none or it cannot be read, and then `otherwise` follows."""
    tip = tip_of(clone, branch)
    if not tip:
        return None
    with open_branches(clone, "") as branches:
        branches.repository.fetch(tip, options=("--depth=1",))
        oid = branches.objects(tip).get(f"{branch}.json")
        content = branches.repository.read([oid])[0] if oid else b""
    try:
        return kind.model_validate(canonical_json.parse_strict(content))
    except ValueError:
        say(f"The note on the branch {branch} cannot be read; {otherwise}.")
        return None


def replace_note(clone: GitRepository, branch: str, note: Frozen, message: str, now: datetime) -> None:
    """Replace the branch by one commit with the note as its only file.

    Raises:
        GitError: the remote refuses.
    """
    content = json.dumps(note.model_dump(mode="json"), separators=(",", ":")).encode() + b"\n"
    with open_branches(clone, "") as branches:
        commit = branches.build(None, BranchCommit(message=message, files=((f"{branch}.json", content),)), now)
        branches.repository.run("push", "--porcelain", "--no-verify", "origin", f"+{commit}:refs/heads/{branch}")
