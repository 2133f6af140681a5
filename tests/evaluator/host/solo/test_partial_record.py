"""Evaluations that are interrupted and go on: in the process sandbox, which holds real agents."""

import json
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.progress import PlayProgress
from evaluator.host.sandboxes.process_sandbox import ProcessSandbox
from evaluator.host.sandboxes.resource_watchdog import ResourceWatchdog
from evaluator.host.sandboxes.sandbox import SandboxSpec
from evaluator.host.solo import evaluate_agent as module
from evaluator.host.solo import referee
from evaluator.host.solo.evaluate_agent import Evaluation, EvaluationRequest, evaluate_agent
from evaluator.host.solo.partial_record import MAX_CONTINUATIONS, PartialFolder
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.usage import Usage
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from evaluator.model.records.parse import parse_result
from evaluator.model.records.verdict import Verdict
from tests.evaluations import ANGLE_RULE, folder, order, process

CARTPOLE = Task.model_validate({"id": "CartPole-v1", "episodes": 12, "lanes": {"shared": 3, "separate": 3}})
PENDULUM = Task.model_validate({"id": "Pendulum-v1", "episodes": 6, "max_episode_steps": 20, "lanes": {"separate": 2}})
LAKE = Task.model_validate({"id": "lake", "env": "FrozenLake-v1", "episodes": 12, "lanes": {"separate": 3}})
TWICE_TOO_FAR = """
import numpy
class Agent:
    def __init__(self):
        self.steps = 0
    def act(self, observation):
        self.steps += 1
        return numpy.array([4.0 if self.steps % 3 else 0.5], numpy.float32)
"""
SEEDED = """
import numpy
class Agent:
    def __init__(self, seed):
        self.generator = numpy.random.default_rng(seed)
    def act(self, observation):
        return int(self.generator.integers(4))
"""
BURNS = """
import time
class Agent:
    memoryless = True
    def act(self, observation):
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass
        return int(observation[2] + observation[3] > 0)
"""


class Interrupted(KeyboardInterrupt):
    """The person at the keyboard, or the machine's end."""


def stop_after(episodes: int) -> Callable[[PlayProgress], None]:
    def report(progress: PlayProgress) -> None:
        if progress.done >= episodes:
            raise Interrupted

    return report


def played(wanted: EvaluationRequest, partials: PartialFolder | None, stop: int | None = None) -> Evaluation:
    box = process()
    report = stop_after(stop) if stop is not None else lambda done: None
    return evaluate_agent(wanted, box.kind, box.opener, lambda: datetime(2026, 1, 2, tzinfo=UTC), report, partials)


def interrupted(wanted: EvaluationRequest, partials: PartialFolder, after: int) -> None:
    with pytest.raises(Interrupted):
        played(wanted, partials, after)


def kept(partials: PartialFolder) -> list[dict[str, Any]]:
    """The lines about episodes in the only record."""
    (path,) = partials.folder.iterdir()
    return [line for raw in path.read_text().splitlines() if "episode" in (line := json.loads(raw))]


@pytest.fixture
def partials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PartialFolder:
    """A folder to which every episode is written as it ends. Each end is reported, so that a test can interrupt there."""
    monkeypatch.setattr(referee, "REPORT_SECONDS", 0.0)
    return PartialFolder(folder=tmp_path / "partial", keep_seconds=0)


@pytest.mark.parametrize(
    ("source", "task"), [(ANGLE_RULE, CARTPOLE), (TWICE_TOO_FAR, PENDULUM), (SEEDED, LAKE)], ids=["shared", "clipped", "own"]
)
def test_an_interrupted_evaluation_ends_as_if_nothing_had_been(source: str, task: Task, partials: PartialFolder) -> None:
    wanted = order(folder(source), task)
    whole = played(wanted, None)
    interrupted(wanted, partials, 2)
    before = kept(partials)

    again = played(wanted, partials)

    assert whole.result.verdict is Verdict.OK, whole.result.message
    same = ("returns", "lengths", "seeds", "metrics", "trace_sha256", "key")
    assert [getattr(again.result, name) for name in same] == [getattr(whole.result, name) for name in same]
    assert again.trace == whole.trace
    assert again.result.continued_after == (len(before),)
    assert len(before) >= 2
    assert [again.result.returns[line["episode"]] for line in before] == [line["total"] for line in before]
    assert (
        verify_result("it", again.result.serialised(), again.trace, load_gym_task(task)).status
        is VerificationStatus.VERIFIED
    )
    assert not list(partials.folder.iterdir())


def test_recorded_episodes_are_not_shown_to_the_agent_again(partials: PartialFolder) -> None:
    wanted = order(folder(ANGLE_RULE), CARTPOLE)
    interrupted(wanted, partials, 5)
    recorded = len(kept(partials))
    steps = []
    box = process()

    result = evaluate_agent(
        wanted, box.kind, box.opener, lambda: datetime(2026, 1, 2, tzinfo=UTC),
        lambda progress: steps.append((progress.done, progress.steps)), partials,
    ).result  # fmt: skip

    assert steps[0][0] >= recorded
    assert steps[-1][1] == sum(result.lengths)


def test_each_continuation_is_counted(partials: PartialFolder) -> None:
    wanted = order(folder(ANGLE_RULE), CARTPOLE)
    interrupted(wanted, partials, 2)
    first = len(kept(partials))
    interrupted(wanted, partials, first + 2)
    second = len(kept(partials))

    assert played(wanted, partials).result.continued_after == (first, second)


