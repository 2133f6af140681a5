"""The official run's last job: checks what the shards hand in, replays it, and records it on the data branches.

`check` believes nothing: whatever is not exactly what this round asked for, on the seeds that git tells, with actions that
give these returns, is refused. `record` writes what passed: what is recorded already wins, and a kill at any point
leaves the branches as they were or with everything in, for both are pushed in one step.
"""

import hashlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evaluator.host.replay import Standing, parse_result
from evaluator.host.seeds import episode_seeds
from evaluator.model import result as results
from evaluator.model.result import Class, Provenance, Result, sealed
from evaluator.model.verdict import Verdict
from leaderboard.plan import TRIES, Item
from leaderboard.store import RESULT, TRACE, Store, write_atomically
from scripts.bot.branches import RESULTS, Branches, Commit, object_name, open_branches
from scripts.bot.claims import ClaimError, Handed, handed_in, number_of, shard_folders, twice
from scripts.bot.lines import harmless
from scripts.bot.official import Assignment
from scripts.bot.wanted import Official, Work, read_work
from scripts.console import OUR_FAULT, CommandError
from scripts.verifying import Job, verify_jobs

MANIFEST = "manifest.sha256"
# A run may wait for machines for as long as GitHub lets it live.
OLDEST, NEWEST = timedelta(days=36), timedelta(minutes=10)


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What became of a round's shards."""

    accepted: tuple[Result, ...]
    """What may be recorded; lies in the folder of accepted files."""
    refused: tuple[str, ...]
    """A line, harmless in a log, for everything that was handed in and is not believed."""
    lost: tuple[int, ...]
    """Shards that handed in nothing usable; the next round plays them again."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a publish changed."""

    recorded: tuple[Result, ...]
    """New on the results branch."""
    known: int = 0
    """Was recorded by somebody else before; that one stays."""
    given_up: tuple[Result, ...] = field(default=())
    """Failed on our side for the last time that it is tried."""


def check(official: Official, assignment: Assignment, given: Sequence[Path], accepted: Path, now: datetime) -> Checked:
    """Check every shard's files and copy what passes to the folder `accepted`, with a list of hashes to attest.

    Raises:
        CommandError: the round itself cannot be told.
    """
    work = read_work(official, assignment.sha, assignment.results_sha)
    folders = shard_folders(given)
    doubled = twice(folders)
    refused = [f"shard {number}: was handed in twice; both are refused" for number in sorted(doubled)]
    handed: list[Handed] = []
    good: set[int] = set()
    for folder in folders:
        if number_of(folder) in doubled:
            continue
        try:
            handed += handed_in(folder, assignment, work)
            good.add(number_of(folder))
        except ClaimError as error:
            refused.append(f"shard {number_of(folder)}: {error}")
    passed = [_checked(official, work, item, now) for item in handed]
    kept, lines = _replayed(official, work, passed, now)
    _stage(kept, accepted)
    lost = tuple(number for number in range(len(work.packing.shards)) if number not in good)
    told = tuple(harmless(line) for line in (*refused, *lines))
    return Checked(accepted=tuple(result for result, _ in kept), refused=told, lost=lost)


@dataclass(frozen=True, kw_only=True)
class _Passed:
    """A file that was handed in, and what is wrong with it before anything is replayed."""

    handed: Handed
    faults: tuple[str, ...]


def _checked(official: Official, work: Work, handed: Handed, now: datetime) -> _Passed:
    try:
        result = parse_result(handed.result.read_bytes())
    except ValueError as error:
        return _Passed(handed=handed, faults=(" ".join(str(error).split())[:300],))
    return _Passed(handed=handed, faults=tuple(_faults(official, work, handed.item, result, now)))


