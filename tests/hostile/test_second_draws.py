"""Agents that want to be played once more after they saw how their episodes begin.

An oracle tells each of them which attempt it is in, which is more than a clock or a full page cache ever could. The cheats
stall, burn or break things in the first attempt and play well in a second one, which therefore must not be.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evaluator.host.docker import agent_image
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.duels.evaluate_duel import evaluate_duel
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.errors import AgentFault
from evaluator.host.loading.submission_folder import read_folder
from evaluator.host.sandboxes.sandbox import Sandbox, SandboxSpec
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, select_sandbox
from evaluator.host.solo.evaluate_agent import Evaluation, EvaluationRequest, evaluate_agent
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.image_reference import ImageReference, parse_reference
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import Task
from evaluator.model.records.result import result_path
from evaluator.model.records.verdict import Verdict
from leaderboard.planning.missing_work import MeasurementContext, WorkItem, missing_work
from tests.evaluations import FIRST_LEGAL, RANDOM_PLAYER, duel_order
from tests.evaluator.script_runs import MANIFEST as SCRIPT_MANIFEST
from tests.hostile.arena import LIMITS, base, order, order_of, write_agent
from tests.leaderboard import make

ATTEMPT = """
import os, time

def attempt():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "attempt")) as file:
        return int(file.read())
"""
WELL = "return int(observation[2] + 0.02 * observation[3] > 0)"
SLEEPS = f"""{ATTEMPT}
class Agent:
    def __init__(self):
        self.seen = 0
    def act(self, observation):
        self.seen += 1
        if attempt() == 1 and self.seen > 5:
            time.sleep(1000)
        {WELL}
"""
SLEEPS_IN_EVERY_LANE = f"""{ATTEMPT}
class Agent:
    def act_batch(self, observations):
        if attempt() == 1:
            time.sleep(1000)
        return (observations[:, 2] > 0).astype(int)
"""
BURNS = f"""{ATTEMPT}
import threading

def burn():
    while True:
        pass

class Agent:
    def act(self, observation):
        if attempt() == 1:
            for _ in range(4):
                threading.Thread(target=burn, daemon=True).start()
            burn()
        {WELL}
"""
FILLS_THE_MEMORY = f"""{ATTEMPT}
class Agent:
    def act(self, observation):
        if attempt() == 1:
            held = bytearray(60 << 20)
            while True:
                held[::4096] = bytes(len(held[::4096]))
        {WELL}
"""
CHEATS = {
    "sleeps": SLEEPS,
    "sleeps in every lane": SLEEPS_IN_EVERY_LANE,
    "burns": BURNS,
    "fills its memory": FILLS_THE_MEMORY,
}
SLEEPS_AT_START = f"""{ATTEMPT}
if attempt() == 1:
    time.sleep(1000)

class Agent:
    def act(self, observation):
        {WELL}
"""
HONEST = f"""
class Agent:
    def act(self, observation):
        {WELL}
"""
PLAYS = """
over = False
while not over:
    _, _, terminated, truncated, _ = lake.step(2)
    over = terminated or truncated
print('{"score": 0}')
"""
STALLS = """
while attempt() == 1:
    pass
"""
BEGINS = """
import gymnasium

lake = gymnasium.make("lake")
"""
STALLING_SCRIPTS = {
    "after it saw a start": f"{ATTEMPT}{BEGINS}lake.reset(){STALLS}{PLAYS}",
    "after it learnt badly in a copy": f"{ATTEMPT}{BEGINS}{STALLS}lake.reset(){PLAYS}",
}
STALLING_PLAYER = FIRST_LEGAL.replace("        return", "        import time\n        time.sleep(1000)\n        return")
SHORT = {"cpu_seconds": 3, "answer_seconds": 1, "start_seconds": 60}


class Oracle:
    """A sandbox that tells its agent which attempt this is."""

    def __init__(self, chosen: SelectedSandbox, spoil: Callable[[Sandbox], None] = lambda sandbox: None) -> None:
        self.chosen, self.spoil, self.attempts = chosen, spoil, 0

    def __call__(self, cell: SandboxSpec) -> Sandbox:
        self.attempts += 1
        note = cell.folder / "attempt"
        note.write_text(str(self.attempts))
        note.chmod(0o644)
        sandbox = self.chosen.opener(cell)
        self.spoil(sandbox)
        return sandbox


@pytest.fixture(scope="module", params=["process", pytest.param("docker", marks=pytest.mark.docker)])
def chosen(request: pytest.FixtureRequest) -> SelectedSandbox:
    """Each sandbox; gVisor is Docker's with another runtime, and the rule does not look at either."""
    if request.param == "docker":
        request.getfixturevalue("engine")
    return select_sandbox(request.param, base() if request.param == "docker" else "", lambda line: None)


def play(wanted: EvaluationRequest, oracle: Oracle, progress: Callable[[int], None] = lambda done: None) -> Evaluation:
    return evaluate_agent(wanted, oracle.chosen.kind, oracle, lambda: datetime.now(UTC), progress)


