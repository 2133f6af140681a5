"""The one owner of git: objects are read as data, and nothing that a repository brings along is run."""

import os
import re
import subprocess
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.model.submission import Blob
from scripts.console import OUR_FAULT, CommandError

REGULAR = ("100644", "100755")
SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

# Neither hooks nor monitors nor helpers run, whatever the repository's own configuration says.
_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.quotePath=off", "core.attributesFile=/dev/null",
    "core.pager=cat", "core.askPass=", "credential.helper=", "commit.gpgSign=false", "log.showSignature=false",
    "log.showRoot=true", "diff.renames=false", "gc.auto=0", "maintenance.auto=false",
    "fetch.recurseSubmodules=false", "submodule.recurse=false", "push.recurseSubmodules=no", "safe.directory=*",
    "protocol.allow=never", "protocol.https.allow=always", "protocol.http.allow=always", "protocol.file.allow=always",
)  # fmt: skip
_KEPT = (
    "PATH", "TMPDIR", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
)  # fmt: skip
_FIXED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
}


class GitError(CommandError):
    """Git refused; one line says what it said."""

    def __init__(self, verb: str, said: str, output: str = "") -> None:
        lines = [line for line in said.splitlines() if line.strip()]
        lines = lines or ["it gave no reason"]
        told = next((line for line in lines if re.match(r"(remote: )?(fatal|error)", line)), lines[-1])
        super().__init__(OUR_FAULT, f"git {verb} failed: {told.strip()[:300]}")
        self.said = said
        self.output = output


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """What opens the remote; handed to git by the environment, so that no process list shows it."""

    server_url: str
    """Such as https://github.com; the token goes nowhere else."""
    token: str
    """A token of the run."""

    def environment(self) -> dict[str, str]:
        """Git's own way to take settings from the environment."""
        basic = b64encode(f"x-access-token:{self.token}".encode()).decode()
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{self.server_url.rstrip('/')}/.extraheader",
            "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {basic}",
        }


@dataclass(frozen=True, kw_only=True)
class Change:
    """One path that differs between two commits; a rename is a deletion and an addition."""

    status: str
    """Git's letter: A, M, D or T."""
    old_mode: str
    """Before; 000000 where there was nothing."""
    new_mode: str
    """After; 000000 where there is nothing."""
    path: bytes
    """As git has it, which need not be text."""


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """One path of a commit's tree."""

    mode: str
    """100644, 100755, 120000 (link) or 160000 (another repository)."""
    oid: str
    """The object's name."""
    size: int
    """Bytes; 0 for what is no blob."""
    path: bytes
    """From the root of the repository."""


def checked(sha: str) -> str:
    """A full commit id, so that no argument of ours is ever taken for an option or a ref.

    Raises:
        CommandError: it is none.
    """
    if not SHA.fullmatch(sha):
        raise CommandError(OUR_FAULT, f"{sha[:60]!r} is not a full commit id")
    return sha


@dataclass(frozen=True)
class Repository:
    """A clone on this disk."""

    path: Path
    """Its folder."""
    credentials: Credentials | None = None
    """For its remote, where that asks."""

    def run(self, *arguments: str, given: bytes | Iterable[bytes] = b"") -> bytes:
        """What git prints.

        Raises:
            GitError: it ended with another code than 0.
        """
        command = ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *arguments]
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        secret = self.credentials.environment() if self.credentials else {}
        data = given if isinstance(given, bytes) else b"".join(given)
        environment = {**kept, **_FIXED, **secret, "HOME": str(self.path)}
        done = subprocess.run(command, cwd=self.path, env=environment, input=data, capture_output=True, check=False)
        if done.returncode != 0:
            raise GitError(arguments[0], done.stderr.decode(errors="replace"), done.stdout.decode(errors="replace"))
        return done.stdout

    def resolve(self, name: str) -> str | None:
        """The commit that a name stands for, if there is one."""
        try:
            return self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}").decode().strip()
        except GitError:
            return None

    def is_shallow(self) -> bool:
        """Whether history was cut off."""
        return self.run("rev-parse", "--is-shallow-repository").strip() == b"true"

    def fetch(self, *shas: str, options: tuple[str, ...] = ()) -> None:
        """Fetch commits from origin as data: no branch moves, nothing is checked out."""
        quietly = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc")
        self.run("fetch", *quietly, *options, "--end-of-options", "origin", *map(checked, shas))

    def merge_bases(self, base: str, head: str) -> list[str]:
        """The commits from which the head went its own way; none where the histories have nothing in common."""
        try:
            return self.run("merge-base", "--all", checked(base), checked(head)).decode().split()
        except GitError as error:
            if error.said.strip():
                raise
            return []

    def changes(self, base: str, head: str) -> list[Change]:
        """What the head changes since it left the base, by objects; with several merge bases, since any of them."""
        found = {}
        for since in self.merge_bases(base, head):
            form = ("-r", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
            raw = self.run("diff-tree", *form, since, checked(head))
            parts = raw.split(b"\0")
            for meta, path in zip(parts[0::2], parts[1::2], strict=False):
                old, new, _, _, status = meta.decode("ascii").removeprefix(":").split(" ")
                found[path] = Change(status=status[0], old_mode=old, new_mode=new, path=path)
        return [found[path] for path in sorted(found)]

    def leaves(self, commit: str, folder: str) -> tuple[Leaf, ...]:
        """Every path under a folder of a commit."""
        raw = self.run("ls-tree", "-r", "-l", "-z", "--full-tree", checked(commit), "--", folder.rstrip("/") + "/")
        return tuple(_leaf(line) for line in raw.split(b"\0") if line)

    def read(self, oids: Sequence[str]) -> list[bytes]:
        """The bytes of blobs, in order, by one process."""
        raw = self.run("cat-file", "--batch", given="".join(f"{checked(oid)}\n" for oid in oids).encode())
        found, begin = [], 0
        for oid in oids:
            end = raw.index(b"\n", begin)
            words = raw[begin:end].decode().split()
            if len(words) != 3 or words[1] != "blob":
                raise GitError("cat-file", f"fatal: {oid} is no blob here")
            size = int(words[2])
            found.append(raw[end + 1 : end + 1 + size])
            begin = end + size + 2
        return found

    def blobs(self, commit: str, folder: str) -> tuple[Blob, ...]:
        """The plain files under a folder, paths from there, as the folder's digest takes them."""
        kept = [leaf for leaf in self.leaves(commit, folder) if leaf.mode in REGULAR and b"/__pycache__/" not in leaf.path]
        start = len(folder.rstrip("/")) + 1
        return tuple(
            Blob(path=leaf.path.decode("utf-8", "replace")[start:], executable=leaf.mode == "100755", content=content)
            for leaf, content in zip(kept, self.read([leaf.oid for leaf in kept]), strict=True)
        )

    def folders(self, commit: str) -> list[tuple[str, str]]:
        """Login and name of every agent's folder on a commit."""
        paths = (leaf.path.decode("utf-8", "replace").split("/") for leaf in self.leaves(commit, "submissions"))
        return sorted({(path[1], path[2]) for path in paths if len(path) > 3})

    def first_parent(self, commit: str) -> list[str]:
        """The commits of a branch by first parents, newest first."""
        return self.run("rev-list", "--first-parent", checked(commit)).decode().split()


def _leaf(line: bytes) -> Leaf:
    meta, path = line.split(b"\t", 1)
    mode, _, oid, size = meta.decode("ascii").split()
    return Leaf(mode=mode, oid=oid, size=int(size) if size.isdigit() else 0, path=path)
