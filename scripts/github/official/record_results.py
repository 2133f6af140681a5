"""Records what publish accepted on the data branches: what is recorded already wins, and results never precede their traces.

A large round is pushed in parts. A kill at any point leaves each part in or out, on both branches alike.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from evaluator.host.duels.verify_duel import parse_duel
from evaluator.host.seeds.encryption import with_new_provenance as amended_sealed
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.solo.verify_result import parse_result
from evaluator.model.canonical_json import parse_strict
from evaluator.model.records.duel_record import Duel, sealed_duel
from evaluator.model.records.result import Result, sealed
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import LOCAL
from leaderboard.core.entry import AgentName
from leaderboard.core.store import RESULT, TRACE, ResultStore, write_atomically
from leaderboard.planning.missing import TRIES
from scripts.console import OUR_FAULT, CommandError
from scripts.git.data_branches import RESULTS, BranchCommit, DataBranches, object_name, open_branches, read_unasked
from scripts.github.official.check_result import Record
from scripts.github.official.commit_facts import CommitFacts
from scripts.github.official.workload import OfficialRun, Workload
from scripts.runs.workflow_duels import between, outcome

REPLACED = "replaced.json"


@dataclass(frozen=True, kw_only=True)
class AmendedRecord:
    """A record with what GitHub says now."""

    record: Result | Duel
    """What it is to be."""
    replaced: str
    """The object's name of the file on the results branch that it takes the place of."""


def amended(
    official: OfficialRun, work: Workload, results_sha: str, facts: Mapping[str, CommitFacts], secret: SeasonSecret | None
) -> Iterator[AmendedRecord]:
    """The records of the results branch that can be filled in now."""
    ready = {path for path, shas in work.unasked.items() if all(sha in facts for sha in shas)}
    if not ready:
        return
    for path, record, content in read_unasked(official.clone, results_sha):
        is_locked = isinstance(record, Result) and record.sealed is not None and secret is None
        if path.removesuffix(RESULT) in ready and not is_locked:
            yield AmendedRecord(record=_filled(work, record, facts, secret), replaced=object_name(content))


def _filled(
    work: Workload, record: Result | Duel, facts: Mapping[str, CommitFacts], secret: SeasonSecret | None
) -> Result | Duel:
    signed = all(facts[sha].verified for sha in work.unasked[record.path()])
    if isinstance(record, Duel):
        players = [
            {**player.model_dump(mode="json"), "login_id": _login_id(work, player.login, player.agent, facts)}
            for player in record.players
        ]
        return sealed_duel({**record.document(), "players": players, "beacon_verified": signed})
    login_id = facts[work.unasked[record.path()][0]].login_id if record.login != LOCAL else None
    fields = {"login_id": login_id, "beacon_verified": signed}
    if record.sealed is not None and secret is not None:
        return amended_sealed(record, fields, secret)
    return sealed({**record.document(), **fields})


def _login_id(work: Workload, login: str, agent: str, facts: Mapping[str, CommitFacts]) -> int | None:
    return None if login == LOCAL else facts[work.beacons[AgentName(login, agent)].sha].login_id


def stage(records: list[AmendedRecord], accepted: Path) -> list[Path]:
    """Write the records to the folder of accepted files, and beside them what each replaces; returns the files."""
    store = ResultStore(results=accepted / "results", traces=accepted / "traces")
    files = [
        store.write_duel(one.record) if isinstance(one.record, Duel) else store.write(one.record, None) for one in records
    ]
    replaced = {one.record.path() + RESULT: one.replaced for one in records}
    write_atomically(accepted / REPLACED, json.dumps(replaced, indent=1, sort_keys=True).encode() + b"\n")
    return files


def replaced(accepted: Path) -> dict[str, str]:
    """By path on the results branch: the object's name of what an accepted file takes the place of."""
    path = accepted / REPLACED
    found = parse_strict(path.read_bytes()) if path.exists() else {}
    assert isinstance(found, dict)
    return found


# GitHub takes 2 GiB in one push, and what is pushed is safe: many small pushes lose less to a kill, and to others' pushes.
PART_BYTES = 500_000_000
PART_FILES = 2_000


@dataclass(frozen=True, kw_only=True)
class PublishedRound:
    """What a publish changed."""

    recorded: tuple[Record, ...]
    """New on the results branch."""
    known: int = 0
    """Was recorded by somebody else before; that one stays."""
    filled_in: int = 0
    """Older records that have GitHub's word on their commits now."""
    given_up: tuple[Record, ...] = field(default=())
    """Failed on our side for the last time that it is tried."""


def _wait(attempt: int) -> None:
    """Wait a random while, longer the more often others were first, so that not all come back at once."""
    time.sleep(random.uniform(0.1, min(8.0, 0.5 * 2**attempt)))


