"""The bench of worlds: its agents, a short run of it, and its report."""

import json
from dataclasses import asdict, replace

import gymnasium
import numpy as np
import pytest

from bench.worlds.cells import BARE, CALLS, WAYS, WORLDS, World, cells, load
from bench.worlds.measure import NOT_MEASURED, Row, measure
from bench.worlds.report import page

SHORT = (
    "SyncVectorEnv, 64", "AsyncVectorEnv, 8", "process, one lane", "process, lock-step", "HTTP, JSON", "JSON lines, pipe",
)  # fmt: skip
MEASURED = Row(
    world="CartPole", policy="rule", way=BARE, steps=1000, seconds=0.1, cpu_seconds=0.1, mib=60, start=0.5,
    bare_speed=10_000, bare_cpu=1e-4, load=0.5,
)  # fmt: skip


def observations(world: World) -> np.ndarray:
    generator = np.random.default_rng(1)
    if world.pixels:
        return generator.integers(0, 256, (3, 210, 160, 3), np.uint8)
    return generator.normal(size=(3, world.inputs)).astype(np.float32)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_an_agent_acts_alone_as_it_acts_on_many_at_once(world: World) -> None:
    seen = observations(world)
    for policy in world.policies:
        together = load(world.source(policy, batched=True)).act_batch(seen)
        single = load(world.source(policy, batched=False))
        alone = np.array([single.act(one) for one in seen])

        assert together.shape == alone.shape == ((3,) if world.is_discrete else (3, world.outputs))
        assert np.allclose(together, alone, atol=1e-6), policy


@pytest.mark.parametrize("policy", ["rule", "MLP"])
def test_the_pole_stays_up_so_that_steps_are_measured_and_not_resets(policy: str) -> None:
    [world] = [world for world in WORLDS if world.name == "CartPole"]
    agent = load(world.source(policy, batched=False))
    environment = gymnasium.make(world.env_id)
    observation, _ = environment.reset(seed=1)
    steps, over = 0, False
    while not over:
        observation, _, terminated, truncated, _ = environment.step(agent.act(observation))
        steps, over = steps + 1, terminated or truncated
    assert steps > 200


def test_every_way_is_measured_for_every_policy_and_calls_for_the_rule_alone() -> None:
    names = [world.name for world in WORLDS]
    for _, policy, ways in cells(names, WAYS):
        assert ways[0] == BARE
        assert set(ways) == set(WAYS) - (set() if policy == "rule" else set(CALLS))


def test_a_short_run_measures_every_way_that_needs_nothing() -> None:
    rows = list(measure(["CartPole"], SHORT, 0.01))

    assert [row.reason for row in rows] == [""] * len(rows)
    assert {(row.policy, row.way) for row in rows} >= {("rule", way) for way in (BARE, *SHORT)}
    for row in rows:
        assert min(row.steps, row.speed, row.ratio, row.cpu_ratio, row.mib, row.start, row.minutes) > 0, row
    written = page([Row(**json.loads(json.dumps(asdict(row)))) for row in rows])
    assert written.count('<svg class="pr-plot"') == 2
    assert all(f"| {way} |" in written for way in SHORT)
    assert "- Ways that were left out of this run: SB3 evaluate_policy, 1;" in written


@pytest.mark.docker
@pytest.mark.usefixtures("docker")
def test_a_short_run_in_a_container() -> None:
    rows = list(measure(["CartPole"], ["docker, lock-step"], 0.01))

    assert [(row.way, row.reason) for row in rows] == [(BARE, ""), ("docker, lock-step", "")] * 2
    assert all(row.ratio > 0 and row.mib > 30 for row in rows)


def test_what_is_not_installed_is_named_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(World, "lack", lambda world: "mujoco")
    rows = list(measure(["HalfCheetah"], ["docker, lock-step"], 0.01))

    assert {row.reason for row in rows} == {"not measured: mujoco is not installed"}
    assert "- HalfCheetah, rule: mujoco is not installed" in page([MEASURED, *rows])


def test_a_way_that_fails_is_named_in_the_report() -> None:
    rows = list(measure(["CartPole"], ["process, backwards"], 0.01))

    assert [row.reason.partition(":")[0] for row in rows] == ["", "not measured"] * 2
    assert rows[1].reason.removeprefix(NOT_MEASURED) in page(rows)


def test_a_loaded_machine_is_said_on_the_page() -> None:
    assert "Other work ran beside it" not in page([MEASURED])
    assert "Other work ran beside it" in page([replace(MEASURED, load=1000.0)])
