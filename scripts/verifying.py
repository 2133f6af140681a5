"""Verifies what is recorded, results and duels, in parallel over the cores: the verbs `verify` and `demo` share this."""

import hashlib
import multiprocessing
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from evaluator import stops
from evaluator.host.games import Game, open_game
from evaluator.host.rematch import verify_duel
from evaluator.host.replay import Finding, Standing, verify
from evaluator.host.runtime import versions
from evaluator.host.secret import Secret
from evaluator.host.worlds import World, WorldError, open_world
from evaluator.model import canonical
from evaluator.model.challenge import Challenge, Task
from leaderboard.store import Store, write_atomically
from scripts.console import bar
from scripts.seasons.opening import is_score_right
from scripts.seasons.record import Seasons, read_seasons


class Seen:
    """Results that this machine has verified before, by the hash of all that verification reads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._marks = set(path.read_text().split()) if path.exists() else set()

    def mark(self, challenge: Challenge, store: Store, path: Path) -> str:
        """What a result's verification is a function of."""
        trace = store.trace_of(path)
        hasher = hashlib.sha256(f"{sorted(versions().items())}\0{challenge.model_dump_json()}".encode())
        for file in (path, trace):
            hasher.update(b"\0" + (hashlib.sha256(file.read_bytes()).digest() if file.exists() else b"none"))
        return hasher.hexdigest()

    def split(self, challenge: Challenge, store: Store, files: Iterable[Path]) -> tuple[list[Path], list[Path]]:
        """The files that were verified before, and those that were not."""
        before: list[Path] = []
        new: list[Path] = []
        for path in files:
            (before if self.mark(challenge, store, path) in self._marks else new).append(path)
        return before, new

    def remember(self, challenge: Challenge, store: Store, findings: Iterable[Finding]) -> None:
        """Keep what was verified just now."""
        verified = (Path(finding.path) for finding in findings if finding.standing is Standing.VERIFIED)
        self._marks |= {self.mark(challenge, store, path) for path in verified}
        write_atomically(self._path, "\n".join(sorted(self._marks)).encode())


@dataclass(frozen=True, kw_only=True)
class Job:
    """One file to verify; small, since it travels to another process."""

    challenge: Challenge
    """Its tasks."""
    result: Path
    """The result's or the duel's file."""
    trace: Path
    """Where its trace lies; a duel has none beside it."""
    secret: Secret | None = None
    """Of a sealed season, for the one who plays it."""
    seasons: Seasons = field(default_factory=Seasons)
    """The secrets that are public."""


def verify_files(challenge: Challenge, store: Store, files: Iterable[Path], *, quiet: bool) -> list[Finding]:
    """Every file's finding, in order of the paths."""
    known = read_seasons(store.results)
    jobs = [Job(challenge=challenge, result=path, trace=store.trace_of(path), seasons=known) for path in files]
    return verify_jobs(jobs, quiet=quiet)


def verify_jobs(jobs: list[Job], *, quiet: bool) -> list[Finding]:
    """Every job's finding, in order of the paths. The largest go first, so that no core waits for the last."""
    jobs.sort(key=_size, reverse=True)
    cores = max(1, min(len(jobs), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))
    if cores == 1:
        return [verify_file(job) for job in jobs]
    findings = []
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(cores, fork, stops.by_default) as pool, bar("Replaying", len(jobs), quiet=quiet) as done:
        with stops.put_off():
            futures = [pool.submit(verify_file, job) for job in jobs]
        try:
            for future in as_completed(futures):
                findings.append(future.result())
                done(len(findings))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return sorted(findings, key=lambda finding: finding.path)


def _size(job: Job) -> int:
    """Bytes that are to be replayed: of the trace, or of the file itself where the moves are in it."""
    return next((path.stat().st_size for path in (job.trace, job.result) if path.exists()), 0)


def verify_file(job: Job) -> Finding:
    """One file's finding."""
    try:
        content = job.result.read_bytes()
        trace = job.trace.read_bytes() if job.trace.exists() else None
    except OSError as error:
        return Finding(path=str(job.result), standing=Standing.REFUTED, faults=(f"cannot be read: {error.strerror}",))
    found = _fields(content)
    named = found.get("task")
    task = job.challenge.task(named) if isinstance(named, str) else None
    if found.get("kind") == "duel":
        game = _game(task.model_dump_json()) if task and task.game else None
        return verify_duel(str(job.result), content, game)
    world = _world(task.model_dump_json()) if task and not task.game else None
    secret = job.secret or job.seasons.secret_of(str(found.get("season")), str(found.get("beacon")))
    finding = verify(str(job.result), content, trace, world, secret)
    if secret is None or finding.standing is not Standing.VERIFIED or is_score_right(job.challenge, content, secret):
        return finding
    return replace(finding, standing=Standing.REFUTED, faults=("the score that was public is not that of its episodes",))


def _fields(content: bytes) -> dict[str, Any]:
    """The document's fields; none where it is no document."""
    try:
        value = canonical.parse_strict(content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@cache
def _world(task: str) -> World | None:
    try:
        return open_world(Task.model_validate_json(task))
    except WorldError:
        return None


@cache
def _game(task: str) -> Game | None:
    try:
        return open_game(Task.model_validate_json(task))
    except WorldError:
        return None
