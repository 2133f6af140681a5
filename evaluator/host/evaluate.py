"""One evaluation from start to end: sandbox, referee, result and trace."""

import dataclasses
import platform
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.host.channel import clean
from evaluator.host.cohort import Ticket
from evaluator.host.faults import FaultError, HangupError
from evaluator.host.folder import Folder, stage
from evaluator.host.pins import pinned_environment
from evaluator.host.referee import Match, Tally, play
from evaluator.host.runtime import versions
from evaluator.host.sandbox import Cell, Opener, Sandbox, Usage
from evaluator.host.seeds import agent_seeds, episode_seeds
from evaluator.host.worlds import World
from evaluator.model import result as results
from evaluator.model.challenge import Limits
from evaluator.model.result import LOG_TAIL, Class, Cost, Provenance, Result, SandboxKind, Wanted, sealed
from evaluator.model.trace import Episode, Leaf, Trace
from evaluator.model.verdict import Verdict, is_retryable

ATTEMPTS = 2


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be evaluated, for whom."""

    login: str
    """The owner."""
    login_id: int | None
    """GitHub's number for him."""
    agent: str
    """The agent's folder."""
    folder: Folder
    """The agent."""
    world: World
    """The task."""
    limits: Limits
    """What the sandbox may use."""
    season: str
    """The season it counts for."""
    beacon: str
    """Where the seeds come from."""
    beacon_verified: bool
    """Whether GitHub signed it."""
    klass: Class
    """official, preview or local."""
    runtime_digest: str
    """What measures."""
    commit: str | None = None
    """The board's commit."""
    run_url: str | None = None
    """The workflow run."""

    def wanted(self) -> Wanted:
        """What the evaluation is a function of."""
        return Wanted(
            submission_digest=self.folder.digest,
            task_digest=self.world.task.digest(),
            runtime_digest=self.runtime_digest,
            season=self.season,
            beacon=self.beacon,
        )

    def _seed_arguments(self) -> tuple[str, str, str, str, int]:
        task = self.world.task
        return self.season, self.beacon, self.folder.digest, task.id, task.episodes

    def seeds(self) -> tuple[str, ...]:
        """Each episode's environment seed."""
        return episode_seeds(*self._seed_arguments())

    def tickets(self) -> tuple[Ticket, ...]:
        """The episodes to play."""
        pairs = zip(self.seeds(), agent_seeds(*self._seed_arguments()), strict=True)
        return tuple(Ticket(index=i, seed=seed, agent_seed=own) for i, (seed, own) in enumerate(pairs))


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What came of an order."""

    result: Result
    """Verdict, and returns if it is ok."""
    trace: bytes | None
    """The trace file, if it is ok."""


@dataclass(frozen=True, kw_only=True)
class _Run:
    """One attempt, before it is written down."""

    verdict: Verdict
    message: str = ""
    log_tail: str = ""
    tally: Tally | None = None
    usage: Usage = dataclasses.field(default_factory=Usage)
    wall_seconds: float = 0.0
    sandbox: SandboxKind
    image_digest: str | None = None


def evaluate(
    order: Order, kind: SandboxKind, opener: Opener, now: Callable[[], datetime], progress: Callable[[int], None]
) -> Evaluation:
    """Play the agent on the task. A failure of ours, or a timeout, is tried once more; the agent's faults are verdicts."""
    for attempt in range(ATTEMPTS):
        run = _attempt(order, kind, opener, progress)
        if not is_retryable(run.verdict) or attempt == ATTEMPTS - 1:
            break
    return _write_down(order, run, now())


def _attempt(order: Order, kind: SandboxKind, opener: Opener, progress: Callable[[int], None]) -> _Run:
    begun = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="pullrank-agent-") as name:
            run = _in_sandbox(order, opener, Path(name), progress)
    except Exception as error:  # noqa: BLE001  (the one place: whatever fails here is ours, and must not be the agent's)
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        message = clean(f"{type(error).__name__} at {where}: {error}")
        run = _Run(verdict=Verdict.INTERNAL_ERROR, message=message, sandbox=kind)
    return dataclasses.replace(run, wall_seconds=time.monotonic() - begun)


