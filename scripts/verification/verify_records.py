"""Verification of results and duels by replay, one process per core; used by several commands and workflows."""

import hashlib
import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from evaluator import signals
from evaluator.host.digests.runtime_digest import versions
from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.envs.gym_task import cached_gym_task
from evaluator.host.envs.pettingzoo_game import cached_game
from evaluator.host.sandboxes.sandbox import own_processors
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.verification import Verification, VerificationStatus
from evaluator.model import canonical_json
from evaluator.model.config.challenge import Challenge
from evaluator.model.measurement_version import MEASUREMENT_VERSION
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import parse_record
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier
from evaluator.model.validation_messages import error_in_words
from leaderboard.core.store import RECORD_ENDING, ResultStore, write_atomically
from scripts.console import say
from scripts.repository.season_file import SeasonFile, is_public_score_correct, read_seasons
from scripts.terminal.progress_display import progress_bar
from scripts.verification import verify_provenance


class SeenRecords:
    """Records that were verified on this machine before, by a hash of everything that verification reads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._marks = set(path.read_text().split()) if path.exists() else set()

    def mark(self, challenge: Challenge, store: ResultStore, path: Path) -> str:
        """The hash of everything that a record's verification depends on."""
        trace = store.trace_of(path)
        rules = [MEASUREMENT_VERSION, sorted(versions().items()), [task.digest() for task in challenge.tasks]]
        hasher = hashlib.sha256(f"{rules}\0{challenge.model_dump_json()}".encode())
        for file in (path, trace):
            hasher.update(f"\0{file}".encode())
            hasher.update(b"\0" + (hashlib.sha256(file.read_bytes()).digest() if file.exists() else b"none"))
        return hasher.hexdigest()

    def split(self, challenge: Challenge, store: ResultStore, files: Iterable[Path]) -> tuple[list[Path], list[Path]]:
        """Split files into those verified before, and the others."""
        before: list[Path] = []
        new: list[Path] = []
        for path in files:
            (before if self.mark(challenge, store, path) in self._marks else new).append(path)
        return before, new

    def remember(self, challenge: Challenge, store: ResultStore, verifications: Iterable[Verification]) -> None:
        """Add the verified records and write the file."""
        verified = (
            Path(verification.path) for verification in verifications if verification.status is VerificationStatus.VERIFIED
        )
        self._marks |= {self.mark(challenge, store, path) for path in verified}
        write_atomically(self._path, "\n".join(sorted(self._marks)).encode())


@dataclass(frozen=True, kw_only=True)
class VerificationJob:
    """One file to verify; small, since it is sent to another process."""

    challenge: Challenge
    result: Path
    trace: Path
    """Does not exist for a duel."""
    secret: SeasonSecret | None = None
    """The secret of a sealed season, in the official run only."""
    seasons: SeasonFile = field(default_factory=SeasonFile)
    """For the secrets that are published."""
    place: verify_provenance.RecordLocation | None = None
    """Where it is recorded; None for a shard's results, whose statements are compared with the request instead."""


def verify_files(
    challenge: Challenge, store: ResultStore, files: Iterable[Path], *, quiet: bool, at_once: int | None = None
) -> list[Verification]:
    """The verifications of all files, sorted by path; official records are also checked by main's history, if it is here."""
    replayed = replay_files(challenge, store, files, quiet=quiet, at_once=at_once)
    return check_history(replayed, challenge, store.results.parent)


def replay_files(
    challenge: Challenge, store: ResultStore, files: Iterable[Path], *, quiet: bool, at_once: int | None = None
) -> list[Verification]:
    """The same without main's history."""
    seasons, now = read_seasons(store.results), datetime.now(UTC)
    jobs = [
        VerificationJob(
            challenge=challenge, result=path, trace=store.trace_of(path), seasons=seasons, place=_place(store, path, now)
        )
        for path in files
    ]
    return verify_jobs(jobs, quiet=quiet, at_once=at_once)


def _place(store: ResultStore, path: Path, now: datetime) -> verify_provenance.RecordLocation:
    relative = path.relative_to(store.results).as_posix().removesuffix(RECORD_ENDING)
    return verify_provenance.RecordLocation(path=relative, now=now)


def check_history(verifications: Iterable[Verification], challenge: Challenge, root: Path) -> list[Verification]:
    """Add what main's history says of official records to the verifications that are not refuted yet."""
    open_history = cache(partial(verify_provenance.open_main_history, root))
    checked, without_history = [], 0
    for verification in verifications:
        if verification.status is not VerificationStatus.REFUTED:
            record = parse_record(Path(verification.path).read_bytes())
            history = open_history() if record.tier is Tier.OFFICIAL else None
            without_history += history is None and record.tier is Tier.OFFICIAL
            verification = _with_history(verification, record, challenge, history)
        checked.append(verification)
    if without_history:
        say(
            f"Main's history is not here, so of {without_history} official records beacons, owners, commits and past limits "
            "were not checked; verify in a full clone of the leaderboard."
        )
    return checked


