"""The official run's last job: checks what the shards hand in, replays it, and records it on the data branches.

`check` believes nothing: whatever is not exactly what this round asked for, on the seeds that git tells, with actions that
give these returns, is refused. `record` writes what passed: what is recorded already wins, and a kill at any point
leaves the branches as they were or with everything in, for both are pushed in one step.
"""

import hashlib
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from evaluator.host.rematch import parse_duel
from evaluator.host.replay import Standing, parse_result
from evaluator.host.secret import Secret
from evaluator.model.duel import Duel
from evaluator.model.result import Result
from evaluator.model.verdict import Verdict
from leaderboard.plan import TRIES
from leaderboard.store import RESULT, TRACE, Store, write_atomically
from scripts.bot import asked
from scripts.bot.asked import Record
from scripts.bot.branches import RESULTS, Branches, Commit, object_name, open_branches
from scripts.bot.claims import ClaimError, Handed, handed_in, number_of, shard_folders, twice
from scripts.bot.duels import between, outcome
from scripts.bot.lines import harmless
from scripts.bot.official import Assignment
from scripts.bot.wanted import Official, Work, read_work
from scripts.console import OUR_FAULT, CommandError
from scripts.seasons.official import opened_copies, sealed_record
from scripts.seasons.secrets import season_secret
from scripts.verifying import Job, verify_jobs

MANIFEST = "manifest.sha256"


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What became of a round's shards."""

    accepted: tuple[Record, ...]
    """What may be recorded; lies in the folder of accepted files."""
    refused: tuple[str, ...]
    """A line, harmless in a log, for everything that was handed in and is not believed."""
    lost: tuple[int, ...]
    """Shards that handed in nothing usable; the next round plays them again."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a publish changed."""

    recorded: tuple[Record, ...]
    """New on the results branch."""
    known: int = 0
    """Was recorded by somebody else before; that one stays."""
    given_up: tuple[Record, ...] = field(default=())
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
    secret = season_secret(official.secret, work.challenge)
    with tempfile.TemporaryDirectory(prefix="pullrank-opened-") as place:
        if secret:
            handed = opened_copies(handed, Path(place), secret)
        passed = [_checked(official, work, item, now) for item in handed]
        kept, lines = _replayed(official, work, passed, now, secret)
    if secret:
        kept = [sealed_record(work.challenge, secret, *one) for one in kept]
    _stage(kept, accepted)
    lost = tuple(number for number in range(len(work.packing.shards)) if number not in good)
    told = tuple(harmless(line) for line in (*refused, *lines))
    return Checked(accepted=tuple(record for record, _ in kept), refused=told, lost=lost)


@dataclass(frozen=True, kw_only=True)
class _Passed:
    """A file that was handed in, and what is wrong with it before anything is replayed."""

    handed: Handed
    faults: tuple[str, ...]


def _checked(official: Official, work: Work, handed: Handed, now: datetime) -> _Passed:
    try:
        found = asked.parse(handed.item, handed.result.read_bytes())
    except ValueError as error:
        return _Passed(handed=handed, faults=(" ".join(str(error).split())[:300],))
    return _Passed(handed=handed, faults=tuple(asked.faults(official, work, handed.item, found, now)))


Kept = tuple[Record, bytes | None]
"""A result and its trace, or a duel."""


def _replayed(
    official: Official, work: Work, passed: Sequence[_Passed], now: datetime, secret: Secret | None
) -> tuple[list[Kept], list[str]]:
    """Replay what is not refused yet. A refused file counts as a failure of ours, so that it is not tried for ever."""
    sound = [item.handed for item in passed if not item.faults]
    jobs = [Job(challenge=work.challenge, result=item.result, trace=item.trace, secret=secret) for item in sound]
    findings = {finding.path: finding for finding in verify_jobs(jobs, quiet=True)}
    kept: list[Kept] = []
    lines: list[str] = []
    for item in passed:
        handed = item.handed
        finding = findings.get(str(handed.result))
        faults = item.faults or (finding.faults if finding else ("it was not replayed",))
        if finding and finding.standing is Standing.VERIFIED:
            found = asked.parse(handed.item, handed.result.read_bytes())
            traced = isinstance(found, Result) and found.trace_sha256
            kept.append((asked.told(official, work, handed.item, found), handed.trace.read_bytes() if traced else None))
        else:
            # In a sealed season a fault's words could name an episode, and the log is public.
            lines.append(f"{handed.path}: {'does not verify' if secret else '; '.join(faults[:3])}")
            kept.append((asked.failure(official, work, handed.item, f"publish refused it: {faults[0]}", now), None))
    return kept, lines


def _stage(kept: Sequence[Kept], accepted: Path) -> None:
    """Write what passed to a folder, and one list of hashes: that is what gets attested.

    Traces are not in it, as each result names the hash of its own: there are at most 1,024 names in an attestation.
    """
    store = Store(results=accepted / "results", traces=accepted / "traces")
    accepted.mkdir(parents=True, exist_ok=True)
    lines = []
    for found, trace in kept:
        path = store.write_duel(found) if isinstance(found, Duel) else store.write(found, trace)
        lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(accepted)}\n")
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
    files: list[tuple[Path, Record]] = [(path, parse_result(path.read_bytes())) for path in store.files()]
    files += [(path, parse_duel(path.read_bytes())) for path in store.duel_files()]
    with open_branches(official.clone, season) as branches:
        for attempt in range(patience.tries):
            tips = branches.tips()
            fresh = _fresh(files, branches.objects(tips.get(RESULTS)))
            if not fresh or branches.push(_built(branches, tips, store, fresh, now)):
                recorded = tuple(found for _, found, _ in fresh)
                final = tuple(found for _, found, at in fresh if at.endswith(f".try{TRIES}{RESULT}"))
                return Published(recorded=recorded, known=len(files) - len(fresh), given_up=final)
            patience.pause(attempt + 1)
    raise CommandError(OUR_FAULT, f"others pushed first {patience.tries} times; nothing is lost, the next run records it")


Fresh = tuple[Path, Record, str]
"""The accepted file, what it holds, and its path on the branch."""


def _fresh(files: Sequence[tuple[Path, Record]], there: Mapping[str, str]) -> list[Fresh]:
    """What is not recorded. A failure of ours never takes a result's place: it is a numbered try beside it."""
    fresh = []
    for file, found in files:
        path = found.path()
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


def _message(found: Record) -> str:
    if isinstance(found, Duel):
        return f"record: {between(found)} {outcome(found)} on {found.task}"
    return f"record: {found.login}/{found.agent} {found.verdict} on {found.task}"


def _built(branches: Branches, tips: dict[str, str], store: Store, fresh: Sequence[Fresh], now: datetime) -> dict[str, str]:
    recorded, traced = [], []
    for file, found, path in fresh:
        message = _message(found)
        recorded.append(Commit(message=message, files=((path, file.read_bytes()),)))
        if isinstance(found, Result) and found.trace_sha256:
            at = path.removesuffix(RESULT) + TRACE
            traced.append(Commit(message=message, files=((at, store.trace_of(file).read_bytes()),)))
    built = {RESULTS: branches.build(tips.get(RESULTS), recorded, now)}
    if traced:
        built[branches.traces] = branches.build(tips.get(branches.traces), traced, now)
    return built