def test_a_failure_of_ours_interrupts_and_every_other_verdict_ends(partials: PartialFolder) -> None:
    wanted = order(folder(ANGLE_RULE), CARTPOLE)
    box = process()

    def fails(progress: PlayProgress) -> None:
        if progress.done >= 2:
            raise RuntimeError("the engine is gone")

    failed = evaluate_agent(wanted, box.kind, box.opener, lambda: datetime(2026, 1, 2, tzinfo=UTC), fails, partials).result
    before = len(kept(partials))
    again = played(wanted, partials).result

    assert failed.verdict is Verdict.INTERNAL_ERROR
    assert (again.verdict, again.continued_after) == (Verdict.OK, (before,))
    assert not list(partials.folder.iterdir())


def test_a_result_that_was_never_interrupted_says_nothing_of_it(partials: PartialFolder) -> None:
    result = played(order(folder(ANGLE_RULE), CARTPOLE), partials).result

    assert result.continued_after is None
    assert "continued_after" not in result.document()
    assert not list(partials.folder.iterdir())


def test_a_short_evaluation_never_touches_the_disk(tmp_path: Path) -> None:
    ticks = iter(range(100000))
    partials = PartialFolder(folder=tmp_path, clock=lambda: next(ticks) / 1000)
    wanted = order(folder(ANGLE_RULE), CARTPOLE)
    seen: list[int] = []
    box = process()

    def look(progress: PlayProgress) -> None:
        seen.append(len(kept(partials)))

    evaluate_agent(wanted, box.kind, box.opener, lambda: datetime(2026, 1, 2, tzinfo=UTC), look, partials)

    assert set(seen) == {0}


def test_a_line_that_the_interruption_cut_is_played_again(partials: PartialFolder) -> None:
    wanted = order(folder(ANGLE_RULE), CARTPOLE)
    interrupted(wanted, partials, 4)
    (path,) = partials.folder.iterdir()
    whole, recorded = path.read_bytes(), len(kept(partials))
    path.write_bytes(whole[:-20])

    result = played(wanted, partials).result

    assert (result.verdict, result.continued_after) == (Verdict.OK, (recorded - 1,))


def test_processor_time_of_all_attempts_counts_together(partials: PartialFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task.model_validate({**CARTPOLE.model_dump(mode="json", exclude_defaults=True), "max_episode_steps": 15})
    wanted = order(folder(BURNS), task)
    interrupted(wanted, partials, 6)
    used = kept(partials)[-1]["cpu_seconds"]
    charged: list[float] = []
    charge = ProcessSandbox.charge

    def note(sandbox: ProcessSandbox, cpu_seconds: float, wall_seconds: float) -> None:
        charged.append(cpu_seconds)
        charge(sandbox, cpu_seconds, wall_seconds)

    monkeypatch.setattr(ProcessSandbox, "charge", note)
    interrupted(wanted, partials, 9)
    later = kept(partials)[-1]["cpu_seconds"]
    result = played(wanted, partials).result

    assert 0 < used < later
    assert charged == [used, later]
    assert (result.cost.cpu_seconds or 0) > later


@pytest.mark.parametrize(
    ("cpu", "wall", "reason"), [(7.9, 0.0, "processor seconds"), (0.0, 79.99, "took more than 80 s"), (0, 0, None)]
)
def test_the_watchdog_counts_what_was_charged(cpu: float, wall: float, reason: str | None) -> None:
    stopped = threading.Event()
    watch = ResourceWatchdog(Limits(cpu_seconds=8), lambda: Usage(cpu_seconds=0.2), stopped.set)
    watch.charge(cpu, wall)
    watch.start()
    assert stopped.wait(0.5 if reason is None else 20) == (reason is not None)
    watch.finish()
    assert reason is None or reason in (watch.reason or "")


def test_the_oldest_records_are_removed(partials: PartialFolder) -> None:
    partials.folder.mkdir(parents=True)
    old = partials.folder / ("0" * 64)
    old.write_text("")
    os.utime(old, (0, 0))

    played(order(folder(ANGLE_RULE), CARTPOLE), partials)

    assert not old.exists()


def test_two_processes_do_not_write_one_record(partials: PartialFolder) -> None:
    wanted = order(folder(ANGLE_RULE), CARTPOLE)
    box = process()
    sandbox = box.opener(SandboxSpec(folder=partials.folder.parent, entry="agent.py", limits=Limits()))
    try:
        begins = module._belongs_to(wanted, sandbox)
    finally:
        sandbox.close()

    with partials.opened(begins, 12) as held:
        assert held is not None
        result = played(wanted, partials).result

    assert result.verdict is Verdict.OK


def test_an_old_result_reads_as_before_and_a_continued_one_is_checked() -> None:
    result = played(order(folder(ANGLE_RULE), CARTPOLE), None).result
    document = {**result.document(), "continued_after": [3, 2]}

    with pytest.raises(ValueError, match="ever more"):
        parse_result(json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n")


def test_it_is_continued_so_often_and_no_more(partials: PartialFolder) -> None:
    wanted = order(folder(ANGLE_RULE), CARTPOLE)
    interrupted(wanted, partials, 1)
    for _ in range(MAX_CONTINUATIONS):
        interrupted(wanted, partials, 0)

    result = played(wanted, partials).result

    assert result.verdict is Verdict.INTERNAL_ERROR
    assert f"was continued {MAX_CONTINUATIONS} times already" in result.message
