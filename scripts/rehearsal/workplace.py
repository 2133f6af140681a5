"""Where a rehearsal's commits are made: a repository of its own that is gone afterwards; the host's clone is not touched."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from evaluator.host.loading.submission_folder import Folder, assemble
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.challenge import SubmissionLimits
from evaluator.model.identifiers import AGENT, safe_path_segment
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.store import RESULT
from scripts.console import OUR_FAULT, SUBMISSION_AT_FAULT, CommandError
from scripts.git.data_branches import RESULTS, parse_record
from scripts.git.git_repository import SHA, Credentials, GitError, Repository, checked
from scripts.git.path_guard import owners_on
from scripts.git.tree_diff import ROOT

MAIN = "main"
PREFIX = "pullrank-rehearsal-"
BRANCH = re.compile(rf"{PREFIX}({AGENT.pattern})-([0-9a-f]{{8}})(-withdraw)?")


@dataclass(frozen=True, kw_only=True)
class Signature:
    """Who commits."""

    login: str
    """On GitHub."""
    id: int
    """GitHub's number, which its address without an inbox begins with."""

    @property
    def line(self) -> str:
        """As git writes it."""
        return f"{self.login} <{self.id}+{self.login}@users.noreply.github.com>"


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """A bare repository, with the board's as its origin."""

    repository: Repository
    """Holds main's whole history."""
    url: str
    """Where the board's repository is cloned from."""

    def tip(self, branch: str, url: str | None = None) -> str | None:
        """The newest commit of a branch there, of the board's repository where no other is named."""
        return self._refs(f"refs/heads/{branch}", url).get(branch)

    def rehearsals(self, url: str) -> dict[str, str]:
        """The branches there that rehearsals made, each with its newest commit."""
        return {name: sha for name, sha in self._refs(f"refs/heads/{PREFIX}*", url).items() if BRANCH.fullmatch(name)}

    def _refs(self, pattern: str, url: str | None) -> dict[str, str]:
        lines = self.repository.run("ls-remote", "--refs", "--", url or self.url, pattern).decode("utf-8", "replace")
        pairs = [line.split("\t", 1) for line in lines.splitlines()]
        return {name.removeprefix("refs/heads/"): sha for sha, name in pairs if SHA.fullmatch(sha)}

    def fetched_main(self) -> str:
        """The newest commit of main, fetched with its history.

        Raises:
            CommandError: there is no branch of that name.
        """
        sha = self.tip(MAIN)
        if sha is None:
            raise CommandError(OUR_FAULT, f"the repository has no branch {MAIN}; push your board first")
        self.repository.fetch(sha)
        return sha

    def text(self, commit: str, path: str) -> bytes | None:
        """A file of a commit, if it is there."""
        line = self.repository.run("ls-tree", "-z", "--full-tree", checked(commit), "--", path)
        words = line.partition(b"\t")[0].decode().split()
        return self.repository.read([words[2]])[0] if len(words) == 3 and words[1] == "blob" else None

    def owner_folder(self, commit: str, login: str) -> str:
        """How a login's folder is spelled on a commit, or would be."""
        return owners_on(self.repository.leaves(commit, ROOT)).get(login.casefold(), login)

    def stands(self, commit: str, folder: str) -> bool:
        """Whether a folder is there."""
        return bool(self.repository.leaves(commit, folder))

    def agent(self, commit: str, folder: str, limits: SubmissionLimits) -> Folder:
        """An agent's folder, read as the referee reads it.

        Raises:
            CommandError: it is not there, or no agent.
        """
        try:
            return assemble(self.repository.blobs(commit, folder), limits)
        except LoadError as error:
            raise CommandError(
                SUBMISSION_AT_FAULT, f"{folder} of {commit[:12]} is no agent any more: {error.lines[0]}"
            ) from error

    def contains(self, commit: str, ancestor: str) -> bool:
        """Whether a commit's history holds another one."""
        return ancestor in self.repository.merge_bases(ancestor, commit)

    def commit(self, base: str, changes: Mapping[str, bytes | None], message: str, who: Signature, now: datetime) -> str:
        """A commit on top of another: files with their bytes, None to remove one."""
        text = message.encode()
        parts = [
            b"reset refs/pullrank/rehearsal\n\ncommit refs/pullrank/rehearsal\nmark :1\n",
            f"committer {who.line} {int(now.timestamp())} +0000\ndata {len(text)}\n".encode() + text + b"\n",
            f"from {checked(base)}\n".encode(),
        ]
        for path, content in changes.items():
            if content is None:
                parts.append(f"D {path}\n".encode())
            else:
                parts.append(f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n")
        parts.append(b"get-mark :1\ndone\n")
        return self.repository.run("fast-import", "--quiet", "--force", "--done", given=parts).decode().strip()

    def push(self, commit: str, branch: str, url: str | None = None) -> None:
        """Put a commit on a branch of a rehearsal.

        Raises:
            GitError: the remote refuses.
        """
        self._push(f"+{checked(commit)}:refs/heads/{branch}", branch, url)

    def delete(self, branch: str, url: str | None = None) -> bool:
        """Delete a rehearsal's branch; whether it was there.

        Raises:
            GitError: the remote refuses.
        """
        if self.tip(branch, url) is None:
            return False
        self._push(f":refs/heads/{branch}", branch, url)
        return True

    def _push(self, refspec: str, branch: str, url: str | None) -> None:
        assert BRANCH.fullmatch(branch), "a rehearsal writes to branches of its own only"
        self.repository.run("push", "--quiet", "--no-verify", "--", url or self.url, refspec)

    def records(self, task: str, login: str, agent: str) -> tuple[str, list[Result | Duel]]:
        """The newest commit of the results branch, empty without one, and what it holds of an agent on a task."""
        tip = self.tip(RESULTS)
        if tip is None:
            return "", []
        self.repository.fetch(tip, options=("--depth=1",))
        leaves = self.repository.leaves(tip, safe_path_segment(task))
        wanted = [one.oid for one in leaves if one.mode == "100644" and _is_of(one.path.decode("utf-8", "replace"), agent)]
        records = []
        for content in self.repository.read(wanted):
            try:
                record = parse_record(content)
            except ValueError:
                continue  # Damaged files are named by whoever publishes.
            sides = record.players if isinstance(record, Duel) else (record,)
            if any((one.login.casefold(), one.agent) == (login.casefold(), agent) for one in sides):
                records.append(record)
        return tip, records


def _is_of(path: str, agent: str) -> bool:
    """Whether a record's path can be of an agent: cheap, since the record itself says whose it is."""
    return path.endswith(RESULT) and (f"/{agent}/" in path or f"+{agent}" in path)


@contextmanager
def open_workplace(url: str, token: str) -> Iterator[Workplace]:
    """A repository for a rehearsal, gone afterwards whatever happens. The token goes to the server of `url` only.

    Raises:
        CommandError: the address is none that git may be given.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http", "file"):
        raise CommandError(OUR_FAULT, f"GitHub names {parts.scheme or 'no'} address to clone from; https is needed")
    credentials = Credentials(server_url=f"{parts.scheme}://{parts.netloc}", token=token) if parts.netloc else None
    with TemporaryDirectory(prefix="pullrank-rehearsal-") as place:
        repository = Repository(Path(place), credentials)
        repository.run("init", "--quiet", "--bare", ".")
        repository.run("config", "remote.origin.url", url)
        yield Workplace(repository=repository, url=url)


def pushed(workplace: Workplace, commit: str, branch: str, url: str | None, where: str) -> None:
    """Push, and say in one line what a refusal means.

    Raises:
        CommandError: the remote refuses.
    """
    try:
        workplace.push(commit, branch, url)
    except GitError as error:
        line = f"the branch {branch} cannot be pushed to {where}: {error}; use a token that may write there"
        raise CommandError(SUBMISSION_AT_FAULT, line) from error
