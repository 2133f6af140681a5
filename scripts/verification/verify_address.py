"""Verification of somebody else's board by its address: fetched as data, replayed here, nothing of it is run."""

import shutil
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from evaluator.host.digests.local_code import named_modules
from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.host.process_owner import scratch_folder
from evaluator.host.verification import Verification
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.identifiers import WEB_HOST, safe_path_segment
from evaluator.model.records.duel_record import player_segment, split_pair
from leaderboard.core.store import TRACE_ENDING, ResultStore
from leaderboard.text.urls import traces_branch_name
from scripts.console import SUBMISSION_AT_FAULT, USAGE, CommandError, say
from scripts.git.data_branches import export_files, tip_of
from scripts.git.git_repository import GitRepository
from scripts.repository.layout import MAIN_BRANCH, RESULTS_BRANCH, record_store
from scripts.verification.verify_records import check_history, replay_files, season_of

# What each of a board's branches, of results and of a season's traces, may take of this disk, as it is fetched and unpacked.
BRANCH_BYTES = 2 << 30
# One pack for all that is fetched, so that one limit holds.
_OF_STRANGERS = ("fetch.unpackLimit=1",)
# No redirect to what is no https, such as a host of the network that this machine is in.
_PROTOCOLS = "https:file"
# Modules that a stranger's challenge.yml may have imported here; a host's own ones do as its arguments say.
_KNOWN_MODULES = ("evaluator.environments.minigrid_images", "evaluator.environments.quarto")
_KNOWN_PACKAGE = "pettingzoo.classic."


def verify_address(url: str, agent: str | None, *, quiet: bool) -> list[Verification]:
    """The verifications of all records of the board in a repository, or of one agent (`login/agent`).

    Raises:
        CommandError: the address is none, or there is no board.
    """
    split = urlsplit(url)
    if split.scheme != "https" or not WEB_HOST.fullmatch(split.netloc):
        raise CommandError(USAGE, f"{url}: is no https address of a repository, such as https://github.com/owner/board")
    return verify_remote(url, agent, quiet=quiet)


def verify_remote(remote: str, agent: str | None, *, quiet: bool) -> list[Verification]:
    """The same for a remote as git takes it."""
    with scratch_folder("board") as name:
        room = Path(name)
        clone = GitRepository(room / "git", largest_file=BRANCH_BYTES, settings=_OF_STRANGERS, protocols=_PROTOCOLS)
        clone.path.mkdir()
        clone.run("init", "--quiet", "--bare", ".")
        clone.run("config", "remote.origin.url", remote)
        challenge = _challenge(clone, remote)
        left_out = {safe_path_segment(task.id) for task in challenge.tasks if _imports_others(task)}
        challenge = challenge.model_copy(update={"tasks": tuple(t for t in challenge.tasks if not _imports_others(t))})
        export_files(clone, tip_of(clone, RESULTS_BRANCH), room / "results", at_most=BRANCH_BYTES)
        store = record_store(room)
        files = [*store.files(), *store.duel_files()]
        if agent is not None:
            files = [path for path in files if _is_of(path.relative_to(store.results), agent)]
            if not files:
                raise CommandError(SUBMISSION_AT_FAULT, f"{remote}: has no record of {agent}; write it as login/agent")
        files = [path for path in files if path.relative_to(store.results).parts[0] not in left_out]
        verifications = check_history(_replayed(clone, challenge, store, files, quiet=quiet), challenge, room)
        return [replace(each, path=Path(each.path).relative_to(room).as_posix()) for each in verifications]


def _replayed(
    clone: GitRepository, challenge: Challenge, store: ResultStore, files: Iterable[Path], *, quiet: bool
) -> list[Verification]:
    """The verifications by replay, sorted by path: season by season, so that the disk holds the traces of one."""
    by_season: dict[str, list[Path]] = defaultdict(list)
    for path in files:
        by_season[traces_branch_name(season_of(path))].append(path)
    listed = clone.run("ls-remote", "--refs", "origin", "refs/heads/traces-*").decode("utf-8", "replace").splitlines()
    tips = {ref: sha for sha, ref in (line.split("\t", 1) for line in listed)}
    verifications: list[Verification] = []
    for branch, of_season in by_season.items():
        sha = tips.get(f"refs/heads/{branch}", "")
        export_files(clone, sha, store.traces, TRACE_ENDING, at_most=BRANCH_BYTES)
        verifications += replay_files(challenge, store, of_season, quiet=quiet)
        shutil.rmtree(store.traces)
    return sorted(verifications, key=lambda each: each.path)


def _challenge(clone: GitRepository, remote: str) -> Challenge:
    """The rules; says which tasks would import the board's own code."""
    tip = tip_of(clone, MAIN_BRANCH)
    if not tip:
        raise CommandError(SUBMISSION_AT_FAULT, f"{remote}: has no branch {MAIN_BRANCH}; name a board's repository")
    clone.fetch(tip, options=("--depth=1", "--filter=blob:none"))
    names = clone.run("ls-tree", tip, "--", "challenge.yml").decode().split()
    if len(names) < 4 or names[1] != "blob":
        raise CommandError(SUBMISSION_AT_FAULT, f"{remote}: has no challenge.yml; name a board's repository")
    clone.fetch(names[2], options=("--filter=blob:none",))
    try:
        challenge = parse_challenge(clone.read([names[2]])[0])
    except LoadError as error:
        raise CommandError(SUBMISSION_AT_FAULT, *error.lines) from error
    for task in filter(_imports_others, challenge.tasks):
        what = "is measured by the board's own code, or names some"
        say(f"{task.id}: {what}, which is not run here; verify it in a clone that you trust")
    return challenge


def _imports_others(task: Task) -> bool:
    """Whether a task could import what is not known.

    Gymnasium imports what stands before the colon of an environment's id, in any form, and some environments are given ids.
    """
    are_known = all(name in _KNOWN_MODULES or name.startswith(_KNOWN_PACKAGE) for name in named_modules(task))
    return not are_known or _holds_colon(task.kwargs)


def _holds_colon(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_colon, [*value, *value.values()]))
    if isinstance(value, list | tuple):
        return any(map(_holds_colon, value))
    return isinstance(value, str) and ":" in value


def _is_of(path: Path, agent: str) -> bool:
    """Whether a record is of the agent, alone or as a player."""
    login, _, name = agent.partition("/")
    return path.parts[1:3] == (login, name) or player_segment(f"{login}+{name}") in split_pair(path.parts[1])
