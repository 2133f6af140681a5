"""What two commits ask for: main's entries and rules, less what the results branch holds; the same on every machine."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from evaluator.host.container import Engine
from evaluator.host.folder import Folder, assemble, check_name
from evaluator.host.image import base_identity
from evaluator.host.load import LoadError, parse_challenge, parse_moderation
from evaluator.host.runtime import runtime_digest
from evaluator.model.challenge import Challenge, SubmissionLimits
from evaluator.model.moderation import Moderation
from evaluator.model.names import AGENT, LOGIN
from evaluator.model.submission import Blob
from leaderboard.plan import Item, Where, plan
from leaderboard.shards import Capacity, Packing, expected_seconds, pack
from leaderboard.standings import Entry
from scripts.bot.beacon import ROOT, Beacon, Name, beacons
from scripts.bot.branches import read_results
from scripts.bot.git import REGULAR, Leaf, Repository, checked
from scripts.bot.lines import harmless
from scripts.console import OUR_FAULT, CommandError, say

Model = TypeVar("Model")


@dataclass(frozen=True, kw_only=True)
class Official:
    """What every job of an official run shares."""

    clone: Repository
    """The checkout of main, with all its history."""
    sandbox: str
    """docker or gvisor; `process` in tests."""
    runtime_digest: str
    """What measures; see `runtime_of`."""
    verified: Callable[[str], bool]
    """Whether GitHub signed a commit; only publish asks."""
    login_id: Callable[[str], int | None]
    """GitHub's number for the author of the pull request that a commit merged; None where it cannot be told."""
    run_url: str | None
    """The workflow run."""


def open_official(
    clone: Repository,
    runtime: tuple[str, str],
    verified: Callable[[str], bool],
    login_id: Callable[[str], int | None] | None = None,
    run_url: str | None = None,
) -> Official:
    """An official run on a clone; each commit is asked about once. `runtime`: the sandbox and the base image."""
    sandbox, base = runtime
    return Official(
        clone=clone,
        sandbox=sandbox,
        runtime_digest=runtime_of(sandbox, base),
        verified=functools.cache(verified),
        login_id=functools.cache(login_id) if login_id else _unknown,
        run_url=run_url,
    )


def _unknown(sha: str) -> int | None:
    return None


@dataclass(frozen=True, kw_only=True)
class Work:
    """One round."""

    challenge: Challenge
    """The rules at the commit."""
    sha: str
    """The commit of main."""
    items: tuple[Item, ...]
    """All that is wanted and not recorded."""
    beacons: dict[Name, Beacon]
    """Where each entry's seeds come from."""
    packing: Packing
    """Which shard plays what."""

    def shard(self, number: int) -> tuple[Item, ...]:
        """The evaluations of one shard."""
        return tuple(self.items[index] for index in self.packing.shards[number])

    def beacon(self, item: Item) -> Beacon:
        """Where an evaluation's seeds come from."""
        return self.beacons[item.entry.login, item.entry.agent]


def runtime_of(sandbox: str, base: str) -> str:
    """The runtime digest, without an engine where the base image is named by its digest."""
    if sandbox == "process":
        return runtime_digest("process")
    if "@sha256:" in base:
        return runtime_digest(base.partition("@")[2])
    engine = Engine()
    try:
        return runtime_digest(base_identity(engine, base))
    finally:
        engine.close()


def read_work(official: Official, sha: str, results_sha: str) -> Work:
    """What is wanted at two commits.

    Raises:
        CommandError: the checkout is another commit, its rules cannot be used, or history is cut off.
    """
    clone = official.clone
    if clone.resolve("HEAD") != checked(sha):
        raise CommandError(OUR_FAULT, f"the checkout is not commit {sha[:12]}, whose evaluator is meant; check that out")
    challenge = _document(clone, sha, "challenge.yml", parse_challenge)
    moderation = _document(clone, sha, "moderation.yml", parse_moderation) or Moderation()
    if challenge is None:
        raise CommandError(OUR_FAULT, f"commit {sha[:12]} has no challenge.yml; add it")
    entries, faults = read_entries(clone, sha, challenge.submissions)
    for line in faults:
        say(harmless(line))
    wanted = [entry for entry in entries if moderation.of(entry.login, entry.agent) is None]
    found = beacons(clone, sha, {(entry.login, entry.agent): entry.digest for entry in wanted})
    where = Where(
        runtime_digest=official.runtime_digest, beacon="none", beacons={name: item.sha for name, item in found.items()}
    )
    results = read_results(clone, results_sha)
    items = _newcomers_first(plan(challenge, wanted, results, where))
    runners = challenge.runners
    capacity = Capacity(at_once=runners.at_once, shard_seconds=60.0 * runners.shard_minutes)
    packing = pack(expected_seconds(items, results), capacity)
    return Work(challenge=challenge, sha=sha, items=tuple(items), beacons=found, packing=packing)