@pytest.mark.parametrize("source", CHEATS.values(), ids=CHEATS)
def test_who_stalls_after_it_saw_an_observation_is_not_played_again(
    source: str, chosen: SelectedSandbox, tmp_path: Path
) -> None:
    oracle = Oracle(chosen)

    result = play(order_of(write_agent(tmp_path / "a", source), limits=SHORT), oracle).result

    assert (result.verdict, oracle.attempts) == (Verdict.TIMEOUT, 1), result.message
    assert (result.returns, result.first_attempt) == ((), None)


@pytest.mark.attack(
    "script_that_learns_in_a_copy_until_it_is_lucky", family="cheating", outcome="timeout: its start is over when it runs",
    tries="Learns in a copy of the environment, stalls before its first episode if it learnt badly, and learns once more.",
)  # fmt: skip
@pytest.mark.parametrize("source", STALLING_SCRIPTS.values(), ids=STALLING_SCRIPTS)
def test_a_script_that_stalls_is_not_run_again(source: str, chosen: SelectedSandbox, tmp_path: Path) -> None:
    folder = write_agent(tmp_path / "a", "", SCRIPT_MANIFEST.decode())
    (folder / "submission.py").write_text(source)
    task = Task.model_validate(
        {"id": "lake", "env": "FrozenLake-v1", "reusable": True, "script": {"steps": 2000, "last": 10, "worst": -1}}
    )
    wanted = order(read_folder(folder, SubmissionLimits()), load_gym_task(task), Limits(**{**LIMITS, **SHORT}))  # type: ignore[arg-type]
    oracle = Oracle(chosen)

    result = play(wanted, oracle).result

    assert (result.verdict, oracle.attempts, result.first_attempt) == (Verdict.TIMEOUT, 1, None), result.message


@pytest.mark.attack(
    "slow_registry_that_holds_up_the_next_image", family="images", outcome="nobody waits for another's registry",
    tries="Lets some images come slowly, so that one behind them is cut off by the end of its job, and played again.",
)  # fmt: skip
def test_no_image_waits_for_the_registry_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a job may begin is reckoned with one image's time, not with that of all which are fetched beside it."""
    slow, quick = (parse_reference(f"registry.example/mallory/{name}@sha256:{name[0] * 64}") for name in ("a", "b"))
    begun, may_end = Event(), Event()

    def registry(reference: ImageReference, seconds: float) -> None:
        if reference == slow:
            begun.set()
            may_end.wait(60)
        raise AgentFault(Verdict.INVALID, "there is no such image")

    monkeypatch.setattr(agent_image, "Registry", registry)
    engine = SimpleNamespace(image_id=lambda name: None, platform="linux/amd64")

    def fetch(reference: ImageReference) -> None:
        with pytest.raises(AgentFault, match="no such image"):
            agent_image.ensure_agent_image(cast("Engine", engine), reference, 64, wait=lambda: None)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(fetch, slow)
        try:
            assert begun.wait(60)
            pool.submit(fetch, quick).result(timeout=20)
        finally:
            may_end.set()
        first.result(timeout=60)


def test_who_was_shown_nothing_is_tried_once_more_and_both_attempts_are_recorded(
    chosen: SelectedSandbox, tmp_path: Path
) -> None:
    oracle = Oracle(chosen)
    wanted = order_of(write_agent(tmp_path / "a", SLEEPS_AT_START), limits={"start_seconds": 8})

    evaluation = play(wanted, oracle)

    result = evaluation.result
    assert (result.verdict, oracle.attempts) == (Verdict.OK, 2), result.message
    assert result.first_attempt is not None
    assert (result.first_attempt.verdict, result.first_attempt.message) == (
        Verdict.TIMEOUT, "the agent was not ready in time: its start may last 8 s",
    )  # fmt: skip
    assert 8 <= result.first_attempt.wall_seconds < 60
    assert result.returns == play(wanted, Oracle(chosen)).result.returns
    finding = verify_result("it", result.serialised(), evaluation.trace, wanted.gym_task)
    assert (finding.status, finding.faults) == (VerificationStatus.VERIFIED, ())


def test_a_failure_of_ours_in_the_middle_is_not_played_again_at_once(chosen: SelectedSandbox, tmp_path: Path) -> None:
    """Who finds a way to make the evaluator fail has seen as much as who stalls."""

    def stumble(done: int) -> None:
        raise ZeroDivisionError("the referee stumbles")

    oracle = Oracle(chosen)

    result = play(order_of(write_agent(tmp_path / "a", HONEST)), oracle, stumble).result

    assert (result.verdict, oracle.attempts, result.first_attempt) == (Verdict.INTERNAL_ERROR, 1, None)


