"""Packs what is wanted into shards: longest first, each to the least loaded, the same on every machine."""

import heapq
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.entry import AgentName
from leaderboard.planning.missing import DuelWorkItem, WorkItem

# GitHub ends a matrix at 256 jobs; 200 leave room for what else a run does.
SHARDS = 200
# What a machine needs before its first evaluation: checkout, packages, image.
START_SECONDS = 120.0
# Where nothing is recorded yet. A guess that is too long makes more shards than needed, never a lost one.
UNKNOWN_SECONDS = 60.0
# What a duel takes beside its players' thinking: two containers, and the referee.
DUEL_SECONDS = 5.0
# No container starts and ends in less.
LEAST_SECONDS = 0.5
# Replaying a trace takes this part of the time that the evaluation took, which has an agent and a container besides.
# Measured: 0.28 on average over eight tasks. What takes longer is not lost: it is left for the next round.
REPLAY_SHARE = 0.5
# Of a trace, where nothing is recorded of its agent and its task.
UNKNOWN_BYTES = 200_000.0
# A step of an action of four floats, packed; small whole numbers take a tenth of it.
STEP_BYTES = 24.0
# More machines than run side by side only pay where each still has this much to do.
WAVE_SECONDS = 600.0


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """How much may be done in one round."""

    shards: int = SHARDS
    """Shards at most."""
    at_once: int = 20
    """Machines that run side by side."""
    shard_seconds: float = 900.0
    """Work for one shard at most; one evaluation that is longer has a shard of its own."""
    replay_seconds: float = 4 * 3 * 3600.0
    """Processor seconds of replay for one publish at most: three hours of GitHub's four processors."""
    trace_bytes: float = 2e9
    """Traces of one round at most: publish holds them three times, on a disk of which 14 GB are sure to be free."""


@dataclass(frozen=True, kw_only=True)
class Packing:
    """One round."""

    shards: tuple[tuple[int, ...], ...]
    """Each shard's evaluations, as positions in what was packed, in their order."""
    left: tuple[int, ...]
    """What did not fit and is the next round's."""
    loads: tuple[float, ...]
    """Each shard's expected seconds."""

    @property
    def balance(self) -> float:
        """The longest shard over the mean one; 1 is perfect."""
        return max(self.loads) / statistics.fmean(self.loads) if any(self.loads) else 1.0


def expected_seconds(
    items: Iterable[WorkItem | DuelWorkItem], results: Iterable[Result], duels: Iterable[Duel] = ()
) -> list[float]:
    """What each evaluation will take: as its agent's longest on that task, else the task's median, else a guess.

    A duel takes what both its players think, each as long as in its longest duel, its validation included.
    """
    alone = _KnownCosts(
        ((result.task, AgentName.folded(result.login, result.agent)), result.cost.wall_seconds) for result in results
    )
    side = _KnownCosts(
        ((duel.task, AgentName(*player.name)), player.cost.wall_seconds)
        for duel in duels
        if duel.matches
        for player in duel.players
    )
    return [
        DUEL_SECONDS + sum(side.most(item.task_id, entry.name, UNKNOWN_SECONDS / 2) for entry in item.entries)
        if isinstance(item, DuelWorkItem)
        else alone.most(item.task_id, item.entry.name, UNKNOWN_SECONDS)
        for item in items
    ]


def expected_bytes(items: Iterable[WorkItem | DuelWorkItem], results: Iterable[Result]) -> list[float]:
    """The size of each evaluation's trace: by its agent's most steps on that task, else the task's median, else a guess.

    A duel has no trace: its moves are in its result.
    """
    steps = _KnownCosts(
        ((result.task, AgentName.folded(result.login, result.agent)), float(result.cost.steps))
        for result in results
        if result.cost.steps
    )
    unknown = UNKNOWN_BYTES / STEP_BYTES
    return [
        0.0 if isinstance(item, DuelWorkItem) else STEP_BYTES * steps.most(item.task_id, item.entry.name, unknown)
        for item in items
    ]


class _KnownCosts:
    """How much each agent took on each task."""

    def __init__(self, recorded: Iterable[tuple[tuple[str, AgentName], float]]) -> None:
        self._own: dict[tuple[str, AgentName], float] = {}
        tasks: dict[str, list[float]] = defaultdict(list)
        for of, seconds in recorded:
            self._own[of] = max(self._own.get(of, 0.0), seconds)
            tasks[of[0]].append(seconds)
        self._medians = {task: statistics.median(seconds) for task, seconds in tasks.items()}

    def most(self, task_id: str, name: AgentName, unknown: float) -> float:
        return self._own.get((task_id, name), self._medians.get(task_id, unknown))


def pack_shards(seconds: Sequence[float], capacity: Capacity, trace_bytes: Sequence[float] = ()) -> Packing:
    """One round of as many evaluations, in their order, as the capacity holds; longest first to the least loaded shard.

    Args:
        seconds: how long each takes.
        capacity: what one round may hold.
        trace_bytes: the size of each one's trace; none have any where left out.
    """
    seconds = [max(each, LEAST_SECONDS) for each in seconds]
    taken, left = _round(seconds, trace_bytes or [0.0] * len(seconds), capacity)
    count = _count(sum(seconds[i] for i in taken), len(taken), capacity)
    shards: list[list[int]] = [[] for _ in range(count)]
    loads = [0.0] * count
    heap = [(0.0, number) for number in range(count)]
    for index in sorted(taken, key=lambda i: (-seconds[i], i)):
        load, number = heapq.heappop(heap)
        shards[number].append(index)
        loads[number] = load + seconds[index]
        heapq.heappush(heap, (loads[number], number))
    return Packing(shards=tuple(tuple(sorted(shard)) for shard in shards), left=tuple(left), loads=tuple(loads))


def _round(seconds: Sequence[float], sizes: Sequence[float], capacity: Capacity) -> tuple[list[int], list[int]]:
    """The first evaluations whose sum fits a round and its publish, and the rest; at least one, however long it is.

    Longest-first packing never exceeds the mean load by more than its longest evaluation, so one longest is kept free
    in every shard.
    """
    longest = min(max(seconds, default=0.0), capacity.shard_seconds / 2)
    room = capacity.shards * (capacity.shard_seconds - longest)
    total = replay = stored = 0.0
    for index, (each, size) in enumerate(zip(seconds, sizes, strict=True)):
        total += min(each, capacity.shard_seconds)
        replay += REPLAY_SHARE * each
        stored += size
        if index and (total > room or replay > capacity.replay_seconds or stored > capacity.trace_bytes):
            return list(range(index)), list(range(index, len(seconds)))
    return list(range(len(seconds))), []


def _count(total: float, items: int, capacity: Capacity) -> int:
    """Shards for a round: so many that the start of a machine is worth it, at least as many waves as the limit asks."""
    quick = min(capacity.at_once, math.ceil(total / START_SECONDS))
    small = math.ceil(total / WAVE_SECONDS)
    return min(capacity.shards, items, max(quick, small))


def minutes(packing: Packing, at_once: int) -> float:
    """How long a round takes when so many shards run side by side, each as soon as a machine is free."""
    machines = [0.0] * max(1, min(at_once, len(packing.loads)))
    for load in packing.loads:
        heapq.heapreplace(machines, machines[0] + START_SECONDS + load)
    return max(machines) / 60 if packing.loads else 0.0
