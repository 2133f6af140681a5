"""Packing is deterministic, complete and even, and keeps every shard inside its time."""

import random
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from leaderboard.planning.missing_work import DuelWorkItem, MeasurementContext, WorkItem, missing_work
from leaderboard.planning.pack_shards import (
    REPLAY_SHARE,
    STEP_BYTES,
    UNKNOWN_BYTES,
    UNKNOWN_SECONDS,
    Capacity,
    expected_bytes,
    expected_seconds,
    machine_parts,
    pack_by_group,
    pack_longest_first,
    round_minutes,
)
from tests.leaderboard import make
from tests.leaderboard.make import challenge, entry, result

CAPACITY = Capacity(at_once=20, shard_seconds=900)


@given(st.lists(st.floats(0, 4000), max_size=300), st.integers(1, 200), st.integers(1, 40))
def test_every_evaluation_is_packed_once_or_left(seconds: list[float], shards: int, at_once: int) -> None:
    packing = pack_longest_first(seconds, replace(CAPACITY, shards=shards, at_once=at_once))
    packed = [index for shard in packing.shards for index in shard]

    assert sorted([*packed, *packing.left]) == list(range(len(seconds)))
    assert len(packing.shards) <= shards
    assert all(packing.shards)
    assert bool(packed) == bool(seconds)


@given(st.lists(st.floats(0.1, 450), min_size=1, max_size=400), st.integers(1, 20))
def test_no_shard_is_given_more_than_its_time(seconds: list[float], shards: int) -> None:
    packing = pack_longest_first(seconds, replace(CAPACITY, shards=shards))

    assert max(packing.loads) <= 900 * 1.0001


@given(st.lists(st.tuples(st.floats(0, 2000), st.integers(0, 30)), max_size=200), st.integers(1, 40))
def test_whoever_must_be_alone_shares_no_shard(work: list[tuple[float, int]], shards: int) -> None:
    owners = [owner for _, owner in work]
    packing = pack_by_group([each for each, _ in work], replace(CAPACITY, shards=shards), owners)
    packed = [index for shard in packing.shards for index in shard]

    assert sorted([*packed, *packing.left]) == list(range(len(work)))
    assert all(len({owners[index] for index in shard}) == 1 for shard in packing.shards)
    assert len(packing.loads) == len(packing.shards) <= shards
    assert all(len(shard) == 1 for shard, load in zip(packing.shards, packing.loads, strict=True) if load > 900)
    assert bool(packed) == bool(work)


def test_packing_is_the_same_wherever_it_is_done() -> None:
    chance = random.Random(1)
    seconds = [chance.expovariate(0.25) for _ in range(5000)]

    assert pack_longest_first(seconds, CAPACITY) == pack_longest_first(list(seconds), CAPACITY)


@pytest.mark.parametrize("agents", [20, 1000, 10_000])
def test_shards_are_even(agents: int) -> None:
    chance = random.Random(agents)
    seconds = [chance.lognormvariate(1, 1) for _ in range(8 * agents)]
    packing = pack_longest_first(seconds, CAPACITY)

    assert max(packing.loads) <= 1.1 * statistics.fmean(packing.loads)


def test_one_agent_does_not_wait_for_many_machines() -> None:
    assert len(pack_longest_first([4.0] * 8, CAPACITY).shards) == 1
    assert len(pack_longest_first([60.0] * 80, CAPACITY).shards) == 20
    assert round_minutes(pack_longest_first([60.0] * 80, CAPACITY), 20) == pytest.approx(6)


def test_rounds_take_everything_in_the_end() -> None:
    left = [30.0] * 40_000
    rounds = 0
    while left:
        packing = pack_longest_first(left, CAPACITY)
        left = [left[i] for i in packing.left]
        rounds += 1

    assert rounds == 14


def test_a_round_holds_no_more_than_its_publish_can_replay() -> None:
    packing = pack_longest_first([10.0] * 20_000, CAPACITY)
    taken = sum(map(len, packing.shards))

    assert taken * 10.0 * REPLAY_SHARE == CAPACITY.replay_seconds
    assert len(packing.left) == 20_000 - taken
    assert pack_longest_first([10_000_000.0, 1.0], CAPACITY).left == (1,)