def _faults(official: Official, work: Work, item: Item, result: Result, now: datetime) -> Iterator[str]:
    """Everything in which a result differs from what was asked; its numbers are the replay's to judge."""
    expected = _asked(official, work, item)
    for name, value in expected.items():
        if getattr(result, name) != value:
            yield f"{name} is not the one that was asked"
    if (result.provenance.commit, result.provenance.run_url) != (work.sha, official.run_url):
        yield "the provenance is not this run's"
    at = datetime.strptime(result.provenance.evaluated_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    if not now - OLDEST <= at <= now + NEWEST:
        yield f"evaluated_at ({result.provenance.evaluated_at}) is not of this run"
    if len(result.versions) > 50 or len(result.metrics) > 50:
        yield "it names more versions or metrics than an evaluation has"


def _told(official: Official, work: Work, item: Item) -> dict[str, object]:
    """What only GitHub can tell, asked here and once for each commit: shards have no token and no say in it."""
    sha = work.beacon(item).sha
    return {"login_id": official.login_id(sha), "beacon_verified": official.verified(sha)}


def _asked(official: Official, work: Work, item: Item) -> dict[str, object]:
    return {
        **item.wanted.model_dump(),
        "key": item.wanted.key(),
        "klass": Class.OFFICIAL,
        "task": item.task_id,
        "login": item.entry.login,
        "login_id": None,
        "agent": item.entry.agent,
        "beacon_verified": False,
        "sandbox": official.sandbox,
        "limits": work.challenge.limits,
    }


Kept = tuple[Result, bytes | None]
"""A result and its trace."""


def _replayed(official: Official, work: Work, passed: Sequence[_Passed], now: datetime) -> tuple[list[Kept], list[str]]:
    """Replay what is not refused yet. A refused file counts as a failure of ours, so that it is not tried for ever."""
    sound = [item.handed for item in passed if not item.faults]
    jobs = [Job(challenge=work.challenge, result=item.result, trace=item.trace) for item in sound]
    findings = {finding.path: finding for finding in verify_jobs(jobs, quiet=True)}
    kept: list[Kept] = []
    lines: list[str] = []
    for item in passed:
        finding = findings.get(str(item.handed.result))
        faults = item.faults or (finding.faults if finding else ("it was not replayed",))
        if finding and finding.standing is Standing.VERIFIED:
            result = parse_result(item.handed.result.read_bytes())
            whole = sealed({**result.document(), **_told(official, work, item.handed.item)})
            kept.append((whole, item.handed.trace.read_bytes() if result.trace_sha256 else None))
        else:
            lines.append(f"{item.handed.path}: {'; '.join(faults[:3])}")
            kept.append((_failure(official, work, item.handed.item, f"publish refused it: {faults[0]}", now), None))
    return kept, lines


def _failure(official: Official, work: Work, item: Item, message: str, now: datetime) -> Result:
    """The record of a try that came to nothing through no fault of the agent."""
    task = work.challenge.task(item.task_id)
    assert task is not None
    wanted = item.wanted
    asked = {name: value for name, value in _asked(official, work, item).items() if name != "klass"}
    failed: dict[str, object] = {
        "schema": results.SCHEMA,
        "class": Class.OFFICIAL,
        "verdict": Verdict.INTERNAL_ERROR,
        "message": message[: results.MESSAGE],
        "seeds": episode_seeds(wanted.season, wanted.beacon, wanted.submission_digest, task.id, task.episodes),
        "cost": {},
        "provenance": Provenance(commit=work.sha, run_url=official.run_url, evaluated_at=now.strftime("%Y-%m-%dT%H:%M:%SZ")),
    }
    return sealed({**asked, **_told(official, work, item), **failed})


def _stage(kept: Sequence[Kept], accepted: Path) -> None:
    """Write what passed to a folder, and one list of hashes over it all: that is what gets attested."""
    store = Store(results=accepted / "results", traces=accepted / "traces")
    accepted.mkdir(parents=True, exist_ok=True)
    lines = []
    for result, trace in kept:
        path = store.write(result, trace)
        files = (path, store.trace_of(path)) if trace is not None else (path,)
        lines += [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(accepted)}\n" for file in files]
    write_atomically(accepted / MANIFEST, "".join(sorted(lines)).encode())


def _wait(attempt: int) -> None:
    """Wait a random while, longer the more often others were first, so that not all come back at once."""
    time.sleep(random.uniform(0.1, min(8.0, 0.5 * 2**attempt)))


@dataclass(frozen=True, kw_only=True)
class Patience:
    """What is done when others push first."""

    tries: int = 100
    """Pushes at most."""
    pause: Callable[[int], None] = _wait
    """Waits before another; told how many there were."""


def record(official: Official, season: str, accepted: Path, now: datetime, patience: Patience = Patience()) -> Published:
    """Record what `check` accepted: one commit per result, both branches in one push, anew whenever others were first.

    Raises:
        CommandError: the remote refuses for another reason than that, or others are first too often.
    """
    store = Store(results=accepted / "results", traces=accepted / "traces")
    files = [(path, parse_result(path.read_bytes())) for path in store.files()]
    with open_branches(official.clone, season) as branches:
        for attempt in range(patience.tries):
            tips = branches.tips()
            fresh = _fresh(files, branches.objects(tips.get(RESULTS)))
            if not fresh or branches.push(_built(branches, tips, store, fresh, now)):
                recorded = tuple(result for _, result, _ in fresh)
                final = tuple(result for _, result, at in fresh if at.endswith(f".try{TRIES}{RESULT}"))
                return Published(recorded=recorded, known=len(files) - len(fresh), given_up=final)
            patience.pause(attempt + 1)
    raise CommandError(OUR_FAULT, f"others pushed first {patience.tries} times; nothing is lost, the next run records it")


Fresh = tuple[Path, Result, str]
"""The accepted file, its result, and its path on the branch."""


def _fresh(files: Sequence[tuple[Path, Result]], there: Mapping[str, str]) -> list[Fresh]:
    """What is not recorded. A failure of ours never takes a result's place: it is a numbered try beside it."""
    fresh = []
    for file, result in files:
        path = result.path()
        if path + RESULT in there:
            continue
        if result.verdict is not Verdict.INTERNAL_ERROR:
            fresh.append((file, result, path + RESULT))
            continue
        tries = [f"{path}.try{number}{RESULT}" for number in range(1, TRIES + 1)]
        same = object_name(file.read_bytes())
        free = next((at for at in tries if at not in there), None)
        if free and not any(there.get(at) == same for at in tries):
            fresh.append((file, result, free))
    return fresh


def _built(branches: Branches, tips: dict[str, str], store: Store, fresh: Sequence[Fresh], now: datetime) -> dict[str, str]:
    recorded, traced = [], []
    for file, result, path in fresh:
        message = f"record: {result.login}/{result.agent} {result.verdict} on {result.task}"
        recorded.append(Commit(message=message, files=((path, file.read_bytes()),)))
        if result.trace_sha256:
            at = path.removesuffix(RESULT) + TRACE
            traced.append(Commit(message=message, files=((at, store.trace_of(file).read_bytes()),)))
    built = {RESULTS: branches.build(tips.get(RESULTS), recorded, now)}
    if traced:
        built[branches.traces] = branches.build(tips.get(branches.traces), traced, now)
    return built
