"""The only caller of git: objects are read as data, and nothing that a repository contains is run."""

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluator.model.config.submission import SubmissionFile
from scripts.console import OUR_FAULT, USAGE, CommandError
from scripts.processes import bounded_process
from scripts.repository.layout import SUBMISSIONS

FILE_MODES = ("100644", "100755")
OBJECT_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# For main and the bot's own branches; untrusted trees have smaller limits, see `tree_diff`.
OUTPUT_BYTES = 1 << 30
# What `read_each` asks for at once, but for a larger object.
BATCH_BYTES = 64 << 20
# For a remote on this disk, a repository's configuration could name another program to serve it.
_SERVICES = {
    **dict.fromkeys(("fetch", "clone", "ls-remote"), "--upload-pack=git-upload-pack"),
    "push": "--receive-pack=git-receive-pack",
}
# Whoever else's clone it is, its configuration may name hooks since git 2.54, which `core.hooksPath` does not turn off.
_WITH_HOOKS = ("fetch", "push", "switch", "fast-import")
# What a clone's own configuration may say of how servers are reached; all else could lead a token to somebody else.
_HARMLESS_HTTP = ("extraheader", "postbuffer", "version", "lowspeedlimit", "lowspeedtime")
COMMAND_SECONDS = {"fetch": 1800.0, "push": 3600.0, "fast-import": 1800.0}
DEFAULT_SECONDS = 600.0

# No hooks, monitors or helpers run, whatever the repository's configuration says.
_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.quotePath=off", "core.attributesFile=/dev/null",
    "core.pager=cat", "core.askPass=", "credential.helper=", "commit.gpgSign=false", "log.showSignature=false",
    "log.showRoot=true", "diff.renames=false", "gc.auto=0", "maintenance.auto=false",
    "fetch.recurseSubmodules=false", "submodule.recurse=false", "push.recurseSubmodules=no", "safe.directory=*",
    "core.alternateRefsCommand=true", "core.commitGraph=false", "advice.graftFileDeprecated=false",
)  # fmt: skip
_INHERITED_VARIABLES = (
    "PATH", "TMPDIR", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
)  # fmt: skip
_SET_VARIABLES = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
}


class GitError(CommandError):
    """Git failed; one line says why."""

    def __init__(self, command: str, stderr: str, output: str = "") -> None:
        lines = [line for line in stderr.splitlines() if line.strip()]
        lines = lines or ["it gave no reason"]
        reason = next((line for line in lines if re.match(r"(remote: )?(fatal|error)", line)), lines[-1])
        if "not a git repository" in reason:
            super().__init__(USAGE, "this is no git clone; run it in a clone of the leaderboard's repository")
        else:
            super().__init__(OUR_FAULT, f"git {command} failed: {reason.strip()[:300]}")
        self.stderr = stderr
        self.output = output


class GitLimitError(GitError):
    """Git was stopped: it took too long or printed too much."""


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """Credentials for the remote; given to git by the environment, so that no process list shows them."""

    server_url: str
    """Such as https://github.com; the token is sent nowhere else."""
    token: str

    def environment(self) -> dict[str, str]:
        """Git's variables for settings."""
        basic = b64encode(f"x-access-token:{self.token}".encode()).decode()
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{self.server_url.rstrip('/')}/.extraheader",
            "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {basic}",
        }


@dataclass(frozen=True, kw_only=True)
class TreeLeaf:
    """One path of a commit's tree."""

    mode: str
    """100644, 100755, 120000 (symbolic link) or 160000 (submodule)."""
    oid: str
    size: int
    """Bytes; 0 for what is no blob, and where sizes were not asked for."""
    path: bytes

    @property
    def text(self) -> str:
        """The path as text; bytes that are none are replaced."""
        return self.path.decode("utf-8", "replace")

    @property
    def is_hashed(self) -> bool:
        """Whether a folder's digest takes the file."""
        return b"/__pycache__/" not in self.path

    def file(self, folder: str, content: bytes) -> SubmissionFile:
        """The file as the digest of its folder takes it."""
        return SubmissionFile(path=self.text[len(folder) + 1 :], executable=self.mode == "100755", content=content)


