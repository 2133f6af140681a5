"""The git side of GitHub on this disk: a bare repository, forks that push to it, and merges."""

import os
import shutil
import subprocess
from pathlib import Path

HOST, HOST_MAIL = "host", "host@example.org"


def git(place: Path, *words: str, author: str = HOST, given: str = "") -> str:
    """Run git as somebody, without this machine's configuration."""
    named = {"NAME": author, "EMAIL": f"{author}@example.org", "DATE": "2026-01-02T03:04:05Z"}
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in named.items()}
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(place)}
    command = ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *words]
    done = subprocess.run(
        command, cwd=place, env={**os.environ, **quiet, **who}, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout.strip()


class Remote:
    """The board's repository as GitHub keeps it."""

    def __init__(self, place: Path) -> None:
        """A bare repository below `place`, and a clone in which commits are made."""
        self.bare = place / "remote.git"
        self.desk = place / "desk"
        self.bare.mkdir(parents=True)
        git(self.bare, "init", "--quiet", "--bare")
        for setting in ("uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"):
            git(self.bare, "config", setting, "true")
        self.desk.mkdir()
        git(self.desk, "init", "--quiet")
        git(self.desk, "remote", "add", "origin", self.url)

    @property
    def url(self) -> str:
        """Where clones come from."""
        return f"file://{self.bare}"

    def start(self, files: Path) -> str:
        """The first commit of main."""
        shutil.copytree(files, self.desk, dirs_exist_ok=True)
        return self._commit_to_main("Begin")

    def tip(self, ref: str = "refs/heads/main") -> str:
        """The commit that a ref names; empty without one."""
        lines = git(self.bare, "for-each-ref", "--format=%(objectname)", ref)
        return lines.split("\n")[0]

    def show(self, sha: str, path: str) -> str:
        """A file of a commit."""
        return git(self.bare, "show", f"{sha}:{path}")

    def paths(self, ref: str) -> list[str]:
        """Every path on a ref; none without it."""
        return git(self.bare, "ls-tree", "-r", "--name-only", ref).splitlines() if self.tip(ref) else []

    def blob(self, branch: str, path: str) -> str:
        """The name of a file's object on a branch."""
        return git(self.bare, "rev-parse", f"refs/heads/{branch}:{path}")

    def paths_of(self, sha: str, folder: str) -> list[str]:
        """The files directly in a folder of a commit."""
        return git(self.bare, "ls-tree", "--name-only", sha, f"{folder}/").splitlines()

    def subjects(self, ref: str) -> list[str]:
        """The commit subjects of a ref, newest first."""
        return git(self.bare, "log", "--format=%s", ref).splitlines() if self.tip(ref) else []

    def first_parents(self, span: str) -> list[str]:
        """The commits of a span by first parents, the oldest first."""
        return git(self.bare, "rev-list", "--first-parent", "--reverse", span).split()

    def changed(self, before: str, after: str) -> list[str]:
        """Paths that differ between two commits."""
        return git(self.bare, "diff", "--name-only", "--no-renames", f"{before}...{after}").splitlines()

    def propose(self, number: int, author: str, changes: dict[str, str | None]) -> str:
        """A fork's push to a pull request: files with their new text, None to remove; returns the head."""
        head, merge = f"refs/pull/{number}/head", f"refs/pull/{number}/merge"
        self._at(head if self.tip(head) else "refs/heads/main")
        self._write(changes)
        git(self.desk, "add", "--all", "--force")
        git(self.desk, "commit", "--quiet", "--allow-empty", "--message", f"{author}'s agent", author=author)
        sha = git(self.desk, "rev-parse", "HEAD")
        git(self.desk, "push", "--quiet", "--force", "origin", f"HEAD:{head}")
        self._at("refs/heads/main")
        git(self.desk, "merge", "--quiet", "--no-ff", "--message", f"Merge {sha}", sha)
        git(self.desk, "push", "--quiet", "--force", "origin", f"HEAD:{merge}")
        return sha

    def merge(self, number: int) -> str:
        """Merge a pull request into main with a merge commit; returns it."""
        self._at("refs/heads/main")
        head = self.tip(f"refs/pull/{number}/head")
        git(self.desk, "fetch", "--quiet", "origin", head)
        git(self.desk, "merge", "--quiet", "--no-ff", "--message", f"Merge pull request #{number}", head)
        return self._push_main()

    def enqueue(self, number: int) -> tuple[str, str]:
        """The commit of a merge queue that holds a pull request alone, and the queue's branch there."""
        base = self.tip()
        self._at("refs/heads/main")
        head = self.tip(f"refs/pull/{number}/head")
        git(self.desk, "fetch", "--quiet", "origin", head)
        git(self.desk, "merge", "--quiet", "--no-ff", "--message", f"Merge pull request #{number}", head)
        ref = f"refs/heads/gh-readonly-queue/main/pr-{number}-{base}"
        git(self.desk, "push", "--quiet", "origin", f"HEAD:{ref}")
        return git(self.desk, "rev-parse", "HEAD"), ref

    def change_main(self, changes: dict[str, str | None], message: str) -> str:
        """A maintainer's commit to main."""
        self._at("refs/heads/main")
        self._write(changes)
        return self._commit_to_main(message)

    def _commit_to_main(self, message: str) -> str:
        git(self.desk, "add", "--all", "--force")
        git(self.desk, "commit", "--quiet", "--message", message)
        return self._push_main()

    def _push_main(self) -> str:
        git(self.desk, "push", "--quiet", "origin", "HEAD:refs/heads/main")
        return git(self.desk, "rev-parse", "HEAD")

    def _at(self, ref: str) -> None:
        git(self.desk, "fetch", "--quiet", "origin", ref)
        git(self.desk, "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
        git(self.desk, "clean", "-qffdx")

    def _write(self, changes: dict[str, str | None]) -> None:
        for path, text in changes.items():
            place = self.desk / path
            if text is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
