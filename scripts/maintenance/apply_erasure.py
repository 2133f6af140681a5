"""The erasure of a person, written: to the files of this clone, and to origin's branches of results, traces and weights."""

import re
import shutil
from datetime import datetime

from leaderboard.core.store import PLAYER_SEPARATOR, RECORD_ENDING, RETRIED_INFIX, write_atomically
from leaderboard.text.urls import traces_branch_name
from scripts.console import OUR_FAULT, CommandError
from scripts.git.data_branches import BranchCommit, DataBranches, open_branches
from scripts.git.git_repository import GitRepository
from scripts.git.weights_branch import drop_weights
from scripts.maintenance.plan_erasure import ErasurePlan
from scripts.repository.checkout import Checkout
from scripts.repository.layout import RESULTS_BRANCH, SUBMISSIONS
from scripts.repository.moderation_file import MODERATION_FILE

_FAILED = re.compile(rf"{re.escape(RETRIED_INFIX)}\d{re.escape(RECORD_ENDING)}$")


def write_erasure(checkout: Checkout, plan: ErasurePlan, login: str) -> None:
    """Change this clone: moderation.yml first."""
    if plan.moderation:
        (checkout.root / MODERATION_FILE).write_bytes(plan.moderation)
    for old, new, converted in plan.moved_traces():
        if (checkout.store.traces / old).exists():
            write_atomically(checkout.store.traces / new, converted((checkout.store.traces / old).read_bytes()))
            (checkout.store.traces / old).unlink()
    for old, new, record in plan.moved():
        write_atomically(checkout.store.results / new, record)
        (checkout.store.results / old).unlink(missing_ok=True)
        # A failed attempt that was played on this machine has no number in its name.
        (checkout.store.results / _FAILED.sub(RECORD_ENDING, old)).unlink(missing_ok=True)
    for folder in [
        *(checkout.root / SUBMISSIONS).glob("*"),
        *checkout.store.results.glob("*/*"),
        *checkout.store.traces.glob("*/*"),
    ]:
        if _is_named_after(folder.name, login.casefold()) and not folder.is_symlink():
            shutil.rmtree(folder)


def push_erasure(clone: GitRepository, plan: ErasurePlan, now: datetime) -> None:
    """Change the branches: the weights, then the others in one push for each season, the oldest first."""
    drop_weights(clone, plan.weights, now)  # First: they cannot be found again once the rest is done.
    seasons = sorted({result.season for result, _ in plan.results} | {duel.season for duel, _ in plan.duels})
    for season in seasons:
        with open_branches(clone, season) as branches:
            tips = branches.tips()
            built = {}
            for branch, commit in (
                (RESULTS_BRANCH, _results_commit(branches, tips.get(RESULTS_BRANCH), plan)),
                (traces_branch_name(season), _traces_commit(branches, tips.get(traces_branch_name(season)), plan)),
            ):
                if commit.removed:
                    built[branch] = branches.build(tips[branch], commit, now)
            if built and not branches.push(built):
                raise CommandError(OUR_FAULT, "others pushed first; run 'pullrank recorded' and the same command again")


def _results_commit(branches: DataBranches, tip: str | None, plan: ErasurePlan) -> BranchCommit:
    objects = branches.objects(tip)
    moved = [(old, new, content) for old, new, content in plan.moved() if old in objects]
    gone = {old for old, _, _ in moved} | {path for path in objects if _is_of(path, plan.renaming.login)}
    return BranchCommit(
        message="erase", files=tuple((new, content) for _, new, content in moved), removed=tuple(sorted(gone))
    )


def _traces_commit(branches: DataBranches, tip: str | None, plan: ErasurePlan) -> BranchCommit:
    objects = branches.objects(tip)
    moved = [each for each in plan.moved_traces() if each[0] in objects]
    if moved and tip:
        branches.repository.fetch(tip, options=("--depth=1", "--refetch"))
    contents = branches.repository.read_each([objects[old] for old, _, _ in moved])
    files = tuple((new, converted(content)) for (_, new, converted), content in zip(moved, contents, strict=True))
    gone = {old for old, _, _ in moved} | {path for path in objects if _is_of(path, plan.renaming.login)}
    return BranchCommit(message="erase", files=files, removed=tuple(sorted(gone)))


def _is_of(path: str, login: str) -> bool:
    """Whether a file of a data branch is of a login, alone or in a duel: `<task>/<login>/…` or `<task>/<side>--<side>/…`."""
    parts = path.split("/")
    return len(parts) > 2 and _is_named_after(parts[1], login)


def _is_named_after(folder: str, login: str) -> bool:
    """Whether the folder is of a login, or of two players of whom it owns one."""
    names = folder.casefold().replace("-%2d", "\0").split("--") if PLAYER_SEPARATOR in folder else [folder.casefold()]
    return login in {name.partition(PLAYER_SEPARATOR)[0].replace("\0", "--") for name in names}
