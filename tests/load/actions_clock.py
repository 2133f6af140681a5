"""GitHub Actions on a simulated clock: runs, concurrency groups, jobs and a bounded number of machines."""

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

HOUR_SECONDS = 3600.0


class SimulatedClock:
    """Seconds since the beginning, moved from one event to the next."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()

    def at(self, seconds: float, deed: Callable[[], None]) -> None:
        """Do something at a time that is not over yet."""
        assert seconds >= self.now, "nothing can be done in the past"
        heapq.heappush(self._events, (seconds, next(self._count), deed))

    def after(self, seconds: float, deed: Callable[[], None]) -> None:
        """Do something some seconds from now."""
        self.at(self.now + seconds, deed)

    def run(self, end: float, is_done: Callable[[], bool] = lambda: False) -> None:
        """Let time pass until nothing is left to happen, `is_done`, or the end."""
        while self._events and self._events[0][0] <= end and not is_done():
            self.now, _, deed = heapq.heappop(self._events)
            deed()


Work = Callable[[], float]
"""Does a job's work and returns how many seconds it took on the simulated clock."""


@dataclass(frozen=True, kw_only=True)
class SimulatedJob:
    """One job of a run."""

    name: str
    setup: float
    """Seconds from its machine's start to the work: checkout and installation."""
    work: Work
    before: Work | None = None
    """A step of which the work sees what happened meanwhile."""
    minutes: float = 360.0
    """After which GitHub ends it."""


Stages = Iterator[list[SimulatedJob]]
"""What a workflow does: lists of jobs side by side, each list after the one before."""


@dataclass(eq=False)
class SimulatedRun:
    """One run of a workflow."""

    number: int
    workflow: str
    group: str
    cancel_in_progress: bool
    stages: Stages
    began: Callable[[], None]
    """Called when its first job gets a machine."""
    ended: Callable[[str], None]
    """Called with its conclusion."""
    state: str = "queued"
    left: int = 0
    failed: bool = False
    has_begun: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing of it happens any more."""
        return self.state == "over"


@dataclass
class _Group:
    running: SimulatedRun | None = None
    pending: SimulatedRun | None = None


@dataclass
class RunnerPool:
    """A repository's machines. Of each concurrency group one run is active and one waits, until a newer one replaces it."""

    clock: SimulatedClock
    machines: int
    used: int = 0
    busiest: int = 0
    machine_seconds: dict[str, float] = field(default_factory=dict)
    """By workflow."""
    jobs: dict[str, int] = field(default_factory=dict)
    """Jobs that got a machine, by workflow."""
    replaced: dict[str, int] = field(default_factory=dict)
    """Runs that were cancelled, by workflow."""
    longest_wait: float = 0.0
    too_long: list[str] = field(default_factory=list)
    """Jobs that GitHub would have ended."""
    _groups: dict[str, _Group] = field(default_factory=dict)
    _queue: list[tuple[float, SimulatedRun, SimulatedJob]] = field(default_factory=list)

    def submit(self, run: SimulatedRun) -> None:
        """A run is triggered."""
        group = self._groups.setdefault(run.group, _Group())
        if group.running is None:
            group.running = run
            self._advance(run)
            return
        if group.pending is not None:
            self._cancel(group.pending)
        group.pending = run
        if run.cancel_in_progress:
            self._cancel(group.running)

    def _cancel(self, run: SimulatedRun) -> None:
        if run.is_over:
            return
        self.replaced[run.workflow] = self.replaced.get(run.workflow, 0) + 1
        self._end(run, "cancelled")

    def _end(self, run: SimulatedRun, conclusion: str) -> None:
        run.state = "over"
        group = self._groups[run.group]
        if group.running is run:
            group.running, group.pending = group.pending, None
        run.ended(conclusion)
        following = group.running
        if following is not None and following.state == "queued":
            self._advance(following)

    def _advance(self, run: SimulatedRun) -> None:
        run.state = "running"
        jobs = next(run.stages, None)
        if not jobs:
            self._end(run, "failure" if run.failed else "success")
            return
        run.left = len(jobs)
        self._queue += [(self.clock.now, run, job) for job in jobs]
        self._hand_out()

    def _hand_out(self) -> None:
        while self._queue and self.used < self.machines:
            since, run, job = self._queue.pop(0)
            if run.is_over:
                continue
            self.longest_wait = max(self.longest_wait, self.clock.now - since)
            self.used += 1
            self.busiest = max(self.busiest, self.used)
            self.jobs[run.workflow] = self.jobs.get(run.workflow, 0) + 1
            if not run.has_begun:
                run.has_begun = True
                run.began()
            self._start(run, job)

    def _start(self, run: SimulatedRun, job: SimulatedJob) -> None:
        begun = self.clock.now

        def before() -> None:
            self.clock.after(job.before() if job.before and not run.is_over else 0.0, work)

        def work() -> None:
            seconds = 0.0
            if not run.is_over:
                try:
                    seconds = job.work()
                except JobFailedError as error:
                    run.failed, seconds = True, error.seconds
            spent = self.clock.now + seconds - begun
            if spent > 60 * job.minutes:
                self.too_long.append(f"{run.workflow}: {job.name} takes {spent:.0f} s")
            self.machine_seconds[run.workflow] = self.machine_seconds.get(run.workflow, 0.0) + spent
            self.clock.after(seconds, release)

        def release() -> None:
            self.used -= 1
            if not run.is_over:
                run.left -= 1
                if run.left == 0:
                    self._advance(run)
            self._hand_out()

        self.clock.after(job.setup, before)


class JobFailedError(Exception):
    """A job's command ended badly, after some simulated seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