def test_a_round_holds_no_more_bytes_than_its_publish_has_room_for() -> None:
    packing = pack_longest_first([1.0] * 30, CAPACITY, [3e8] * 30)

    assert sum(map(len, packing.shards)) == 6
    assert packing.left == tuple(range(6, 30))
    assert pack_longest_first([1.0] * 2, CAPACITY, [9e9, 1.0]).left == (1,)


def test_an_evaluation_longer_than_a_shard_has_one_of_its_own() -> None:
    packing = pack_longest_first([9000.0, 10.0, 10.0], CAPACITY)

    assert (0,) in packing.shards
    assert packing.left == ()


def test_nothing_wanted_is_no_shards() -> None:
    packing = pack_longest_first([], CAPACITY)

    assert (packing.shards, packing.left, round_minutes(packing, 20)) == ((), (), 0.0)


@pytest.mark.parametrize(
    ("cpus", "alone", "duel"), [(0.25, 0.25, 0.25), (0.5, 0.25, 0.5), (1, 0.5, 0.75), (2, 0.75, 1), (8, 1, 1)]
)
def test_an_evaluation_takes_the_part_of_a_machine_that_has_its_processors(cpus: float, alone: float, duel: float) -> None:
    """Of four, and half a processor for the referee."""
    where = MeasurementContext(runtime_digest="0" * 64, beacon="b")
    items = missing_work(make.challenge(make.task("solo"), make.game()), [make.entry("alice")], [], where, [])

    assert [type(item) for item in items] == [WorkItem, DuelWorkItem]
    assert machine_parts(items, Limits(cpus=cpus)) == [alone, duel]


def test_four_that_play_at_once_take_a_quarter_of_the_machines() -> None:
    seconds, parts = [200.0] * 200, [0.25] * 200
    whole, quarters = pack_longest_first(seconds, CAPACITY), pack_longest_first(seconds, CAPACITY, parts=parts)

    assert (sum(whole.loads), sum(quarters.loads)) == (40_000, 10_000)
    assert (len(whole.shards), len(quarters.shards)) == (67, 20)
    assert whole.left == quarters.left == ()


def test_expected_time_is_the_agents_own_then_the_tasks_then_a_guess() -> None:
    rules = challenge(Task(id="A"), Task(id="B"))
    alice, bob = entry("alice"), entry("bob")
    done = [
        result(alice, [1.0], on=Task(id="A", episodes=2), cost={"wall_seconds": 7}),
        result(entry("carol"), [1.0], on=Task(id="A"), cost={"wall_seconds": 3}),
        result(entry("dora"), [1.0], on=Task(id="A"), cost={"wall_seconds": 4}),
    ]
    items = missing_work(rules, [alice, bob], done, MeasurementContext(runtime_digest="0" * 64, beacon="b"), [])

    assert [(item.entry.login, item.task_id) for item in items] == [
        ("alice", "A"), ("alice", "B"), ("bob", "A"), ("bob", "B"),
    ]  # fmt: skip
    assert expected_seconds(items, done) == [7, UNKNOWN_SECONDS, 4, UNKNOWN_SECONDS]


def test_expected_bytes_are_those_of_the_agents_steps_then_the_tasks_then_a_guess() -> None:
    rules = challenge(Task(id="A"), Task(id="B"))
    alice, bob = entry("alice"), entry("bob")
    done = [
        result(alice, [1.0], on=Task(id="A", episodes=2), cost={"steps": 1000}),
        result(entry("carol"), [1.0], on=Task(id="A"), cost={"steps": 100}),
        result(entry("dora"), [1.0], on=Task(id="A"), cost={"steps": 300}),
        result(entry("dora"), on=Task(id="B")),
    ]
    items = missing_work(rules, [alice, bob], done, MeasurementContext(runtime_digest="0" * 64, beacon="b"), [])

    assert expected_bytes(items, done) == [1000 * STEP_BYTES, UNKNOWN_BYTES, 300 * STEP_BYTES, UNKNOWN_BYTES]
    assert expected_bytes(items, done, {"A": 5e7}) == [5e7, UNKNOWN_BYTES, 5e7, UNKNOWN_BYTES]
