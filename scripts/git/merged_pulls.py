"""Which pull request brought each agent: as GitHub says where it was asked, else as merge commits say.

A subject's last `(#1)` proves nothing: a rebase merge keeps the subjects that the author typed. So a commit with one parent
has a number only where GitHub names that very commit as what merged the pull request. A commit with two parents comes to
main's first-parent line by a merge of the host's, which writes the subject; without GitHub's word its number is taken.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evaluator.model.canonical_json import parse_strict
from leaderboard.core.entry import AgentName
from leaderboard.core.store import write_atomically
from scripts.git.git_repository import SHA, GitError, GitRepository
from scripts.github.api.find_pull_request import PullRequest

FILE = Path("build", "pulls.json")
# So many of the latest touched pull requests are asked for, a hundred in a request.
ASKED = 10_000

# The words after the number are a stranger's: the name of a branch.
_MERGED = re.compile(r"Merge pull request #([0-9]{1,9}) from ")
_PATH = re.compile(r'"?submissions/([^/]+)/([^/]+)/')
_BEGIN = "\x01"


def write_confirmed(clone: GitRepository, main: str, merged: Iterable[PullRequest]) -> int:
    """Note which commits of main merged which pull requests, as GitHub says, for the site; returns how many."""
    history = set(clone.first_parent(main))
    numbers = {pull.merge_commit_sha: pull.number for pull in merged if pull.merged and pull.merge_commit_sha in history}
    write_atomically(clone.path / FILE, json.dumps(numbers).encode())
    return len(numbers)


def merged_pulls(root: Path) -> dict[AgentName, int]:
    """By login without capitals and agent: the number of the pull request that changed its folder last.

    Empty where there is no history, such as in an archive of the files.
    """
    form = f"--format={_BEGIN}%H{_BEGIN}%P{_BEGIN}%s"
    asked = ("log", "--first-parent", "-m", "--name-only", form, "HEAD", "--", "submissions")
    try:
        printed = GitRepository(root).run(*asked).decode(errors="replace")
    except GitError:
        return {}
    newest: dict[AgentName, int | None] = {}
    for number, paths in _commits(printed, _confirmed(root)):
        for login, agent in paths:
            newest.setdefault(AgentName.folded(login, agent), number)
    return {name: number for name, number in newest.items() if number is not None}


def _confirmed(root: Path) -> dict[str, int] | None:
    """What `write_confirmed` noted; None where GitHub was not asked."""
    try:
        document = parse_strict((root / FILE).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict):
        return None
    return {sha: number for sha, number in document.items() if SHA.fullmatch(sha) and type(number) is int}


def _commits(printed: str, confirmed: Mapping[str, int] | None) -> Iterator[tuple[int | None, set[tuple[str, str]]]]:
    """Each commit's pull request, if any, and the folders that it changed; the newest first."""
    for commit in printed.split(f"\n{_BEGIN}"):
        head, *paths = commit.removeprefix(_BEGIN).split("\n")
        if not head:
            continue
        sha, parents, subject = head.split(_BEGIN, 2)
        folders = {(m[1], m[2]) for path in paths if (m := _PATH.match(path))}
        if confirmed is not None:
            yield confirmed.get(sha), folders
        else:
            match = _MERGED.match(subject) if " " in parents else None
            yield int(match[1]) if match else None, folders
