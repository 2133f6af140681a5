"""What happens beside evaluations on this machine."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from scripts.runs import local_evaluator
from scripts.runs.local_evaluator import RunOptions, evaluate_locally


@pytest.mark.parametrize(("count", "imported"), [(1, ["meanwhile"]), (2, [])])
def test_what_comes_later_is_imported_beside_a_single_evaluation_only(
    count: int, imported: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside several there are forks, in which a lock that an import held would never be released."""
    request = SimpleNamespace(gym_task=SimpleNamespace(task=SimpleNamespace(script=None)))
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