def _in_sandbox(order: Order, opener: Opener, room: Path, progress: Callable[[int], None]) -> _Run:
    stage(order.folder, room)
    cell = Cell(folder=room, entry=order.folder.submission.entry, limits=order.limits, environment=pinned_environment())
    sandbox = opener(cell)
    try:
        return _played(order, sandbox, progress)
    finally:
        sandbox.close()


def _played(order: Order, sandbox: Sandbox, progress: Callable[[int], None]) -> _Run:
    match = Match(
        world=order.world, tickets=order.tickets(), limits=order.limits, progress=progress, pin_sandbox=sandbox.pin
    )
    tally: Tally | None = None
    try:
        tally = play(match, sandbox.stream())
        fault = FaultError(Verdict.OK, "")
    except HangupError:
        fault = sandbox.post_mortem()
    except FaultError as caught:
        fault = caught
    usage = sandbox.usage()
    if fault.verdict is Verdict.CRASHED:
        fault = _worse(fault, sandbox.post_mortem())
    sandbox.end()
    return _Run(
        verdict=fault.verdict,
        message=str(fault),
        log_tail=sandbox.log_tail(),
        tally=tally,
        usage=usage,
        sandbox=sandbox.kind,
        image_digest=sandbox.image_digest,
    )


def _worse(complaint: FaultError, post_mortem: FaultError) -> FaultError:
    """A crash that a limit of the sandbox explains is that limit's."""
    return complaint if post_mortem.verdict is Verdict.CRASHED else post_mortem


def _write_down(order: Order, run: _Run, now: datetime) -> Evaluation:
    wanted = order.wanted()
    key = wanted.key()
    trace = _trace(key, run.tally) if run.tally else None
    fields: dict[str, Any] = {
        "schema": results.SCHEMA,
        "key": key,
        "class": order.klass,
        "task": order.world.task.id,
        **wanted.model_dump(),
        "login": order.login,
        "login_id": order.login_id,
        "agent": order.agent,
        "beacon_verified": order.beacon_verified,
        "sandbox": run.sandbox,
        "verdict": run.verdict,
        "message": clean(run.message),
        "log_tail": clean_log(run.log_tail),
        "seeds": order.seeds(),
        **_measured(run.tally),
        "limits": order.limits,
        "cost": _cost(run),
        "versions": versions(),
        "image_digest": run.image_digest,
        "platform": f"{platform.system()} {platform.machine()}",
        "provenance": Provenance(
            commit=order.commit, run_url=order.run_url, evaluated_at=now.strftime("%Y-%m-%dT%H:%M:%SZ")
        ),
        "trace_sha256": trace.sha256() if trace else None,
    }
    return Evaluation(result=sealed(fields), trace=trace.serialised() if trace else None)


def clean_log(text: str) -> str:
    """The end of a log, with control and bidirectional characters replaced."""
    return "\n".join(clean(line) for line in text[-4 * LOG_TAIL :].splitlines())[-LOG_TAIL:]


def _measured(tally: Tally | None) -> dict[str, Any]:
    if tally is None:
        return {}
    return {
        "returns": [episode.total for episode in tally.episodes],
        "lengths": [episode.length for episode in tally.episodes],
        "metrics": {"clipped_actions": float(tally.clipped)},
    }


def _cost(run: _Run) -> Cost:
    steps = sum(episode.length for episode in run.tally.episodes) if run.tally else 0
    return Cost(
        cpu_seconds=run.usage.cpu_seconds,
        wall_seconds=round(run.wall_seconds, 3),
        peak_memory_bytes=run.usage.peak_memory_bytes,
        steps=steps,
    )


def _trace(key: str, tally: Tally) -> Trace:
    leaves = zip(*(episode.actions for episode in tally.episodes), strict=True)
    return Trace(
        schema=1,
        key=key,
        episodes=tuple(Episode(length=e.length, checksum=e.checksum) for e in tally.episodes),
        actions=tuple(Leaf.of(np.concatenate(leaf)) for leaf in leaves),
    )
