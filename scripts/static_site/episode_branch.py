"""Rendered episodes on the branch `episodes`: one commit without a past that is replaced, so that nothing piles up.

Whatever fails here costs pictures, never the site: what is not on the branch is rendered anew or not shown.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from leaderboard.core.store import TRACE, write_atomically
from scripts.console import say
from scripts.git.data_branches import BranchCommit, DataBranches, object_name, open_branches, tip_of
from scripts.git.git_repository import GitError, GitRepository
from scripts.static_site.render_episodes import WantedEpisode, files, missing, put, render

BRANCH = "episodes"
MESSAGE = "render: the best entries' episodes"
# So many objects are asked for at a time.
_PART = 200


def fetch(clone: GitRepository, season: str, folder: Path) -> int:
    """Take what is on the branch; returns of how many results. Before the first there are none, which is no fault."""
    with open_branches(clone, season) as branches:
        _take(branches, tip_of(branches.repository, BRANCH), folder)
    return len(list(folder.glob("*.json")))


def update(clone: GitRepository, season: str, every: Sequence[WantedEpisode], folder: Path, now: datetime) -> bool:
    """Take what is on the branch, render what it lacks, and put there what is shown and nothing else.

    Returns whether the branch was changed.
    """
    with open_branches(clone, season) as branches:
        tip = tip_of(branches.repository, BRANCH)
        there = _take(branches, tip, folder)
        with tempfile.TemporaryDirectory(prefix="pullrank-traces-") as place:
            # Not into traces/: where that is, the site is built with arithmetic that is slow and the same everywhere.
            fetched = _fetch_traces(branches, missing(every, folder), Path(place))
            rendered = render([replace(one, trace=fetched.get(one.key, one.trace)) for one in every], folder, quiet=True)
        say(f"{rendered} results were rendered.")
        kept = {path.name: path.read_bytes() for path in files(every, folder)}
        if {name: object_name(content) for name, content in kept.items()} == there:
            return False
        return _replace(branches, tip, kept, now)


def _take(branches: DataBranches, tip: str, folder: Path) -> dict[str, str]:
    """Write the branch's files to the folder; returns them with the names of their objects."""
    if not tip:
        return {}
    branches.repository.fetch(tip, options=("--depth=1",))
    there = branches.objects(tip)
    for name, content in zip(there, branches.repository.read(list(there.values())), strict=True):
        put(folder, name, content)
    return there


def _fetch_traces(branches: DataBranches, lacking: Sequence[WantedEpisode], place: Path) -> dict[str, Path]:
    """The traces of what is not rendered yet and no others, by key: a season's are many, and some are large."""
    absent = [one for one in lacking if not one.trace.exists()]
    tip = tip_of(branches.repository, branches.traces) if absent else ""
    if not tip:
        return {}
    branches.repository.fetch(tip, options=("--depth=1", "--filter=blob:none"))
    names = branches.objects(tip)
    found = [(one, names[one.path + TRACE]) for one in absent if one.path + TRACE in names]
    for begin in range(0, len(found), _PART):
        part = found[begin : begin + _PART]
        branches.repository.fetch(*(oid for _, oid in part), options=("--filter=blob:none",))
        for (one, _), content in zip(part, branches.repository.read([oid for _, oid in part]), strict=True):
            write_atomically(place / one.key, content)
    return {one.key: place / one.key for one, _ in found}


def _replace(branches: DataBranches, tip: str, kept: dict[str, bytes], now: datetime) -> bool:
    """Put one commit in the branch's place, unless somebody else did so meanwhile."""
    built = branches.build(None, [BranchCommit(message=MESSAGE, files=tuple(sorted(kept.items())))], now)
    lease = f"--force-with-lease=refs/heads/{BRANCH}:{tip}"
    try:
        branches.repository.run("push", "--porcelain", "--no-verify", lease, "origin", f"+{built}:refs/heads/{BRANCH}")
    except GitError as error:
        say(f"The branch {BRANCH} was not changed ({error}); the next run renders what it lacks again.")
        return False
    return True
