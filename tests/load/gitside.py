"""The git side of a crowded board: heads, merges and pushes by plumbing, in one bare repository."""

import subprocess
from pathlib import Path

from tests.load.population import Files
from tests.scripts.github.remotes import git

# With thousands of loose refs and objects a fetch takes half a second, as it never does at GitHub.
PACKED_EVERY = 100


class CrowdedRemote:
    """The board's repository as GitHub keeps it."""

    def __init__(self, place: Path, files: Files) -> None:
        """A bare repository with these files on main."""
        self.bare = place / "remote.git"
        self.bare.mkdir(parents=True)
        git(self.bare, "init", "-q", "--bare", "-b", "main", ".")
        for setting in ("uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"):
            git(self.bare, "config", setting, "true")
        git(self.bare, "config", "gc.auto", "0")
        # Pushes are kept as the packs that they came in, which is what their size is.
        git(self.bare, "config", "receive.unpackLimit", "1")
        self.seconds = 1_767_323_045
        self._proposed = 0
        self._import(_commit("refs/heads/main", "Begin", "host", self.seconds, "", files))

    @property
    def main(self) -> str:
        """Main's newest commit."""
        return self.tip("refs/heads/main")

    def tip(self, ref: str) -> str:
        """The commit that a ref names; empty without one."""
        loose = self.bare / ref
        if loose.is_file():
            return loose.read_text().strip()
        return git(self.bare, "for-each-ref", "--format=%(objectname)", ref) if ref in self._packed() else ""

    def _packed(self) -> str:
        place = self.bare / "packed-refs"
        return place.read_text() if place.is_file() else ""

    def propose(self, number: int, author: str, files: Files) -> str:
        """A commit on main's tip, or on the pull request's head, at the head of a pull request; returns it."""
        self._proposed += 1
        if self._proposed % PACKED_EVERY == 0:
            git(self.bare, "pack-refs", "--all")
            git(self.bare, "repack", "-d", "-q")
        ref = f"refs/pull/{number}/head"
        base = self.tip(ref) or self.main
        self._import(_commit(ref, f"An agent of {author}", author, self.seconds, base, files))
        return self.tip(ref)

    def merge(self, number: int, files: Files) -> str:
        """Merge a pull request that changes these files of main; returns main's new commit."""
        head = f"refs/pull/{number}/head"
        message = f"Merge pull request #{number}"
        self._import(_commit("refs/heads/main", message, "host", self.seconds, self.main, files, merged=self.tip(head)))
        return self.main

    def _import(self, stream: str) -> None:
        subprocess.run(
            ["git", "-C", str(self.bare), "fast-import", "--quiet", "--force"], input=stream.encode(), check=True,
            capture_output=True,
        )  # fmt: skip

    def kilobytes(self) -> float:
        """Size of the repository as it was pushed, loose objects and packs."""
        fields = dict(line.split(": ") for line in git(self.bare, "count-objects", "-v").splitlines())
        return float(fields["size"]) + float(fields["size-pack"])

    def packed_kilobytes(self, *refs: str) -> float:
        """Size of one pack with everything that refs reach, as a clone transfers it."""
        wanted = "\n".join(sha for ref in refs if (sha := self.tip(ref)))
        done = subprocess.run(
            ["git", "-C", str(self.bare), "pack-objects", "--revs", "--stdout", "-q", "--threads=1"],
            input=f"{wanted}\n".encode(), check=True, capture_output=True,
        )  # fmt: skip
        return len(done.stdout) / 1000

    def commits(self, ref: str) -> int:
        """The number of commits that a ref reaches."""
        return int(git(self.bare, "rev-list", "--count", ref)) if self.tip(ref) else 0

    def paths(self, ref: str) -> list[str]:
        """Every path on a ref; none without it."""
        return git(self.bare, "ls-tree", "-r", "--name-only", ref).splitlines() if self.tip(ref) else []

    def changes_of(self, ref: str) -> list[tuple[str, str]]:
        """Letter and path of every change of a file in a ref's history, oldest first."""
        raw = git(self.bare, "log", "--reverse", "--format=", "--name-status", "--no-renames", ref) if self.tip(ref) else ""
        lines = (line.split("\t") for line in raw.splitlines() if line)
        return [(line[0], line[1]) for line in lines]


def _commit(ref: str, message: str, who: str, seconds: int, base: str, files: Files, *, merged: str = "") -> str:
    signature = f"{who} <{who}@example.org> {seconds} +0000"
    lines = [f"commit {ref}\nauthor {signature}\ncommitter {signature}\n{_data(message)}"]
    lines += [f"from {base}\n" if base else "", f"merge {merged}\n" if merged else ""]
    for name, text in files.items():
        mode, _, path = name.rpartition(":")
        lines.append(f"D {path}\n" if text is None else f"M {mode or '100644'} inline {path}\n{_data(text)}")
    return "".join(lines) + "\n"


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"
