"""Which pull request brought each agent: as GitHub says, or without GitHub's answer as merge commits say.

A subject's last `(#1)` proves nothing: a rebase merge keeps the author's subjects. So a commit with one parent has a number
only if GitHub names this commit as the pull request's merge. It says so of every pull request with that head, and anyone may
open one with somebody else's: then the owner's counts. A commit with two parents on main's first-parent line is the host's
merge, who wrote its subject; its number is used if GitHub was not asked.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evaluator.model.canonical_json import parse_strict
from leaderboard.core.entry import AgentName
from leaderboard.core.store import write_atomically
from scripts.git.git_repository import OBJECT_NAME, GitError, GitRepository
from scripts.github.api.responses import PullRequest
from scripts.repository.layout import SUBMISSIONS

PULLS_FILE = Path("build", "pulls.json")
# Merged pull requests to read, the last updated first, a hundred per request.
PULLS_ASKED = 10_000

# The branch name after the number is untrusted.
_MERGE_SUBJECT = re.compile(r"Merge pull request #([0-9]{1,9}) from ")
_AGENT_PATH = re.compile(r'"?submissions/([^/]+)/([^/]+)/')
_COMMIT_MARK = "\x01"


def write_pull_numbers(clone: GitRepository, main: str, merged: Iterable[PullRequest]) -> int:
    """Write down for the site which pull request each commit of main merged, by GitHub; returns their number."""
    history = set(clone.first_parent(main))
    numbers: dict[str, dict[str, int]] = {}
    for pull in merged:
        if pull.merged and pull.merge_commit_sha in history:
            numbers.setdefault(pull.merge_commit_sha, {})[pull.author.casefold()] = pull.number
    write_atomically(clone.path / PULLS_FILE, json.dumps(numbers).encode())
    return len(numbers)


def pull_numbers_by_agent(root: Path) -> dict[AgentName, int]:
    """By agent: the number of the pull request that changed its folder last; empty without git history."""
    form = f"--format={_COMMIT_MARK}%H{_COMMIT_MARK}%P{_COMMIT_MARK}%s"
    arguments = ("log", "--first-parent", "-m", "--name-only", form, "HEAD", "--", SUBMISSIONS)
    try:
        printed = GitRepository(root).run(*arguments).decode(errors="replace")
    except GitError:
        return {}
    newest: dict[AgentName, int | None] = {}
    for numbers, paths in _commits(printed, _confirmed(root)):
        only = next(iter(numbers.values())) if len(numbers) == 1 else None
        for login, agent in paths:
            newest.setdefault(AgentName.folded(login, agent), numbers.get(login.casefold(), only))
    return {name: number for name, number in newest.items() if number is not None}


_Numbers = Mapping[str, int]
"""Numbers of the pull requests that one commit merged, by their authors in lower case; by nobody as a subject says."""


def _confirmed(root: Path) -> dict[str, _Numbers] | None:
    """What `write_pull_numbers` wrote; None if GitHub was not asked."""
    try:
        document = parse_strict((root / PULLS_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict):
        return None
    return {sha: numbers for sha, numbers in document.items() if OBJECT_NAME.fullmatch(sha) and isinstance(numbers, dict)}


def _commits(printed: str, confirmed: Mapping[str, _Numbers] | None) -> Iterator[tuple[_Numbers, set[tuple[str, str]]]]:
    """Each commit's pull requests, if known, and the folders that it changed; newest first."""
    for commit in printed.split(f"\n{_COMMIT_MARK}"):
        head, *paths = commit.removeprefix(_COMMIT_MARK).split("\n")
        if not head:
            continue
        sha, parents, subject = head.split(_COMMIT_MARK, 2)
        folders = {(m[1], m[2]) for path in paths if (m := _AGENT_PATH.match(path))}
        if confirmed is not None:
            yield confirmed.get(sha, {}), folders
        else:
            match = _MERGE_SUBJECT.match(subject) if " " in parents else None
            yield {"": int(match[1])} if match else {}, folders
