"""What happens beside evaluations on this machine."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.model.config.challenge import Task
from scripts.runs import local_evaluator
from scripts.runs.local_evaluator import RunOptions, evaluate_locally


@pytest.mark.parametrize(("count", "imported"), [(1, ["meanwhile"]), (2, [])])
def test_what_comes_later_is_imported_beside_a_single_evaluation_only(
    count: int, imported: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside several there are forks, in which a lock that an import held would never be released."""
    request = SimpleNamespace(gym_task=SimpleNamespace(task=Task(id="CartPole-v1"), time_limit=500))
    evaluator: Any = SimpleNamespace(request=lambda entry, task: request, job=lambda one: one)
    threads: list[str] = []
    done = threading.Event()

    def meanwhile() -> None:
        threads.append(threading.current_thread().name)
        done.set()

    def play(jobs: list[Any], at_once: int | None, *, quiet: bool) -> Any:
        assert done.wait(10) or count > 1
        yield from ((index, ("result", None)) for index, _ in enumerate(jobs))

    monkeypatch.setattr(local_evaluator, "run_jobs", play)
    monkeypatch.setattr(done, "wait", done.wait if count == 1 else lambda seconds: False)
    wanted: list[Any] = [("agent", "task")] * count
    options = RunOptions(store=None, quiet=True, meanwhile=meanwhile)

    assert [value for value, _ in evaluate_locally(evaluator, wanted, options)] == ["result"] * count
    assert threads == imported


def test_what_may_take_the_longest_is_played_first(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"short": (100, 100), "endless": (1, None), "long": (40, 1600), "taught": (10, 100)}
    requests = {
        name: SimpleNamespace(
            gym_task=SimpleNamespace(
                task=SimpleNamespace(id=name, counted=count, script="rules" if name == "taught" else None), time_limit=limit
            )
        )
        for name, (count, limit) in limits.items()
    }
    evaluator: Any = SimpleNamespace(request=lambda entry, task: requests[task], job=lambda one: one)

    def play(jobs: list[Any], at_once: int | None, *, quiet: bool) -> Any:
        yield from ((index, (job.gym_task.task.id, None)) for index, job in enumerate(jobs))

    monkeypatch.setattr(local_evaluator, "run_jobs", play)
    wanted: list[Any] = [("agent", name) for name in limits]

    played = [name for name, _ in evaluate_locally(evaluator, wanted, RunOptions(store=None, quiet=True))]
    assert played == ["taught", "endless", "long", "short"]