def _with_history(
    verification: Verification, record: Result | Duel, challenge: Challenge, history: verify_provenance.MainHistory | None
) -> Verification:
    claims = history.check(record) if history else verify_provenance.HistoryFindings()
    if claims.faults:
        return replace(verification, status=VerificationStatus.REFUTED, faults=claims.faults)
    is_verified = verification.status is VerificationStatus.VERIFIED
    stale = claims.stale
    if not (history and history.knows_rules_of(record)) and (fault := verify_provenance.limit_fault(record, challenge)):
        stale = stale or f"{fault} now"
    return replace(verification, status=VerificationStatus.STALE, faults=(stale,)) if stale and is_verified else verification


def verify_jobs(
    jobs: list[VerificationJob], *, quiet: bool, seconds: float | None = None, at_once: int | None = None
) -> list[Verification]:
    """All jobs' verifications, sorted by path. The largest files go first, so that all cores finish at about the same time.

    With a time limit they go in the order given: an agent could else make its trace small when its draw is a bad one, and be
    left out, and played again.

    Where a replay kills its process, for instance by using all memory, each job that was running is repeated alone, and only
    the record that kills its process again is refuted.

    The list may be sorted in place. `seconds`: the time limit; jobs that have not started by then are left out. `at_once`:
    the most that are replayed at once; None for one on each processor.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    if deadline is None:
        jobs.sort(key=_size, reverse=True)
    cores = max(1, min(len(jobs), at_once or len(own_processors())))
    verifications: list[Verification] = []
    with progress_bar("Replaying", len(jobs), quiet=quiet) as progress:

        def add(verification: Verification) -> None:
            verifications.append(verification)
            progress(len(verifications))

        waiting = deque(jobs)
        while waiting and not _is_over(deadline):
            for job in _replay(waiting, cores, add, deadline):
                if _replay(deque([job]), 1, add):
                    fault = "its replay was killed: it takes more memory than there is, or the environment crashes"
                    add(Verification.refuted(str(job.result), fault))
    return sorted(verifications, key=lambda verification: verification.path)


def _replay(
    waiting: deque[VerificationJob], cores: int, add: Callable[[Verification], None], deadline: float | None = None
) -> list[VerificationJob]:
    """Verify the waiting jobs on `cores` processes; returns the jobs that were running when a process was killed."""
    running: dict[Future[Verification], VerificationJob] = {}
    with ProcessPoolExecutor(cores, multiprocessing.get_context("fork"), signals.restore_default_handlers) as pool:
        try:
            while running or (waiting and not _is_over(deadline)):
                # At most two jobs per core are submitted, so that few jobs are suspected when a process is killed.
                while waiting and len(running) < 2 * cores and not _is_over(deadline):
                    with signals.signals_deferred():
                        running[pool.submit(verify_file, waiting[0])] = waiting[0]
                        waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    add(future.result())
                    del running[future]
        except BrokenProcessPool:
            return list(running.values())
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return []


def _is_over(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


def _size(job: VerificationJob) -> int:
    """Bytes to replay: of the trace, or for a duel of the file itself."""
    return next((path.stat().st_size for path in (job.trace, job.result) if path.exists()), 0)


def verify_file(job: VerificationJob) -> Verification:
    """The verification of one file; any exception of the parser or the environment refutes it."""
    try:
        verification = _verified(job)
        if job.place is None or verification.status is VerificationStatus.REFUTED:
            return verification
        faults = tuple(verify_provenance.provenance_faults(parse_record(job.result.read_bytes()), job.challenge, job.place))
        return replace(verification, status=VerificationStatus.REFUTED, faults=faults) if faults else verification
    except Exception as error:  # noqa: BLE001  (environments raise anything on invalid actions)
        fault = f"replaying it ends with {type(error).__name__}: {error_in_words(error, 300)}"
        return Verification.refuted(str(job.result), fault)


def _verified(job: VerificationJob) -> Verification:
    try:
        content = job.result.read_bytes()
        trace = job.trace.read_bytes() if job.trace.exists() else None
    except OSError as error:
        return Verification.refuted(str(job.result), f"cannot be read: {error.strerror}")
    fields = _fields(content)
    task_id = fields.get("task")
    task = job.challenge.task(task_id) if isinstance(task_id, str) else None
    if fields.get("kind") == "duel":
        game = cached_game(task) if task and task.game else None
        return verify_duel(str(job.result), content, game)
    gym_task = cached_gym_task(task) if task and not task.game else None
    secret = job.secret or job.seasons.secret_of(str(fields.get("season")), str(fields.get("beacon")))
    verification = verify_result(str(job.result), content, trace, gym_task, secret)
    if (
        secret is None
        or verification.status is not VerificationStatus.VERIFIED
        or is_public_score_correct(job.challenge, content, secret)
    ):
        return verification
    return replace(verification, status=VerificationStatus.REFUTED, faults=("its public score is not that of its episodes",))


def season_of(path: Path) -> str:
    """The season that a record names; empty where it names none."""
    season = _fields(path.read_bytes()).get("season")
    return season if isinstance(season, str) else ""


def _fields(content: bytes) -> dict[str, Any]:
    """The fields of a JSON object; empty if the content is none."""
    try:
        value = canonical_json.parse_strict(content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
