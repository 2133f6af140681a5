"""Whose account brought a folder to main: known from the merge on, before anything is recorded of it."""

from collections.abc import Callable

from scripts.bot.mapping import Pull
from scripts.git.git_repository import Repository, checked
from scripts.git.tree_diff import ROOT

# So many of the latest commits to a folder are asked about at most.
ASKED = 5


def merged_ids(clone: Repository, pulls_of_commit: Callable[[str], list[Pull]], main: str, pull: Pull) -> frozenset[int]:
    """GitHub's numbers of the accounts whose merged pull requests made the author's folder what it is on main.

    They stay what they were when a login is given up and registered by somebody else; then the older pull requests are no
    longer that login's. Asking ends with the first one of the author's own account, so that it mostly is one request, and
    none for whoever has no folder. Empty where no pull request brought the folder, such as a maintainer's own push.
    """
    ids: set[int] = set()
    for sha in _commits(clone, main, pull.author):
        merged = [one for one in pulls_of_commit(sha) if one.merged]
        ids |= {one.author_id for one in merged if one.merge_commit_sha == sha} or {one.author_id for one in merged}
        if pull.author_id in ids:
            break
    return frozenset(ids)


def _commits(clone: Repository, main: str, login: str) -> list[str]:
    """The latest commits of main that changed the folder of a login, however it is spelled there; the newest first."""
    if not clone.run("ls-tree", "--full-tree", checked(main), "--", ROOT):
        return []
    names = clone.run("ls-tree", "-z", "--name-only", "--full-tree", f"{checked(main)}:{ROOT}").split(b"\0")
    spelled = [name for text in names if (name := text.decode("utf-8", "replace")).casefold() == login.casefold()]
    if not spelled:
        return []
    form = ("--first-parent", "--format=%H", f"--max-count={ASKED}")
    return clone.run("log", *form, checked(main), "--", *(f"{ROOT}/{name}" for name in spelled)).decode().split()
