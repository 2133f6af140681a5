"""Verifies what is recorded, results and duels, in parallel over the cores: the verbs `verify` and `demo` share this."""

import hashlib
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from evaluator import signals
from evaluator.host.digests.runtime_digest import versions
from evaluator.host.duels.verify_duel import parse_duel, verify_duel
from evaluator.host.envs.gym_task import EnvironmentFault, GymTask, load_gym_task
from evaluator.host.envs.pettingzoo_game import PettingZooGame, open_game
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.solo.verify_result import Finding, VerificationStatus, first_line, parse_result, verify_result
from evaluator.model import canonical_json
from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.protocol import PROTOCOL
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result, Tier
from leaderboard.core.store import RESULT, ResultStore, write_atomically
from scripts.console import bar, say
from scripts.repository.season_file import Seasons, is_score_right, read_seasons
from scripts.verification.verify_claims import (
    DerivedClaims,
    MainHistory,
    RecordPlace,
    label_faults,
    limit_fault,
    main_history,
)


class SeenRecords:
    """Results that this machine has verified before, by the hash of all that verification reads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._marks = set(path.read_text().split()) if path.exists() else set()

    def mark(self, challenge: Challenge, store: ResultStore, path: Path) -> str:
        """What a result's verification is a function of."""
        trace = store.trace_of(path)
        rules = [PROTOCOL, sorted(versions().items()), [task.digest() for task in challenge.tasks]]
        hasher = hashlib.sha256(f"{rules}\0{challenge.model_dump_json()}".encode())
        for file in (path, trace):
            hasher.update(f"\0{file}".encode())
            hasher.update(b"\0" + (hashlib.sha256(file.read_bytes()).digest() if file.exists() else b"none"))
        return hasher.hexdigest()

    def split(self, challenge: Challenge, store: ResultStore, files: Iterable[Path]) -> tuple[list[Path], list[Path]]:
        """The files that were verified before, and those that were not."""
        before: list[Path] = []
        new: list[Path] = []
        for path in files:
            (before if self.mark(challenge, store, path) in self._marks else new).append(path)
        return before, new

    def remember(self, challenge: Challenge, store: ResultStore, findings: Iterable[Finding]) -> None:
        """Keep what was verified just now."""
        verified = (Path(finding.path) for finding in findings if finding.standing is VerificationStatus.VERIFIED)
        self._marks |= {self.mark(challenge, store, path) for path in verified}
        write_atomically(self._path, "\n".join(sorted(self._marks)).encode())


@dataclass(frozen=True, kw_only=True)
class VerificationJob:
    """One file to verify; small, since it travels to another process."""

    challenge: Challenge
    result: Path
    trace: Path
    """Where its trace lies; a duel has none beside it."""
    secret: SeasonSecret | None = None
    """Of a sealed season, for the one who plays it."""
    seasons: Seasons = field(default_factory=Seasons)
    """The secrets that are public."""
    place: RecordPlace | None = None
    """Where it is recorded; None for what was only handed in, whose labels are compared with what was asked."""


def verify_files(challenge: Challenge, store: ResultStore, files: Iterable[Path], *, quiet: bool) -> list[Finding]:
    """Every file's finding, in order of the paths; official records are compared with main's history where that is here."""
    known, now = read_seasons(store.results), datetime.now(UTC)
    jobs = [
        VerificationJob(
            challenge=challenge, result=path, trace=store.trace_of(path), seasons=known, place=_place(store, path, now)
        )
        for path in files
    ]
    return compared(verify_jobs(jobs, quiet=quiet), challenge, store.results.parent)


def _place(store: ResultStore, path: Path, now: datetime) -> RecordPlace:
    return RecordPlace(path=path.relative_to(store.results).as_posix().removesuffix(RESULT), now=now)


def compared(findings: Iterable[Finding], challenge: Challenge, root: Path) -> list[Finding]:
    """The findings with what main's history says of official records, as far as nothing refutes them yet."""
    found, past, is_sought, left = [], None, False, 0
    for finding in findings:
        record = None if finding.standing is VerificationStatus.REFUTED else read_record(Path(finding.path))
        if record is not None and record.tier is Tier.OFFICIAL and not is_sought:
            past, is_sought = main_history(root), True
        if record is not None:
            left += past is None and record.tier is Tier.OFFICIAL
            finding = _with_history(finding, record, challenge, past)
        found.append(finding)
    if left:
        say(
            f"Main's history is not here, so of {left} official records beacons, owners, commits and past limits were not "
            "derived; verify in a clone of the board with all its history."
        )
    return found


def _with_history(finding: Finding, record: Result | Duel, challenge: Challenge, past: MainHistory | None) -> Finding:
    derived = past.derived(record) if past else DerivedClaims()
    if derived.faults:
        return replace(finding, standing=VerificationStatus.REFUTED, faults=derived.faults)
    is_verified = finding.standing is VerificationStatus.VERIFIED
    stale = derived.stale
    if not (past and past.gave(record)) and (fault := limit_fault(record, challenge)):
        stale = stale or f"{fault} now"
    return replace(finding, standing=VerificationStatus.STALE, faults=(stale,)) if stale and is_verified else finding