def by_folder(leaves: Iterable[TreeLeaf]) -> dict[str, list[TreeLeaf]]:
    """The files in agents' folders by folder, `submissions/<login>/<agent>`."""
    folders: dict[str, list[TreeLeaf]] = {}
    for leaf in leaves:
        parts = leaf.text.split("/")
        if len(parts) > 3:
            folders.setdefault("/".join(parts[:3]), []).append(leaf)
    return folders


def full_sha(sha: str) -> str:
    """A full commit id: so no argument is ever taken for an option or a ref.

    Raises:
        CommandError: it is not one.
    """
    if not OBJECT_NAME.fullmatch(sha):
        raise CommandError(OUR_FAULT, f"{sha[:60]!r} is not a full commit id")
    return sha


@dataclass(frozen=True)
class GitRepository:
    """A clone on this disk."""

    path: Path
    credentials: Credentials | None = None
    largest_file: int | None = None
    """The most bytes of a file that git may write, such as of what it fetches; None without such a limit."""
    settings: tuple[str, ...] = ()
    """Settings of git besides those that all have."""
    protocols: str = "https:http:file"
    """What may be fetched by; in the environment, since a repository's own settings would win over other ways to say so."""
    has_path_patterns: bool = False
    """Whether paths may say how they are meant, such as `:(exclude)`; else each is taken as it is written."""
    is_ours: bool = False
    """Whether we made it, so that its configuration names nobody else's programs."""

    def run(
        self,
        *arguments: str,
        given: bytes | Iterable[bytes] = b"",
        at_most: int = OUTPUT_BYTES,
        seconds: float | None = None,
    ) -> bytes:
        """What git prints, within a limit of bytes and seconds; the default time limit depends on the command.

        Raises:
            GitLimitError: it was stopped at a limit.
            GitError: its exit code is not 0.
        """
        if arguments[0] in _SERVICES:
            self._refuse_ways_to_servers()
        words = [arguments[0], *filter(None, [_SERVICES.get(arguments[0])]), *arguments[1:]]
        hooks = () if self.is_ours or arguments[0] not in _WITH_HOOKS else self._without("hook", "enabled=false")
        settings = (*_SETTINGS, *hooks, *self.settings)
        command = ["git", *(word for setting in settings for word in ("-c", setting)), *words]
        if self.largest_file is not None:  # in blocks of 512 bytes; what git starts inherits it
            command = ["sh", "-c", 'ulimit -f "$0" && exec "$@"', str(self.largest_file // 512), *command]
        name = arguments[0]
        seconds = COMMAND_SECONDS.get(name, DEFAULT_SECONDS) if seconds is None else seconds
        with bounded_process(
            command,
            folder=self.path,
            environment=self._environment(name),
            input_chunks=[given] if isinstance(given, bytes) else given,
            seconds=seconds,
            at_most=at_most,
        ) as finish:
            done = finish()
        if done.is_late:
            raise GitLimitError(name, f"error: it took longer than {seconds:g} seconds")
        if done.is_too_long:
            raise GitLimitError(name, f"error: it printed more than {at_most} bytes")
        if done.code != 0:
            by_signal = f"error: it was ended by signal {-done.code}" if done.code < 0 else ""
            stderr = done.errors.decode(errors="replace") or by_signal
            raise GitError(name, stderr, done.output.decode(errors="replace"))
        return done.output

    def found(self, *arguments: str, seconds: float | None = None) -> bytes:
        """What git prints; nothing where it fails without a message, as it does when there is nothing to be found."""
        try:
            return self.run(*arguments, seconds=seconds)
        except GitError as error:
            if error.stderr.strip():
                raise
            return b""

    def _environment(self, command: str) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ}
        everything = {**inherited, **_SET_VARIABLES, "HOME": str(self.path)}
        if self.has_path_patterns:
            del everything["GIT_LITERAL_PATHSPECS"]
        secret = self.credentials.environment() if self.credentials else {}
        if self.is_ours:
            return {**everything, **secret, "GIT_ALLOW_PROTOCOL": self.protocols}
        if command in _SERVICES:
            return {**everything, **secret, "GIT_ALLOW_PROTOCOL": self.protocols, "GIT_NO_LAZY_FETCH": "1"}
        # A partial clone fetches what it lacks. Where that is no server, the configuration could name a program to serve it.
        return {**everything, "GIT_ALLOW_PROTOCOL": "https"}

    def _configured(self, pattern: str) -> list[str]:
        """The settings of the repository's own configuration whose name fits the pattern.

        Raises:
            GitError: this is no repository.
        """
        names = self.found("config", "--null", "--name-only", "--get-regexp", pattern).decode("utf-8", "replace")
        return [name for name in names.split("\0") if name]

    def _refuse_ways_to_servers(self) -> None:
        """Raise CommandError if a proxy, a certificate or a file of cookies is configured."""
        for name in self._configured(r"^(http\.|remote\..*\.proxy)"):
            if name.rpartition(".")[2] not in _HARMLESS_HTTP:
                words = f"this clone's configuration has {name}, by which somebody else could read what is sent"
                raise CommandError(USAGE, f"{words}; remove it, or clone it anew")

    def _without(self, kind: str, *ways: str) -> tuple[str, ...]:
        """Settings that turn off what the repository's configuration names of a kind, such as filters.

        Raises:
            GitError: this is no repository.
        """
        names = {key.removeprefix(f"{kind}.").rpartition(".")[0] for key in self._configured(rf"^{kind}\.")}
        if any("=" in name for name in names):
            raise CommandError(USAGE, f"this clone's configuration has a {kind} with '=' in its name; remove it")
        return tuple(f"{kind}.{name}.{way}" for name in sorted(names) for way in ways)

    def _unfiltered(self) -> "GitRepository":
        """The repository without the filters that its configuration names.

        Raises:
            GitError: this is no repository.
        """
        filters = self._without("filter", "clean=", "smudge=", "process=", "required=false")
        return replace(self, settings=(*self.settings, *filters))

    def status(self, *options: str) -> list[str]:
        """The lines of `git status --porcelain`; filters that the repository's configuration names are not run.

        Raises:
            GitError: this is no repository.
        """
        # Git would start itself in submodules, which have configurations of their own.
        words = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all", *options)
        return [line for line in self._unfiltered().run(*words).decode("utf-8", "replace").split("\0") if line]

    def is_top(self) -> bool:
        """Whether the folder is the one whose files git keeps, which a repository's configuration can say is another."""
        return Path(self.run("rev-parse", "--show-toplevel").decode().rstrip("\n")).resolve() == self.path.resolve()

    def begin_branch(self, branch: str, commit: str) -> None:
        """Write a commit's files into the folder, on a new branch; filters that the configuration names are not run.

        Raises:
            CommandError: git would write them elsewhere.
        """
        if not self.is_top():
            raise CommandError(USAGE, "git keeps this clone's files in another folder; run it there, or clone it anew")
        self._unfiltered().run("switch", "--quiet", "--no-guess", "-c", branch, full_sha(commit))

    def ignored(self, folder: str) -> list[str]:
        """The files in a folder that git ignores."""
        words = ("ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", f"{folder}/")
        return [path for path in self.run(*words).decode("utf-8", "replace").split("\0") if path]

    def resolve(self, name: str) -> str | None:
        """The commit of a name; None if there is none."""
        try:
            return self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}").decode().strip()
        except GitError:
            return None

    def is_shallow(self) -> bool:
        """Whether the clone lacks history."""
        return self.run("rev-parse", "--is-shallow-repository").strip() == b"true"

    def fetch(self, *shas: str, options: tuple[str, ...] = (), source: str = "origin", seconds: float | None = None) -> None:
        """Fetch commits as data, from origin or another repository: no branch moves, nothing is checked out."""
        quietly = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc")
        self.run("fetch", *quietly, *options, "--end-of-options", source, *map(full_sha, shas), seconds=seconds)

    def merge_bases(self, base: str, head: str, seconds: float | None = None) -> list[str]:
        """The merge bases; empty if the histories have nothing in common."""
        return self.found("merge-base", "--all", full_sha(base), full_sha(head), seconds=seconds).decode().split()

    def leaves(
        self, commit: str, folder: str, at_most: int = OUTPUT_BYTES, seconds: float | None = None
    ) -> tuple[TreeLeaf, ...]:
        """All paths under a folder of a commit; `at_most`: limit of git's list in bytes.

        Raises:
            GitLimitError: the list exceeds a limit.
        """
        form = ("-r", "-l", "-z", "--full-tree")
        raw = self.run("ls-tree", *form, full_sha(commit), "--", folder.rstrip("/") + "/", at_most=at_most, seconds=seconds)
        return tuple(_parse_leaf(line) for line in raw.split(b"\0") if line)

    def tree(self, commit: str, at_most: int = OUTPUT_BYTES) -> tuple[TreeLeaf, ...]:
        """All paths of a commit, without their sizes, which a clone without the files would have to fetch."""
        raw = self.run("ls-tree", "-r", "-z", "--full-tree", full_sha(commit), at_most=at_most)
        return tuple(_parse_leaf(line) for line in raw.split(b"\0") if line)

    def read(self, oids: Sequence[str], at_most: int = OUTPUT_BYTES, kind: str = "blob") -> list[bytes]:
        """The contents of blobs or other objects of a kind, in order, by one process.

        `at_most`: limit of all together in bytes.

        Raises:
            GitLimitError: they have more.
        """
        given = "".join(f"{full_sha(oid)}\n" for oid in oids).encode()
        raw = self.run("cat-file", "--batch", given=given, at_most=at_most)
        contents, begin = [], 0
        for oid in oids:
            end = raw.index(b"\n", begin)
            words = raw[begin:end].decode().split()
            if len(words) != 3 or words[1] != kind:
                raise GitError("cat-file", f"fatal: {oid} is no {kind} here")
            size = int(words[2])
            contents.append(raw[end + 1 : end + 1 + size])
            begin = end + size + 2
        return contents

    def read_each(self, oids: Sequence[str], at_most: int = OUTPUT_BYTES, kind: str = "blob") -> Iterator[bytes]:
        """The contents of blobs or other objects of a kind, in order: together they may have more bytes than memory.

        `at_most`: limit of each in bytes.

        Raises:
            GitLimitError: one has more.
            GitError: one is not here.
        """
        given = "".join(f"{full_sha(oid)}\n" for oid in oids).encode()
        sizes = self.run("cat-file", "--batch-check=%(objectsize)", given=given).decode().splitlines() if oids else ()
        batch, size = list[str](), 0
        for oid, line in zip(oids, sizes, strict=True):
            more = int(line) if line.isdigit() else 0  # `read` tells what is missing.
            if batch and size + more > BATCH_BYTES:
                yield from self.read(batch, at_most, kind)
                batch, size = [], 0
            batch.append(oid)
            size += more
        if batch:
            yield from self.read(batch, at_most, kind)

    def blobs(self, commit: str, folder: str) -> tuple[SubmissionFile, ...]:
        """The plain files under a folder with paths inside it, as the folder's digest takes them."""
        files = [leaf for leaf in self.leaves(commit, folder) if leaf.mode in FILE_MODES and leaf.is_hashed]
        contents = self.read([leaf.oid for leaf in files])
        return tuple(leaf.file(folder, content) for leaf, content in zip(files, contents, strict=True))

    def file(self, commit: str, path: str) -> bytes | None:
        """The content of a file of a commit; None if it is not there."""
        line = self.run("ls-tree", "-z", "--full-tree", full_sha(commit), "--", path)
        columns = line.partition(b"\t")[0].decode().split()
        return self.read([columns[2]])[0] if len(columns) == 3 and columns[1] == "blob" else None

    def folders(self, commit: str, login: str | None = None) -> list[tuple[str, str]]:
        """Login and agent of every folder on a commit, or of one login's, as it is spelled."""
        leaves = self.leaves(commit, SUBMISSIONS if login is None else f"{SUBMISSIONS}/{login}")
        return sorted((path.split("/")[1], path.split("/")[2]) for path in by_folder(leaves))

    def logins(self, commit: str) -> list[str]:
        """The logins that have a folder on a commit, as they are spelled; of all agents' files none is listed."""
        raw = self.run("ls-tree", "-d", "-z", "--name-only", "--full-tree", full_sha(commit), "--", f"{SUBMISSIONS}/")
        return sorted(path.decode("utf-8", "replace").partition("/")[2] for path in raw.split(b"\0") if path)

    def first_parent(self, commit: str) -> list[str]:
        """The first-parent commits of a branch, newest first."""
        return self.run("rev-list", "--first-parent", full_sha(commit)).decode().split()


def _parse_leaf(line: bytes) -> TreeLeaf:
    meta, path = line.split(b"\t", 1)
    mode, _, oid, *size = meta.decode("ascii").split()
    return TreeLeaf(mode=mode, oid=oid, size=int(size[0]) if size and size[0].isdigit() else 0, path=path)
