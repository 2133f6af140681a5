"""Packs missing work into shards: longest first, each to the least loaded shard, the same on every machine."""

import heapq
import math
import statistics
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluator.model.config.limits import Limits
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.entry import AgentName
from leaderboard.planning.missing_work import DuelWorkItem, WorkItem

# GitHub ends a matrix at 256 jobs; 200 leave room for what else a run does.
SHARDS = 200
# Seconds that a machine needs before its first evaluation: checkout, packages, image.
START_SECONDS = 120.0
# Of an evaluation, where nothing is recorded yet. Too long a guess makes more shards than needed and loses nothing.
UNKNOWN_SECONDS = 60.0
# Of GitHub's machines. Where a machine has fewer, a shard ends later; what it has no time for is played in the next round.
PROCESSORS = 4
# Of a duel, besides the players' thinking: two containers and the referee.
DUEL_SECONDS = 5.0
# No container starts and ends faster.
SHORTEST_SECONDS = 0.5
# Replaying a trace takes this share of the evaluation's time, which includes an agent and a container.
# Measured: 0.28 on average over eight tasks. A replay that takes longer is left for the next round.
REPLAY_SHARE = 0.5
# Size of a trace, where nothing is recorded of its agent and task.
UNKNOWN_BYTES = 200_000.0
# Size of a step with an action of four floats, packed; small integers take a tenth of it.
STEP_BYTES = 24.0
# A sealed trace is padded to a power of two, so that it is up to twice as large, and written in base64.
SEALED_FACTOR = 2 * 4 / 3
# More shards than machines run side by side only pay if each still has this much to do.
WAVE_SECONDS = 600.0


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """Limits of one round."""

    at_once: int
    """Machines that run side by side."""
    shard_seconds: float
    """Work in one shard; a longer evaluation has a shard of its own."""
    shards: int = SHARDS
    replay_seconds: float = 4 * 3 * 3600.0
    """Processor seconds of replay in one publish: three hours of GitHub's four processors."""
    trace_bytes: float = 2e9
    """Traces of one round: publish holds them three times, on a disk with at least 14 GB free."""


@dataclass(frozen=True, kw_only=True)
class Packing:
    """The shards of one round."""

    shards: tuple[tuple[int, ...], ...]
    """The evaluations of each shard, as ascending positions in the given list."""
    left: tuple[int, ...]
    """Positions of what is left for the next round."""
    loads: tuple[float, ...]
    """Each shard's expected seconds."""


def expected_seconds(
    items: Iterable[WorkItem | DuelWorkItem], results: Iterable[Result], duels: Iterable[Duel] = ()
) -> list[float]:
    """Seconds of each evaluation: its agent's longest on that task, else the task's median, else a guess.

    A duel takes the thinking time of both players, each as in its longest duel, validations included.
    """
    items = list(items)
    if not items:
        return []
    solo = _RecordedCosts(
        ((result.task, AgentName.folded(result.login, result.agent)), result.cost.wall_seconds) for result in results
    )
    sides = _RecordedCosts(
        ((duel.task, AgentName(*player.name)), player.cost.wall_seconds)
        for duel in duels
        if duel.matches
        for player in duel.players
    )
    return [
        DUEL_SECONDS + sum(sides.most(item.task_id, entry.name, UNKNOWN_SECONDS / 2) for entry in item.entries)
        if isinstance(item, DuelWorkItem)
        else solo.most(item.task_id, item.entry.name, UNKNOWN_SECONDS)
        for item in items
    ]


def expected_bytes(
    items: Iterable[WorkItem | DuelWorkItem], results: Iterable[Result], largest: Mapping[str, float] | None = None
) -> list[float]:
    """Size of each evaluation's trace: by its agent's most steps on that task, else the task's median, else a guess.

    A duel has no trace: its moves are in its record.

    Args:
        items: the evaluations and duels.
        results: what is recorded of earlier ones.
        largest: by id, the largest trace of each task whose actions take more than `STEP_BYTES`. It is expected of
            everybody: agents that make long episodes together would else fill the disk of the round's publish.
    """
    largest = largest or {}
    items = list(items)
    if not items:
        return []
    steps = _RecordedCosts(
        ((result.task, AgentName.folded(result.login, result.agent)), float(result.cost.steps))
        for result in results
        if result.cost.steps
    )
    unknown = UNKNOWN_BYTES / STEP_BYTES
    return [
        0.0
        if isinstance(item, DuelWorkItem)
        else largest.get(item.task_id) or STEP_BYTES * steps.most(item.task_id, item.entry.name, unknown)
        for item in items
    ]


class _RecordedCosts:
    """The highest cost of each agent on each task, in seconds or steps."""

    def __init__(self, recorded: Iterable[tuple[tuple[str, AgentName], float]]) -> None:
        self._highest: dict[tuple[str, AgentName], float] = {}
        tasks: dict[str, list[float]] = defaultdict(list)
        for key, cost in recorded:
            self._highest[key] = max(self._highest.get(key, 0.0), cost)
            tasks[key[0]].append(cost)
        self._medians = {task: statistics.median(costs) for task, costs in tasks.items()}

    def most(self, task_id: str, name: AgentName, unknown: float) -> float:
        return self._highest.get((task_id, name), self._medians.get(task_id, unknown))


