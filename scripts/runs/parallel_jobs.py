"""Evaluations side by side: a process for each, with processors and memory of its own, and one display for all.

One owner, the command's own process, hands out the processors, so that no two evaluations share one: neither clocks of games
nor measured processor time depend on a neighbour. It alone records what the others have played.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import FrameType
from typing import Any, Generic, NoReturn, TypeVar

from evaluator import signals
from evaluator.host.progress import PlayProgress, ReportProgress
from evaluator.host.sandboxes.sandbox import own_processors
from scripts.console import OUR_FAULT, USAGE, CommandError
from scripts.terminal.progress_display import PlayDisplay, play_display

Value = TypeVar("Value")
Other = TypeVar("Other")
AUTO = "auto"
# Beside the sandboxes of an evaluation: its referee with the environments, and what the machine needs for itself.
REFEREE_MIB, SPARE_MIB = 300, 500
_REPORT_SECONDS = 0.1
_END_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class ParallelJob(Generic[Value]):
    """An evaluation or a duel that can be played in another process."""

    title: str
    play: Callable[[ReportProgress], Value]
    """Plays it; the value is sent to the command's own process."""
    processors: int
    """Processors that it needs so that neither sandbox nor referee waits for the other."""
    memory_mib: int
    """The most memory that its sandboxes may use."""

    def playing(self, play: Callable[[ReportProgress], Other]) -> "ParallelJob[Other]":
        """A job that needs the same and does something else with it."""
        return ParallelJob(title=self.title, play=play, processors=self.processors, memory_mib=self.memory_mib)


@dataclass(frozen=True, kw_only=True)
class FreeResources:
    """The processors and the memory that jobs are handed."""

    processors: tuple[int, ...]
    memory_mib: int

    @classmethod
    def here(cls) -> "FreeResources":
        """This process's processors, and the memory that is free now."""
        return cls(processors=own_processors(), memory_mib=_free_mib() - SPARE_MIB)


def _free_mib() -> int:
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) // 1024
    return 1 << 20  # not Linux: only the processors bound the number


def parse_jobs(value: str) -> int | None:
    """The value of `--jobs`; None for as many as fit.

    Raises:
        CommandError: it is neither `auto` nor a number from 1 on.
    """
    if value == AUTO:
        return None
    if value.isdecimal() and int(value) > 0:
        return int(value)
    raise CommandError(USAGE, f"--jobs {value!r} is not possible; it is auto or a number from 1 on")


def run_jobs(
    jobs: Sequence[ParallelJob[Value]],
    at_once: int | None,
    *,
    quiet: bool,
    may_start: Callable[[int], bool] = lambda index: True,
    free: FreeResources | None = None,
) -> Iterator[tuple[int, Value]]:
    """The position and value of each job as it ends.

    A single job, or one at a time, is played in this process. Otherwise what is started first needs the most processors;
    what waits gets its share of those that are free.

    `at_once`: the most that are played at once; None for as many as there are processors and memory for. `may_start`: called
    before each is started, with its position; False leaves it out.

    Raises:
        CommandError: some were not played to their ends; the others have been by then.
    """
    free = free or FreeResources.here()
    most = min(len(jobs), len(free.processors), at_once or len(jobs))
    if most < 2:
        with play_display(len(jobs), quiet=quiet) as display:
            for index, job in enumerate(jobs):
                if may_start(index):
                    with display.line(job.title) as report:
                        value = job.play(report)
                    yield index, value
        return
    workers = [_Worker.start(jobs) for _ in range(most)]
    try:
        with play_display(len(jobs), quiet=quiet) as display:
            schedule = _Schedule(jobs, workers, free, display)
            yield from schedule.run(may_start)
    finally:
        _end(workers)
    if schedule.faults:
        raise CommandError(OUR_FAULT, *schedule.faults)


@dataclass(kw_only=True)
class _Worker:
    """A process that plays one job after the other."""

    process: ForkProcess
    connection: Connection
    index: int | None = None
    """The job that it plays."""
    processors: tuple[int, ...] = ()
    report: ReportProgress = field(default=lambda progress: None)
    line: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @classmethod
    def start(cls, jobs: Sequence[ParallelJob[Any]]) -> "_Worker":
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=_work, args=(jobs, theirs, os.getpid()), daemon=True)
        with warnings.catch_warnings(), signals.signals_deferred():
            # The only other threads are those of numpy's BLAS, which stops them before a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        return cls(process=process, connection=ours)


