"""Which pull request brought each agent: as the history of main says, without asking GitHub."""

import re
from collections.abc import Iterator
from pathlib import Path

from leaderboard.field import Name
from scripts.bot.git import GitError, Repository

# A merge is told by its parents, since the words after the number are a stranger's: the name of a branch, or a title.
_MERGED = re.compile(r"Merge pull request #([0-9]{1,9}) from ")
_SQUASHED = re.compile(r"\(#([0-9]{1,9})\)$")
_PATH = re.compile(r'"?submissions/([^/]+)/([^/]+)/')
_BEGIN = "\x01"


def pulls(root: Path) -> dict[Name, int]:
    """By login without capitals and agent: the number of the pull request that changed its folder last.

    Empty where there is no history, such as in an archive of the files.
    """
    asked = ("log", "--first-parent", "-m", "--name-only", f"--format={_BEGIN}%P{_BEGIN}%s", "HEAD", "--", "submissions")
    try:
        said = Repository(root).run(*asked).decode(errors="replace")
    except GitError:
        return {}
    found: dict[Name, int | None] = {}
    for number, paths in _commits(said):
        for login, agent in paths:
            found.setdefault((login.casefold(), agent), number)
    return {name: number for name, number in found.items() if number is not None}


def _commits(said: str) -> Iterator[tuple[int | None, set[tuple[str, str]]]]:
    """Each commit's pull request, if any, and the folders that it changed; the newest first."""
    for commit in said.split(f"\n{_BEGIN}"):
        head, *paths = commit.removeprefix(_BEGIN).split("\n")
        parents, _, subject = head.partition(_BEGIN)
        match = _MERGED.match(subject) if " " in parents else _SQUASHED.search(subject)
        yield int(match[1]) if match else None, {(m[1], m[2]) for path in paths if (m := _PATH.match(path))}
