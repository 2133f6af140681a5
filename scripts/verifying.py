"""Verifies what is recorded, in parallel over the cores: the verbs `verify` and `demo` share this."""

import hashlib
import multiprocessing
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evaluator.host.replay import Finding, Standing, verify
from evaluator.host.runtime import versions
from evaluator.host.worlds import World, WorldError, open_world
from evaluator.model import canonical
from evaluator.model.challenge import Challenge, Task
from leaderboard.store import Store, write_atomically
from scripts.console import bar


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
    """The result file."""
    trace: Path
    """Where its trace lies."""


def verify_files(challenge: Challenge, store: Store, files: Iterable[Path], *, quiet: bool) -> list[Finding]:
    """Every file's finding, in order of the paths."""
    return verify_jobs([Job(challenge=challenge, result=path, trace=store.trace_of(path)) for path in files], quiet=quiet)


def verify_jobs(jobs: list[Job], *, quiet: bool) -> list[Finding]:
    """Every job's finding, in order of the paths. The largest traces go first, so that no core waits for the last."""
    jobs.sort(key=lambda job: -job.trace.stat().st_size if job.trace.exists() else 0)
    cores = max(1, min(len(jobs), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))
    if cores == 1:
        return [verify_file(job) for job in jobs]
    findings = []
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(cores, mp_context=fork) as pool, bar("Replaying traces", len(jobs), quiet=quiet) as done:
        for future in as_completed([pool.submit(verify_file, job) for job in jobs]):
            findings.append(future.result())
            done(len(findings))
    return sorted(findings, key=lambda finding: finding.path)


def verify_file(job: Job) -> Finding:
    """One file's finding."""
    try:
        content = job.result.read_bytes()
        trace = job.trace.read_bytes() if job.trace.exists() else None
    except OSError as error:
        return Finding(path=str(job.result), standing=Standing.REFUTED, faults=(f"cannot be read: {error.strerror}",))
    return verify(str(job.result), content, trace, _world_of(job.challenge, _task_id(content)))


def _task_id(content: bytes) -> str | None:
    try:
        value = canonical.parse_strict(content)
    except ValueError:
        return None
    task = value.get("task") if isinstance(value, dict) else None
    return task if isinstance(task, str) else None


def _world_of(challenge: Challenge, task_id: str | None) -> World | None:
    task = challenge.task(task_id) if task_id else None
    return _world(task.model_dump_json()) if task else None


@cache
def _world(task: str) -> World | None:
    try:
        return open_world(Task.model_validate_json(task))
    except WorldError:
        return None
