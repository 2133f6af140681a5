"""`pullrank upgrade`: moves a copy of the template to a newer Pullrank, in a branch with one commit."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from leaderboard.text.format import quantity
from scripts.console import OK, USAGE, CommandError, say
from scripts.git.git_repository import GitRepository
from scripts.maintenance.upgrade_tree import (
    TRAILER,
    UpgradedTree,
    common_commit,
    files_of,
    measuring_changes,
    refuse_odd_files,
    upgraded,
    write_commit,
)
from scripts.repository.checkout import open_checkout

UPSTREAM = "https://github.com/pullrank/pullrank"
_SHOWN_PATHS = 20
_REF = re.compile(r"[0-9A-Za-z][\w./-]{0,199}")


def run(
    upstream: Annotated[
        str, typer.Option("--from", help="Address or folder of the repository that the copy is of.")
    ] = UPSTREAM,
    to: Annotated[str, typer.Option(help="Its branch, tag, or commit by its full hash.")] = "main",
    base: Annotated[str, typer.Option(help="Its commit that the copy was made from; looked for when left out.")] = "",
) -> int:
    """Make a branch with a newer Pullrank: the host's files stay, and nothing is lost or left in conflict."""
    root = open_checkout(Path.cwd()).root
    clone = GitRepository(root)
    _refuse_unclean(clone)
    new = _fetched(clone, upstream, to)
    begun = clone.resolve(base) if base and not base.startswith("-") else None if base else common_commit(clone, new)
    if begun is None:
        raise CommandError(USAGE, f"--base {base[:60]!r} is no commit here; name one of upstream's")
    if begun == new:
        say(f"This copy has {new[:12]} already; there is nothing to upgrade.")
        return OK
    theirs, ours = files_of(clone, new), files_of(clone, clone.resolve("HEAD") or "")
    refuse_odd_files(theirs, ours)
    tree = upgraded(clone, files_of(clone, begun), ours, theirs)
    branch = f"upgrade-{new[:12]}"
    if clone.resolve(f"refs/heads/{branch}"):
        raise CommandError(
            USAGE, f"there is a branch {branch} already; merge it, or delete it with 'git branch -D {branch}'"
        )
    commit = write_commit(clone, tree.files, f"Upgrade to Pullrank {new[:12]}\n\n{TRAILER}{new}\n", datetime.now(UTC))
    clone.begin_branch(branch, commit)
    _report(clone, tree, branch, list(measuring_changes(clone, ours, tree.files)))
    return OK


def _refuse_unclean(clone: GitRepository) -> None:
    changed = clone.status("--untracked-files=no")
    if changed:
        raise CommandError(
            USAGE, f"not committed: {quantity(len(changed), 'changed file')}, such as {changed[0][3:]}; commit it first"
        )


def _fetched(clone: GitRepository, upstream: str, ref: str) -> str:
    """The commit of upstream, fetched as data with its history."""
    if not (upstream.startswith("https://") or Path(upstream).is_dir()):
        raise CommandError(USAGE, f"--from {upstream[:80]!r} is neither an https:// address nor a folder")
    if not _REF.fullmatch(ref) or ".." in ref:
        raise CommandError(USAGE, f"--to {ref[:60]!r} is no branch, tag or commit")
    source = str(Path(upstream).resolve()) if Path(upstream).is_dir() else upstream
    kept = "refs/pullrank/upstream"
    clone.run("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options", source, f"+{ref}:{kept}")
    return clone.resolve(kept) or ""


def _report(clone: GitRepository, tree: UpgradedTree, branch: str, measuring: list[str]) -> None:
    before = clone.run("rev-parse", "--short", "HEAD^").decode().strip()
    say(f"The branch {branch} has the upgrade, in one commit; your branch is as it was.")
    for decision, paths in tree.decided.items():
        if paths:
            more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
            say(f"{decision.value.format(before=before)}: {', '.join(paths[:_SHOWN_PATHS])}{more}.")
    for line in measuring:
        say(f"Measures differently: {line}.")
    say(
        "Everything will be played again, once."
        if measuring
        else "Nothing will be played again, unless an own environment changed."
    )
    say("Next: 'make dev', 'pullrank check', 'pullrank plan --explain'; then push the branch and open a pull request.")
