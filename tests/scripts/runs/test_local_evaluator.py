"""What happens beside evaluations on this machine."""

import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.host.loading import submission_folder
from evaluator.model.config.task import Task
from leaderboard.core.store import ResultStore
from scripts.repository.checkout import Checkout
from scripts.runs import local_evaluator
from scripts.runs.local_evaluator import RunOptions, evaluate_locally, open_evaluator
from scripts.runs.play_duels import DuelRunner, play_missing_duels, play_tournament
from tests.scripts.checkouts import LEGAL, game_board, submit
from tests.weights_server import gives, serving, weights


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


def test_a_corrected_address_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no part of the version, so what the wrong one gave lies under the same name."""
    content, folder = b"12", tmp_path / "submissions/ada/net"
    folder.mkdir(parents=True)
    (tmp_path / "challenge.yml").write_text("title: B\nseason: '1'\ntasks: [{id: CartPole-v1, episodes: 10}]\n")
    (folder / "agent.py").write_text("class Agent:\n    def act(self, observation):\n        return 0\n")
    options = RunOptions(store=ResultStore(results=tmp_path / "results", traces=tmp_path / "traces"), quiet=True)
    ended = []
    with serving(tmp_path) as server:
        server.pages |= {"/wrong": gives(b"21"), "/right": gives(content)}
        store = partial(server.store, tmp_path / "store")
        monkeypatch.setattr(submission_folder, "WeightsCache", store)
        for path in ("/wrong", "/right", "/right"):
            file = weights(content, path).model_dump_json()
            (folder / "submission.yml").write_text(f"name: Net\nalgorithm: x\nweights: [{file}]\n")
            checkout = Checkout(tmp_path)
            pair = (checkout.find(folder), checkout.challenge.tasks[0])
            [(result, is_new)] = evaluate_locally(open_evaluator(checkout, "process"), [pair], options)
            ended.append((str(result.verdict), is_new))

    assert ended == [("invalid", True), ("ok", True), ("ok", False)]


@pytest.mark.parametrize("is_tournament", [False, True])
def test_a_corrected_address_is_asked_for_duels(
    is_tournament: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board, content, ended = game_board(tmp_path), b"12", []
    folder = board / submit(board, "net", LEGAL + "# with a net\n")
    options = RunOptions(store=Checkout(board).store, quiet=True)
    with serving(tmp_path) as server:
        server.pages |= {"/wrong": gives(b"21"), "/right": gives(content)}
        monkeypatch.setattr(submission_folder, "WeightsCache", partial(server.store, tmp_path / "store"))
        for path in ("/wrong", "/wrong", "/right", "/right"):
            file = weights(content, path).model_dump_json()
            (folder / "submission.yml").write_text(f"name: Net\nalgorithm: x\ntasks: [tictactoe]\nweights: [{file}]\n")
            checkout = Checkout(board)
            [task] = checkout.tasks(["tictactoe"])
            runner, player = DuelRunner(evaluator=open_evaluator(checkout, "process")), checkout.find(folder)
            played = (
                [(duel, True) for duel in play_tournament(runner, [player], [task], quiet=True).played]
                if is_tournament
                else play_missing_duels(runner, [runner.request(player, player, task)], options)
            )
            ended.append([(str(duel.players[0].verdict), is_new) for duel, is_new in played])

    asked = [[("invalid", True)]] * 2 + [[("ok", True)]]
    assert ended == [*asked, [] if is_tournament else [("ok", False)]]