def machine_parts(items: Iterable[WorkItem | DuelWorkItem], limits: Limits) -> list[float]:
    """The part of a machine that each evaluation takes: as many play at once as there are processors for."""
    return [
        min(1.0, limits.processors(len(item.entries) if isinstance(item, DuelWorkItem) else 1) / PROCESSORS)
        for item in items
    ]


def pack_longest_first(
    seconds: Sequence[float], capacity: Capacity, trace_bytes: Sequence[float] = (), parts: Sequence[float] = ()
) -> Packing:
    """Pack one round: the first evaluations that fit its capacity, the longest first to the least loaded shard.

    Args:
        seconds: the length of each evaluation.
        capacity: the limits of the round.
        trace_bytes: the size of each evaluation's trace; 0 if left out.
        parts: the part of a machine that each takes; all of it if left out.
    """
    seconds = [max(each, SHORTEST_SECONDS) for each in seconds]
    lengths = seconds
    if parts:
        seconds = [each * part for each, part in zip(seconds, parts, strict=True)]
    taken, left = _first_that_fit(seconds, lengths, trace_bytes or [0.0] * len(seconds), capacity)
    count = _shard_count(sum(lengths[i] for i in taken), sum(seconds[i] for i in taken), len(taken), capacity)
    shards: list[list[int]] = [[] for _ in range(count)]
    loads = [0.0] * count
    heap = [(0.0, number) for number in range(count)]
    for index in sorted(taken, key=lambda i: (-seconds[i], i)):
        load, number = heapq.heappop(heap)
        shards[number].append(index)
        loads[number] = load + seconds[index]
        heapq.heappush(heap, (loads[number], number))
    return Packing(shards=tuple(tuple(sorted(shard)) for shard in shards), left=tuple(left), loads=tuple(loads))


def pack_by_group(
    seconds: Sequence[float], capacity: Capacity, groups: Sequence[Hashable], trace_bytes: Sequence[float] = ()
) -> Packing:
    """Pack one round so that no shard holds evaluations of two groups, in the given order.

    Args:
        seconds: the length of each evaluation.
        capacity: the limits of the round.
        groups: whom each evaluation is of.
        trace_bytes: the size of each evaluation's trace; 0 if left out.
    """
    seconds = [max(each, SHORTEST_SECONDS) for each in seconds]
    taken, left = _first_that_fit(seconds, seconds, trace_bytes or [0.0] * len(seconds), capacity)
    shards: list[list[int]] = []
    loads: list[float] = []
    newest: dict[Hashable, int] = {}
    for index in taken:
        number = newest.get(groups[index])
        if number is None or loads[number] + seconds[index] > capacity.shard_seconds:
            if len(shards) == capacity.shards:
                left.append(index)
                continue
            number = newest[groups[index]] = len(shards)
            shards.append([])
            loads.append(0.0)
        shards[number].append(index)
        loads[number] += seconds[index]
    return Packing(shards=tuple(map(tuple, shards)), left=tuple(sorted(left)), loads=tuple(loads))


def _first_that_fit(
    seconds: Sequence[float], lengths: Sequence[float], sizes: Sequence[float], capacity: Capacity
) -> tuple[list[int], list[int]]:
    """Split evaluations into those that fit a round and its publish, at least one, and the rest.

    Longest-first packing exceeds the mean load by at most the longest evaluation, so room for that is kept free in every
    shard.
    """
    longest = min(max(seconds, default=0.0), capacity.shard_seconds / 2)
    room = capacity.shards * (capacity.shard_seconds - longest)
    total = replay = stored = 0.0
    for index, (each, length, size) in enumerate(zip(seconds, lengths, sizes, strict=True)):
        total += min(each, capacity.shard_seconds)
        replay += REPLAY_SHARE * length
        stored += size
        if index and (total > room or replay > capacity.replay_seconds or stored > capacity.trace_bytes):
            return list(range(index)), list(range(index, len(seconds)))
    return list(range(len(seconds))), []


def _shard_count(alone: float, total: float, items: int, capacity: Capacity) -> int:
    """As many shards as repay the start of a machine, and more waves only where each shard still has enough to do.

    Args:
        alone: seconds that one processor after another would take.
        total: seconds of machines, which play several at once.
        items: number of evaluations.
        capacity: the limits of the round.
    """
    one_wave = min(capacity.at_once, math.ceil(alone / START_SECONDS))
    return min(capacity.shards, items, max(one_wave, math.ceil(total / WAVE_SECONDS)))


def round_minutes(packing: Packing, at_once: int) -> float:
    """How long a round takes with `at_once` machines, each shard starting as soon as a machine is free."""
    machines = [0.0] * max(1, min(at_once, len(packing.loads)))
    for load in packing.loads:
        heapq.heapreplace(machines, machines[0] + START_SECONDS + load)
    return max(machines) / 60 if packing.loads else 0.0
