"""The board's own copies of weights, on the branch `weights`: by hash, so that a dead link still verifies.

A file is at `<sha256>/<number>`, in parts that a host of git takes. Only publish writes; whoever reads checks the hash.
"""

import random
import time
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from datetime import datetime

from evaluator.host.errors import AgentFault
from evaluator.host.loading.weights_cache import WeightsCache
from evaluator.model.config.submission import WeightsFile
from scripts.console import OUR_FAULT, CommandError, escape_commands, say
from scripts.git.data_branches import MAX_PUSHES, BranchCommit, DataBranches, open_branches, tip_of
from scripts.git.git_repository import GitError, GitRepository
from scripts.repository.layout import WEIGHTS_BRANCH

# GitHub refuses files of more than 100 MiB, and warns above 50.
PART_BYTES = 48 << 20
# In which a round begins to fetch files: hosts that answer slowly must not keep results from being recorded.
KEEPING_SECONDS = 1200.0


def bring_weights(clone: GitRepository, files: Iterable[WeightsFile], cache: WeightsCache | None = None) -> None:
    """Put into the cache what it lacks and the branch has; the rest is fetched from its address when it is needed."""
    cache = cache or WeightsCache()
    lacking = [weights for weights in files if not cache.has(weights)]
    if not lacking:
        return
    with suppress(GitError), open_branches(clone, "") as branches:  # without origin or network the address is left
        _, names = _listed(branches)
        for weights in lacking:
            if oids := _parts(names, weights):
                branches.repository.fetch(*oids, options=("--filter=blob:none",))
                cache.add(weights, (branches.repository.read([oid])[0] for oid in oids))


def keep_weights(
    clone: GitRepository, files: Iterable[WeightsFile], now: datetime, cache: WeightsCache | None = None
) -> int:
    """Add to the branch what it lacks; returns the number of files. What cannot be kept is said, and tried by the next run.

    The order is random, so that what takes all the time once does not take it always. Each has a repository of its own, and
    leaves nothing: of many large ones together the disk would be full, and results could not be recorded.

    Raises:
        GitError: the remote does not answer.
    """
    cache = cache or WeightsCache()
    # By address, too: where several name one file, nobody's dead host stands for another's.
    every = {(weights.sha256, weights.bytes, weights.url): weights for weights in files}
    if not every:
        return 0
    with open_branches(clone, "") as branches:
        _, names = _listed(branches)
    lacking = [weights for weights in every.values() if not _parts(names, weights)]
    random.shuffle(lacking)
    until = time.monotonic() + KEEPING_SECONDS
    added = 0
    for number, weights in enumerate(lacking):
        if time.monotonic() >= until:
            say(f"There was no time to keep copies of {len(lacking) - number} files; the next run tries again.")
            break
        is_here = cache.has(weights)
        try:
            with open_branches(clone, "") as branches:
                added += _keep(branches, weights, cache, now)
        except (AgentFault, GitError, OSError) as fault:
            say(escape_commands(f"No copy was kept: {fault}"))
        finally:
            if not is_here:
                cache.path(weights.sha256).unlink(missing_ok=True)
    return added


def _keep(branches: DataBranches, weights: WeightsFile, cache: WeightsCache, now: datetime) -> bool:
    for _ in range(MAX_PUSHES):
        tip, names = _listed(branches)
        if _parts(names, weights):
            return False
        cache.fetch([weights])
        with cache.path(weights.sha256).open("rb") as file:
            parts = list(iter(lambda: file.read(PART_BYTES), b""))
        files = tuple((f"{weights.sha256}/{number}", part) for number, part in enumerate(parts))
        commit = BranchCommit(message=f"weights: {weights.sha256}", files=files)
        if branches.push({WEIGHTS_BRANCH: branches.build(tip or None, commit, now)}):
            return True
    say(f"No copy of {weights.sha256} was kept, since others pushed first; the next run tries again.")
    return False


def drop_weights(clone: GitRepository, hashes: Container[str], now: datetime) -> None:
    """Remove the copies with these hashes from the branch; its history keeps them.

    Raises:
        CommandError: others push first, again and again.
        GitError: the remote refuses.
    """
    with open_branches(clone, "") as branches:
        for _ in range(MAX_PUSHES):
            tip, names = _listed(branches)
            gone = tuple(path for path in names if path.partition("/")[0] in hashes)
            commit = BranchCommit(message="erase", files=(), removed=gone)
            if not gone or branches.push({WEIGHTS_BRANCH: branches.build(tip, commit, now)}):
                return
    raise CommandError(OUR_FAULT, f"others pushed first to the branch {WEIGHTS_BRANCH}; run the same command again")


def _listed(branches: DataBranches) -> tuple[str, dict[str, str]]:
    """The branch's newest commit, empty without one, and the names of its objects by path."""
    tip = tip_of(branches.repository, WEIGHTS_BRANCH)
    if tip:
        branches.repository.fetch(tip, options=("--depth=1", "--filter=blob:none"))
    return tip, branches.objects(tip or None)


def _parts(names: Mapping[str, str], weights: WeightsFile) -> list[str]:
    """The objects of a file's parts; empty where not all are there."""
    paths = [f"{weights.sha256}/{number}" for number in range(-(-weights.bytes // PART_BYTES))]
    return [names[path] for path in paths] if all(path in names for path in paths) else []
