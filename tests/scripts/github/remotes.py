"""Real git remotes on disk: a board's repository, forks of it, and what people commit there."""

import hashlib
import subprocess
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.git.git_repository import GitRepository

CHALLENGE = b"""title: Test
season: "1"
tasks:
  - {id: CartPole-v1, episodes: 3}
  - {id: FrozenLake-v1, episodes: 3}
"""
MANIFEST = b"name: Test\nalgorithm: none\n"
AGENT = b"class Agent:\n    def act(self, observation):\n        return 0\n"
WHO = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")


def git(place: Path, *arguments: str, given: bytes = b"", at: str = "") -> str:
    """Plain git, as people have it; `at` is the time of a commit, if not now."""
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(place), "GIT_CONFIG_NOSYSTEM": "1"}
    environment |= {"GIT_COMMITTER_DATE": at} if at else {}
    command = ["git", *WHO, *arguments]
    done = subprocess.run(command, cwd=place, env=environment, input=given, capture_output=True, check=True)
    return done.stdout.decode().strip()


# Objects and refs are written as git keeps them: the tests make thousands, and each process of git takes milliseconds.


def _object(place: Path, kind: bytes, content: bytes) -> str:
    """The name of an object, written as a loose one."""
    held = b"%s %d\0%s" % (kind, len(content), content)
    oid = hashlib.sha1(held, usedforsecurity=False).hexdigest()
    file = _git_folder(place) / "objects" / oid[:2] / oid[2:]
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(zlib.compress(held, 1))
    return oid


def _commit_object(place: Path, tree: str, parents: tuple[str, ...], message: str) -> str:
    """The name of a commit of now."""
    who = f"Test <test@example.org> {int(time.time())} +0000"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {who}", f"committer {who}"]
    return _object(place, b"commit", "\n".join([*lines, "", message, ""]).encode(errors="surrogateescape"))


def read_ref(place: Path, ref: str) -> str:
    """The commit of a full ref, or of HEAD.

    Raises:
        subprocess.CalledProcessError: there is none.
    """
    file = _git_folder(place) / ref
    if not file.is_file():
        return git(place, "rev-parse", "--verify", ref)
    text = file.read_text().strip()
    return read_ref(place, text.removeprefix("ref: ")) if text.startswith("ref: ") else text


def write_ref(place: Path, ref: str, commit: str) -> None:
    """Let a full ref, or the branch of HEAD, be a commit."""
    file = _git_folder(place) / ref
    if ref == "HEAD" and (text := file.read_text().strip()).startswith("ref: "):
        file = _git_folder(place) / text.removeprefix("ref: ")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{commit}\n")


def _git_folder(place: Path) -> Path:
    """Where a repository's objects lie: in `.git` of a checkout, else in the place itself."""
    return place / ".git" if (place / ".git").is_dir() else place


@dataclass(frozen=True)
class Clone:
    """A clone that commits by plumbing, so that it can commit what no checkout would."""

    path: Path

    @property
    def repository(self) -> GitRepository:
        return GitRepository(self.path)

    @property
    def head(self) -> str:
        return read_ref(self.path, "HEAD")

    def commit(
        self, files: Mapping[str, bytes | None], message: str = "change", parents: tuple[str, ...] = (), at: str = ""
    ) -> str:
        """Commit files; None removes one. A path may begin with a mode and a colon."""
        index = b"".join(self._index_entry(name, content) for name, content in files.items())
        if index:
            git(self.path, "update-index", "-z", "--add", "--index-info", given=index)
        tree = git(self.path, "write-tree")
        before = parents or ((self.head,) if self.has_commits() else ())
        if at:
            commit = git(self.path, "commit-tree", tree, *(w for p in before for w in ("-p", p)), "-m", message, at=at)
        else:
            commit = _commit_object(self.path, tree, before, message)
        write_ref(self.path, "HEAD", commit)
        return commit

    def _index_entry(self, name: str, content: bytes | None) -> bytes:
        """A line for `git update-index -z --index-info`; mode 0 removes."""
        mode, _, path = name.rpartition(":") if name[:6].isdigit() and name[6:7] == ":" else ("100644", "", name)
        if content is None:
            mode, oid = "0", "0" * 40
        elif mode == "160000":
            oid = content.decode()
        else:
            oid = _object(self.path, b"blob", content)
        return f"{mode} {oid}\t{path}\0".encode(errors="surrogateescape")

    def has_commits(self) -> bool:
        return bool(git(self.path, "rev-list", "-n", "1", "--all"))

    def switch(self, commit: str) -> None:
        write_ref(self.path, "HEAD", commit)
        git(self.path, "read-tree", commit)

    def push(self, branch: str = "main") -> None:
        git(self.path, "push", "-q", "origin", f"HEAD:refs/heads/{branch}")


def agent_files(login: str, agent: str = "a", source: bytes = AGENT, manifest: bytes = MANIFEST) -> dict[str, bytes | None]:
    """An agent's folder."""
    return {f"submissions/{login}/{agent}/agent.py": source, f"submissions/{login}/{agent}/submission.yml": manifest}


def make_board(place: Path, files: Mapping[str, bytes | None] | None = None) -> Clone:
    """An origin with one commit on main, and a clone of it."""
    origin = place / "origin.git"
    origin.mkdir(parents=True)
    git(origin, "init", "-q", "--bare", "-b", "main", ".")
    git(origin, "config", "uploadpack.allowFilter", "true")
    path = place / "clone"
    path.mkdir()
    git(path, "init", "-q", "-b", "main", ".")
    git(path, "remote", "add", "origin", str(origin))
    clone = Clone(path)
    clone.commit({"challenge.yml": CHALLENGE, "README.md": b"board\n", "evaluator/e.py": b"x = 1\n", **(files or {})})
    clone.push()
    return clone


def origin_branch(clone: Clone, branch: str) -> dict[str, bytes]:
    """Every file of a branch of the origin."""
    origin = clone.path.parent / "origin.git"
    names = git(origin, "ls-tree", "-r", "--name-only", branch).splitlines()
    show = ["git", "-C", str(origin), "show"]
    return {name: subprocess.run([*show, f"{branch}:{name}"], capture_output=True, check=True).stdout for name in names}