class _Schedule(Generic[Value]):
    """Which job runs where."""

    def __init__(
        self, jobs: Sequence[ParallelJob[Value]], workers: list[_Worker], free: FreeResources, display: PlayDisplay
    ) -> None:
        self._jobs, self._workers, self._display = jobs, workers, display
        self._free, self._free_mib = list(free.processors), free.memory_mib
        self._count = len(free.processors)
        self._waiting = sorted(range(len(jobs)), key=lambda index: -jobs[index].processors)
        self.faults: list[str] = []
        """A line for each job that failed, or whose process ended before it."""

    def run(self, may_start: Callable[[int], bool]) -> Iterator[tuple[int, Value]]:
        """The position and value of each job as it ends."""
        while True:
            self._fill(may_start)
            running = {worker.connection: worker for worker in self._workers if worker.index is not None}
            if not running:
                return
            for connection in wait(list(running)):
                worker = running[connection]  # type: ignore[index]
                try:
                    kind, payload = worker.connection.recv()
                except (EOFError, OSError):
                    self._replace(worker)
                    continue
                if kind == "progress":
                    worker.report(payload)
                    continue
                index = self._release(worker)
                if kind == "error" and isinstance(payload, CommandError):
                    raise payload
                if kind == "error":  # Of one evaluation, which must not keep the others from being played.
                    self.faults.append(f"{self._jobs[index].title}: {payload}")
                    continue
                yield index, payload

    def _replace(self, worker: _Worker) -> None:
        """Note the job of a process that ended, such as in a library of the environment; another one plays what waits."""
        title = self._jobs[self._release(worker)].title
        advice = "run it again, with --jobs 1 if that repeats"
        self.faults.append(f"{title}: its process was killed, perhaps for memory; {advice}")
        _end([worker])
        self._workers.remove(worker)
        if self._waiting:
            with self._display.paused():  # Beside its thread, a fork could inherit a lock that nobody releases.
                self._workers.append(_Worker.start(self._jobs))

    def _fill(self, may_start: Callable[[int], bool]) -> None:
        """Start what fits, at least one."""
        for worker in self._workers:
            while worker.index is None and (index := self._next()) is not None:
                self._waiting.remove(index)
                if may_start(index):
                    self._start(worker, index)

    def _next(self) -> int | None:
        """The first waiting job that fits; the first of all where nothing runs."""
        if all(worker.index is None for worker in self._workers):
            return next(iter(self._waiting), None)
        return next((index for index in self._waiting if self._fits(self._jobs[index])), None)

    def _fits(self, job: ParallelJob[Value]) -> bool:
        return job.processors <= len(self._free) and job.memory_mib + REFEREE_MIB <= self._free_mib

    def _start(self, worker: _Worker, index: int) -> None:
        job = self._jobs[index]
        # Where less waits than there are processors, each gets more than it needs.
        sharing = sum(each.index is not None for each in self._workers) + 1 + len(self._waiting)
        count = max(job.processors, self._count // min(len(self._workers), sharing))
        worker.index, worker.processors = index, tuple(self._free[:count])
        del self._free[:count]
        self._free_mib -= job.memory_mib + REFEREE_MIB
        worker.report = worker.line.enter_context(self._display.line(job.title))
        worker.connection.send((index, worker.processors))

    def _release(self, worker: _Worker) -> int:
        assert worker.index is not None
        index, worker.index = worker.index, None
        self._free = sorted({*self._free, *worker.processors})
        self._free_mib += self._jobs[index].memory_mib + REFEREE_MIB
        worker.line.close()
        return index


def _end(workers: list[_Worker]) -> None:
    """Let each process close its sandbox and end."""
    for worker in workers:
        worker.line.close()
        worker.process.terminate()
    until = time.monotonic() + _END_SECONDS
    for worker in workers:
        worker.process.join(max(0.0, until - time.monotonic()))
        worker.process.kill()
        worker.process.join()
        worker.connection.close()


# In the worker's process


def _work(jobs: Sequence[ParallelJob[Any]], connection: Connection, parent: int) -> None:
    # Ctrl-C reaches all processes of the terminal; the parent then sends SIGTERM, which is obeyed once: a second
    # exception would stop the closing of the sandbox. A function, because a program that is started inherits "ignore".
    signal.signal(signal.SIGINT, lambda number, frame: None)
    # Two, as SIGTERM may come while the end of the connection is handled.
    with contextlib.suppress(KeyboardInterrupt), contextlib.suppress(EOFError, OSError):
        signal.signal(signal.SIGTERM, _stop)
        threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()
        while True:
            index, processors = connection.recv()
            if hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(0, processors)
            try:
                message = "value", jobs[index].play(_Reporter(connection))
            except Exception as error:  # noqa: BLE001  (it is raised again in the parent)
                is_expected = isinstance(error, CommandError)
                message = "error", error if is_expected else RuntimeError(f"{type(error).__name__}: {error}")
            connection.send(message)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    raise KeyboardInterrupt


def _end_with(parent: int) -> None:
    """Stop this process when its parent has ended, even if that was killed."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGTERM)


class _Reporter:
    """Sends progress to the parent, ten times a second at most."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._next = connection, 0.0

    def __call__(self, progress: PlayProgress) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _REPORT_SECONDS
            self._connection.send(("progress", progress))
