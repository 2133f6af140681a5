"""Rendered episodes on the branch `episodes`: one commit without parents that is replaced, so that the branch never grows.

A failure here costs pictures, never the site: what is not on the branch is rendered again or not shown.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from evaluator.host.process_owner import scratch_folder
from leaderboard.core.store import TRACE_ENDING, write_atomically
from scripts.console import say
from scripts.git.data_branches import BranchCommit, DataBranches, object_name, open_branches, tip_of
from scripts.git.git_repository import GitError, GitRepository
from scripts.pictures.render_episodes import RenderRequest, not_rendered, render_new, store_file, stored_files

EPISODES_BRANCH = "episodes"
EPISODES_MESSAGE = "render: the best entries' episodes"
# Objects that are fetched at a time.
_PART = 200


def fetch(clone: GitRepository, season: str, folder: Path) -> int:
    """Write the branch's files to the folder; returns the number of results in it, 0 before the branch exists."""
    with open_branches(clone, season) as branches:
        _take(branches, tip_of(branches.repository, EPISODES_BRANCH), folder)
    return len(list(folder.glob("*.json")))


def update(clone: GitRepository, season: str, requests: Sequence[RenderRequest], folder: Path, now: datetime) -> bool:
    """Render what the branch lacks, and push exactly the files that are shown.

    Returns whether the branch was changed.
    """
    with open_branches(clone, season) as branches:
        tip = tip_of(branches.repository, EPISODES_BRANCH)
        objects = _take(branches, tip, folder)
        with scratch_folder("traces") as place:
            # Not into traces/: where that folder is, the site is built with slower, deterministic arithmetic.
            fetched = _fetch_traces(branches, not_rendered(requests, folder), Path(place))
            rendered = render_new(
                [replace(request, trace=fetched.get(request.key, request.trace)) for request in requests], folder, quiet=True
            )
        say(f"{rendered} results were rendered.")
        kept = {path.name: path.read_bytes() for path in stored_files(requests, folder)}
        if {name: object_name(content) for name, content in kept.items()} == objects:
            return False
        return _replace(branches, tip, kept, now)


def _take(branches: DataBranches, tip: str, folder: Path) -> dict[str, str]:
    """Write the branch's files to the folder; returns their names with those of their objects."""
    if not tip:
        return {}
    branches.repository.fetch(tip, options=("--depth=1",))
    objects = branches.objects(tip)
    for name, content in zip(objects, branches.repository.read(list(objects.values())), strict=True):
        store_file(folder, name, content)
    return objects


def _fetch_traces(branches: DataBranches, lacking: Sequence[RenderRequest], place: Path) -> dict[str, Path]:
    """The missing traces of these episodes, by key; no others, since a season has many and some are large."""
    absent = [request for request in lacking if not request.trace.exists()]
    tip = tip_of(branches.repository, branches.traces) if absent else ""
    if not tip:
        return {}
    branches.repository.fetch(tip, options=("--depth=1", "--filter=blob:none"))
    names = branches.objects(tip)
    traces = [(request, names[request.path + TRACE_ENDING]) for request in absent if request.path + TRACE_ENDING in names]
    for begin in range(0, len(traces), _PART):
        part = traces[begin : begin + _PART]
        branches.repository.fetch(*(oid for _, oid in part), options=("--filter=blob:none",))
        for (request, _), content in zip(part, branches.repository.read_each([oid for _, oid in part]), strict=True):
            write_atomically(place / request.key, content)
    return {request.key: place / request.key for request, _ in traces}


def _replace(branches: DataBranches, tip: str, kept: dict[str, bytes], now: datetime) -> bool:
    """Replace the branch by one commit, unless somebody else changed it meanwhile."""
    built = branches.build(None, BranchCommit(message=EPISODES_MESSAGE, files=tuple(sorted(kept.items()))), now)
    lease = f"--force-with-lease=refs/heads/{EPISODES_BRANCH}:{tip}"
    try:
        branches.repository.run(
            "push", "--porcelain", "--no-verify", lease, "origin", f"+{built}:refs/heads/{EPISODES_BRANCH}"
        )
    except GitError as error:
        say(f"The branch {EPISODES_BRANCH} was not changed ({error}); the next run renders what it lacks again.")
        return False
    return True