def _newcomers_first(items: Iterable[Item]) -> list[Item]:
    """What somebody waits for comes before what is only measured again."""
    return sorted(items, key=lambda item: item.reason not in ("new", "the agent changed"))


def _document(clone: Repository, sha: str, name: str, parse: Callable[[bytes], Model]) -> Model | None:
    raw = clone.run("ls-tree", "-z", "--full-tree", sha, "--", name)
    if not raw:
        return None
    try:
        return parse(clone.read([raw.split()[2].decode()])[0])
    except LoadError as error:
        raise CommandError(OUR_FAULT, *error.lines) from error


def read_entries(clone: Repository, sha: str, limits: SubmissionLimits) -> tuple[list[Entry], list[str]]:
    """The agents of a commit from its objects, and a line for every folder that is none."""
    folders: dict[Name, list[Leaf]] = {}
    for leaf in clone.leaves(sha, ROOT):
        parts = leaf.path.decode("utf-8", "replace").split("/")
        if len(parts) > 3:
            folders.setdefault((parts[1], parts[2]), []).append(leaf)
    entries: list[Entry] = []
    faults: list[str] = []
    names = sorted(folders)
    for begin in range(0, len(names), 200):
        part = {name: folders[name] for name in names[begin : begin + 200]}
        _take(clone, part, limits, entries, faults)
    return entries, faults


def _take(
    clone: Repository, folders: dict[Name, list[Leaf]], limits: SubmissionLimits, entries: list[Entry], faults: list[str]
) -> None:
    good: dict[Name, list[Leaf]] = {}
    for name, leaves in folders.items():
        if fault := _refused(name, leaves, limits):
            faults.append(f"{ROOT}/{name[0]}/{name[1]}: {fault}")
        else:
            good[name] = [leaf for leaf in leaves if b"/__pycache__/" not in leaf.path]
    contents = iter(clone.read([leaf.oid for leaves in good.values() for leaf in leaves]))
    for (login, agent), leaves in good.items():
        blobs = tuple(_blob(leaf, next(contents)) for leaf in leaves)
        try:
            folder = assemble(blobs, limits)
        except LoadError as error:
            faults.extend(f"{ROOT}/{login}/{agent}/{line}" for line in error.lines)
            continue
        entries.append(Entry(login=login, agent=agent, submission=folder.submission, digest=folder.digest))


def _refused(name: Name, leaves: list[Leaf], limits: SubmissionLimits) -> str | None:
    if not LOGIN.fullmatch(name[0]) or not AGENT.fullmatch(name[1]):
        return "is not named <login>/<agent>"
    if any(leaf.mode not in REGULAR for leaf in leaves):
        return "holds something else than plain files"
    if len(leaves) > limits.files or sum(leaf.size for leaf in leaves) > limits.kib * 1024:
        return "is larger than the challenge allows"
    try:
        for leaf in leaves:
            check_name(leaf.path.decode("utf-8", "replace").split("/", 3)[3])
    except LoadError as error:
        return str(error)
    return None


def _blob(leaf: Leaf, content: bytes) -> Blob:
    return Blob(path=leaf.path.decode().split("/", 3)[3], executable=leaf.mode == "100755", content=content)


def read_agent(clone: Repository, sha: str, entry: Entry, limits: SubmissionLimits) -> Folder:
    """An entry's files from the commit's objects, whatever the checkout made of them."""
    return assemble(clone.blobs(sha, f"{ROOT}/{entry.login}/{entry.agent}"), limits)


def place_of(entry: Entry) -> Path:
    """Where an entry's folder lies in the repository."""
    return Path(ROOT) / entry.login / entry.agent