def read_record(path: Path) -> Result | Duel:
    """A file that was looked at before, whatever it is."""
    content = path.read_bytes()
    return parse_duel(content) if _fields(content).get("kind") == "duel" else parse_result(content)


def verify_jobs(jobs: list[VerificationJob], *, quiet: bool, seconds: float | None = None) -> list[Finding]:
    """Every job's finding, in order of the paths. The largest go first, so that no core waits for the last.

    A replay that brings its process to an end, as one does that takes all memory, costs no other's finding.

    Args:
        jobs: the files.
        quiet: without a bar.
        seconds: what is not begun by then has no finding.
    """
    end = None if seconds is None else time.monotonic() + seconds
    jobs.sort(key=_size, reverse=True)
    cores = max(1, min(len(jobs), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))
    findings: list[Finding] = []
    with bar("Replaying", len(jobs), quiet=quiet) as done:

        def keep(finding: Finding) -> None:
            findings.append(finding)
            done(len(findings))

        waiting = deque(jobs)
        while waiting and not _is_over(end):
            for job in _replay(waiting, cores, keep, end):
                if _replay(deque([job]), 1, keep):
                    fault = "its replay was killed: it takes more memory than there is, or the environment crashes"
                    keep(Finding(path=str(job.result), standing=VerificationStatus.REFUTED, faults=(fault,)))
    return sorted(findings, key=lambda finding: finding.path)


def _replay(
    waiting: deque[VerificationJob], cores: int, keep: Callable[[Finding], None], end: float | None = None
) -> list[VerificationJob]:
    """Verify what is waiting on so many cores. Where a process is killed it ends with what was going on at that moment."""
    running: dict[Future[Finding], VerificationJob] = {}
    with ProcessPoolExecutor(cores, multiprocessing.get_context("fork"), signals.restore_default_handlers) as pool:
        try:
            while running or (waiting and not _is_over(end)):
                # Few at a time, so that of a killed process it is known which few it may have been at.
                while waiting and len(running) < 2 * cores and not _is_over(end):
                    with signals.signals_deferred():
                        running[pool.submit(verify_file, waiting[0])] = waiting[0]
                        waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    keep(future.result())
                    del running[future]
        except BrokenProcessPool:
            return list(running.values())
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return []


def _is_over(end: float | None) -> bool:
    return end is not None and time.monotonic() >= end


def _size(job: VerificationJob) -> int:
    """Bytes that are to be replayed: of the trace, or of the file itself where the moves are in it."""
    return next((path.stat().st_size for path in (job.trace, job.result) if path.exists()), 0)


def verify_file(job: VerificationJob) -> Finding:
    """One file's finding, whatever is in the file: what it makes an environment or a parser raise refutes it."""
    try:
        finding = _verified(job)
        if job.place is None or finding.standing is VerificationStatus.REFUTED:
            return finding
        faults = tuple(label_faults(read_record(job.result), job.challenge, job.place))
        return replace(finding, standing=VerificationStatus.REFUTED, faults=faults) if faults else finding
    except Exception as error:  # noqa: BLE001  (environments raise anything on actions that no agent of ours could send)
        fault = f"replaying it ends with {type(error).__name__}: {first_line(error)}"
        return Finding(path=str(job.result), standing=VerificationStatus.REFUTED, faults=(fault,))


def _verified(job: VerificationJob) -> Finding:
    try:
        content = job.result.read_bytes()
        trace = job.trace.read_bytes() if job.trace.exists() else None
    except OSError as error:
        return Finding(
            path=str(job.result), standing=VerificationStatus.REFUTED, faults=(f"cannot be read: {error.strerror}",)
        )
    found = _fields(content)
    named = found.get("task")
    task = job.challenge.task(named) if isinstance(named, str) else None
    if found.get("kind") == "duel":
        game = _game(task.model_dump_json(), task.code) if task and task.game else None
        return verify_duel(str(job.result), content, game)
    world = _world(task.model_dump_json(), task.code) if task and not task.game else None
    secret = job.secret or job.seasons.secret_of(str(found.get("season")), str(found.get("beacon")))
    finding = verify_result(str(job.result), content, trace, world, secret)
    if (
        secret is None
        or finding.standing is not VerificationStatus.VERIFIED
        or is_score_right(job.challenge, content, secret)
    ):
        return finding
    return replace(
        finding, standing=VerificationStatus.REFUTED, faults=("the score that was public is not that of its episodes",)
    )


def _fields(content: bytes) -> dict[str, Any]:
    """The document's fields; none where it is no document."""
    try:
        value = canonical_json.parse_strict(content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@cache
def _world(task: str, code: str | None) -> GymTask | None:
    try:
        return load_gym_task(Task.model_validate_json(task).with_code(code))
    except EnvironmentFault:
        return None


@cache
def _game(task: str, code: str | None) -> PettingZooGame | None:
    try:
        return open_game(Task.model_validate_json(task).with_code(code))
    except EnvironmentFault:
        return None