class Weary:
    """An engine that does what it is asked, and says of one thing that it could not."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine, self.name = engine, name

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.engine, name)

        def fail(*arguments: Any) -> None:
            real(*arguments)
            raise EngineError("could not remove the sandbox: tried to kill it, and it did not end")

        return fail if name == self.name else real


@pytest.mark.docker
@pytest.mark.parametrize("name", ["remove", "usage"])
@pytest.mark.parametrize(("source", "verdict"), [(HONEST, Verdict.OK), (SLEEPS, Verdict.TIMEOUT)], ids=["ok", "timeout"])
def test_who_cannot_be_measured_or_removed_keeps_its_verdict(
    name: str, source: str, verdict: Verdict, docker: SelectedSandbox, tmp_path: Path
) -> None:
    """A sandbox that makes the engine's clean-up fail would have its bad episodes forgotten."""

    def spoil(sandbox: Any) -> None:
        sandbox._engine = Weary(sandbox._engine, name)

    oracle = Oracle(docker, spoil)

    result = play(order_of(write_agent(tmp_path / "a", source), limits=SHORT), oracle).result

    assert (result.verdict, oracle.attempts) == (verdict, 1), result.message


def test_a_player_that_stalls_loses_and_gets_no_new_duel(chosen: SelectedSandbox) -> None:
    task = Task.model_validate({
        "id": "tictactoe", "game": "pettingzoo.classic.tictactoe_v3", "matches": 4,
        "clock": {"move_seconds": 0.5, "bank_seconds": 0},
    })  # fmt: skip
    oracle = Oracle(chosen)

    duel = evaluate_duel(
        duel_order(STALLING_PLAYER, RANDOM_PLAYER, task), chosen.kind, oracle, lambda: datetime.now(UTC), lambda done: None
    )

    assert (duel.verdict, duel.players[0].verdict, oracle.attempts) == (Verdict.OK, Verdict.TIMEOUT, 2)
    assert {match.winner for match in duel.matches} == {1}
    assert duel.first_attempt is None


def test_a_duel_that_fails_after_a_position_was_shown_is_not_held_again_at_once(chosen: SelectedSandbox) -> None:
    def stumble(done: int) -> None:
        raise ZeroDivisionError("the referee stumbles")

    task = Task.model_validate({"id": "tictactoe", "game": "pettingzoo.classic.tictactoe_v3", "matches": 4})
    oracle = Oracle(chosen)

    duel = evaluate_duel(
        duel_order(FIRST_LEGAL, RANDOM_PLAYER, task), chosen.kind, oracle, lambda: datetime.now(UTC), stumble
    )

    assert (duel.verdict, oracle.attempts, duel.first_attempt) == (Verdict.INTERNAL_ERROR, 2, None)


@pytest.mark.attack(
    "two_versions_of_one_file", family="cheating", outcome="the second one is not evaluated",
    tries="Looks, in a sealed season, whose beacon is known, for two versions whose results have one name: the second one's "
    "is never kept, so that each round plays it and no quota counts it.",
)  # fmt: skip
def test_a_version_whose_results_file_is_anothers_is_not_played_in_each_round() -> None:
    """Sixteen million tries find two. What each round's job told by its length of the secret episodes was without limit."""
    task, where = make.task(), MeasurementContext(runtime_digest="0" * 64, beacon=f"sealed-{'0' * 64}")
    first, second = make.entry("alice", version="1"), make.entry("alice", version="2")
    (item,) = missing_work(make.challenge(task), [second], [], where, [])
    key = item.wanted.key()

    recorded = make.result(first, [1.0], on=task, beacon=where.beacon, key=key[:12] + "0" * 52)

    assert recorded.path() == result_path(task.id, "alice", "agent", key)
    assert missing_work(make.challenge(task), [second], [recorded], where, []) == []


@pytest.mark.attack(
    "two_versions_of_one_file_in_two_folders", family="cheating", outcome="the second one is not evaluated",
    tries="Moves the first of two versions whose results have one name to another folder, and puts the second in its place.",
)  # fmt: skip
@pytest.mark.parametrize("tries", [1, 3])
def test_a_version_whose_results_file_is_that_of_one_in_another_folder_is_not_played(tries: int) -> None:
    """Its file stays where it was recorded, as do those of tries that failed."""
    task, where = make.task(), MeasurementContext(runtime_digest="0" * 64, beacon=f"sealed-{'0' * 64}")
    first, second = make.entry("alice", version="1"), make.entry("alice", version="2")
    (item,) = missing_work(make.challenge(task), [second], [], where, [])
    fields = {"verdict": "internal_error"} if tries > 1 else {}
    key, returns = item.wanted.key()[:12] + "0" * 52, [1.0] if tries == 1 else []
    recorded = [make.result(first, returns, on=task, beacon=where.beacon, key=key, **fields) for _ in range(tries)]

    wanted = missing_work(make.challenge(task), [replace(first, agent="moved"), second], recorded, where, [])

    assert "alice/agent" not in [one.entry.shown for one in wanted if isinstance(one, WorkItem)]
