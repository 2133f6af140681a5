"""Real git remotes on disk: a board's repository, forks of it, and what people commit there."""

import hashlib
import subprocess
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


def _blob(place: Path, content: bytes) -> str:
    """The name of a blob, written as a loose object: thousands of calls of `git hash-object` would take minutes."""
    held = b"blob %d\0%s" % (len(content), content)
    oid = hashlib.sha1(held, usedforsecurity=False).hexdigest()
    file = _git_folder(place) / "objects" / oid[:2] / oid[2:]
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(zlib.compress(held, 1))
    return oid


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
        return git(self.path, "rev-parse", "HEAD")

    def commit(
        self, files: Mapping[str, bytes | None], message: str = "change", parents: tuple[str, ...] = (), at: str = ""
    ) -> str:
        """Commit files; None removes one. A path may begin with a mode and a colon."""
        index = b"".join(self._index_entry(name, content) for name, content in files.items())
        if index:
            git(self.path, "update-index", "-z", "--add", "--index-info", given=index)
        tree = git(self.path, "write-tree")
        before = parents or ((self.head,) if self.has_commits() else ())
        commit = git(self.path, "commit-tree", tree, *(w for p in before for w in ("-p", p)), "-m", message, at=at)
        git(self.path, "update-ref", "HEAD", commit)
        return commit

    def _index_entry(self, name: str, content: bytes | None) -> bytes:
        """A line for `git update-index -z --index-info`; mode 0 removes."""
        mode, _, path = name.rpartition(":") if name[:6].isdigit() and name[6:7] == ":" else ("100644", "", name)
        if content is None:
            mode, oid = "0", "0" * 40
        elif mode == "160000":
            oid = content.decode()
        else:
            oid = _blob(self.path, content)
        return f"{mode} {oid}\t{path}\0".encode(errors="surrogateescape")

    def has_commits(self) -> bool:
        return bool(git(self.path, "rev-list", "-n", "1", "--all"))

    def switch(self, commit: str) -> None:
        git(self.path, "update-ref", "HEAD", commit)
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