@dataclass(frozen=True, kw_only=True)
class PushPatience:
    """What is done when others push first."""

    tries: int = 100
    """Pushes at most."""
    pause: Callable[[int], None] = _wait
    """Waits before another; told how many there were."""


def record(
    official: OfficialRun, season: str, accepted: Path, now: datetime, patience: PushPatience = PushPatience()
) -> PublishedRound:
    """Record what `check` accepted: one commit per result, both branches in one push, anew whenever others were first.

    A large round is pushed in parts, each whole in itself: results with their traces. A kill leaves the parts before it.

    Raises:
        CommandError: the remote refuses for another reason than that, or others are first too often.
    """
    store = ResultStore(results=accepted / "results", traces=accepted / "traces")
    files: list[tuple[Path, Record]] = [(path, parse_result(path.read_bytes())) for path in store.files()]
    files += [(path, parse_duel(path.read_bytes())) for path in store.duel_files()]
    older = replaced(accepted)
    fresh: list[Fresh] = []
    with open_branches(official.clone, season) as branches:
        for part in _parts(store, files):
            fresh += _recorded(branches, store, part, older, now, patience)
    recorded = tuple(found for _, found, at in fresh if at not in older)
    final = tuple(found for _, found, at in fresh if at.endswith(f".try{TRIES}{RESULT}"))
    filled_in = len(fresh) - len(recorded)
    known = len(files) - len(older) - len(recorded)
    return PublishedRound(recorded=recorded, known=known, filled_in=filled_in, given_up=final)


File = tuple[Path, Record]
"""An accepted file, and what it holds."""
Fresh = tuple[Path, Record, str]
"""The accepted file, what it holds, and its path on the branch."""


def _parts(store: ResultStore, files: Sequence[File]) -> Iterator[list[File]]:
    """The files in pushes of bounded size, each result with its trace; at least one in each."""
    part: list[File] = []
    size = 0
    for file, found in files:
        trace = store.trace_of(file)
        own = file.stat().st_size + (trace.stat().st_size if trace.exists() else 0)
        if part and (size + own > PART_BYTES or len(part) == PART_FILES):
            yield part
            part, size = [], 0
        part.append((file, found))
        size += own
    if part:
        yield part


def _recorded(
    branches: DataBranches,
    store: ResultStore,
    part: Sequence[File],
    older: Mapping[str, str],
    now: datetime,
    patience: PushPatience,
) -> list[Fresh]:
    """Push one part; returns what of it was new."""
    for attempt in range(patience.tries):
        tips = branches.tips()
        fresh = _fresh(part, branches.objects(tips.get(RESULTS)), older)
        if not fresh or branches.push(_built(branches, tips, store, fresh, older, now)):
            return fresh
        patience.pause(attempt + 1)
    raise CommandError(OUR_FAULT, f"others pushed first {patience.tries} times; nothing is lost, the next run records it")


def _fresh(files: Sequence[File], there: Mapping[str, str], older: Mapping[str, str]) -> list[Fresh]:
    """What is not recorded. A failure of ours never takes a result's place: it is a numbered try beside it.

    A record that GitHub could not be asked about is replaced only while it is still the one that was filled in.
    """
    fresh = []
    for file, found in files:
        path = found.path()
        if path + RESULT in older:
            if there.get(path + RESULT) == older[path + RESULT]:
                fresh.append((file, found, path + RESULT))
            continue
        if path + RESULT in there:
            continue
        if found.verdict is not Verdict.INTERNAL_ERROR:
            fresh.append((file, found, path + RESULT))
            continue
        tries = [f"{path}.try{number}{RESULT}" for number in range(1, TRIES + 1)]
        same = object_name(file.read_bytes())
        free = next((at for at in tries if at not in there), None)
        if free and not any(there.get(at) == same for at in tries):
            fresh.append((file, found, free))
    return fresh


def _message(found: Record, *, is_older: bool) -> str:
    verb = "fill in" if is_older else "record"
    if isinstance(found, Duel):
        return f"{verb}: {between(found)} {outcome(found)} on {found.task}"
    return f"{verb}: {found.login}/{found.agent} {found.verdict} on {found.task}"


def _built(
    branches: DataBranches,
    tips: dict[str, str],
    store: ResultStore,
    fresh: Sequence[Fresh],
    older: Mapping[str, str],
    now: datetime,
) -> dict[str, str]:
    recorded, traced = [], []
    for file, found, path in fresh:
        message = _message(found, is_older=path in older)
        recorded.append(BranchCommit(message=message, files=((path, file.read_bytes()),)))
        if isinstance(found, Result) and found.trace_sha256 and path not in older:
            at = path.removesuffix(RESULT) + TRACE
            traced.append(BranchCommit(message=message, files=((at, store.trace_of(file).read_bytes()),)))
    built = {RESULTS: branches.build(tips.get(RESULTS), recorded, now)}
    if traced:
        built[branches.traces] = branches.build(tips.get(branches.traces), traced, now)
    return built
