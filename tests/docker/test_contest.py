"""Duels in the real containers: what each side used, what ended it, and that nothing is left behind."""

import time

import pytest

from evaluator.host.docker.engine import Engine
from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import ClockSettings, Task
from evaluator.model.records.duel_record import Duel, MatchEnd
from evaluator.model.records.stored_record import SandboxKind
from evaluator.model.records.verdict import Verdict
from tests.evaluations import FIRST_LEGAL, RANDOM_PLAYER, duelled
from tests.hostile.arena import our_containers

pytestmark = pytest.mark.docker
TASK = Task(id="connect_four", game="pettingzoo.classic.connect_four_v3", matches=6)
LIMITS = Limits(memory_mib=128, cpu_seconds=20, start_seconds=60, log_kib=16)

EATS = """
class Agent:
    memoryless = True
    def act(self, observation):
        kept = []
        while True:
            kept.append(bytearray(b"x") * (16 << 20))
"""
SPINS = """
class Agent:
    memoryless = True
    def act(self, observation):
        while True:
            pass
"""
FLOODS = """
class Agent:
    memoryless = True
    def act(self, observation):
        while True:
            print("flood" * 1000)
"""
LEAVES = """
import os

class Agent:
    def __init__(self):
        self.asked = 0
    def act(self, observation):
        self.asked += 1
        if self.asked == 2:
            print("good bye", flush=True)
            os._exit(3)
        return int(observation["action_mask"].argmax())
"""


def forfeited(duel: Duel, winner: int) -> bool:
    return {(m.end, m.winner, m.offenders) for m in duel.matches} == {(MatchEnd.FORFEIT, winner, (1 - winner,))}


def verified(duel: Duel, task: Task = TASK) -> bool:
    return verify_duel("d.json", duel.serialised(), open_game(task)).status is VerificationStatus.VERIFIED


def test_an_honest_duel_in_two_containers(docker: SelectedSandbox) -> None:
    duel = duelled(RANDOM_PLAYER, FIRST_LEGAL, TASK, docker)
    inside = duelled(RANDOM_PLAYER, FIRST_LEGAL, TASK)

    assert (duel.verdict, duel.sandbox, {match.end for match in duel.matches}) == (
        Verdict.OK, SandboxKind.DOCKER, {MatchEnd.PLAYED},
    )  # fmt: skip
    assert verified(duel)
    assert (duel.image_digest or "").startswith("sha256:")
    assert (duel.matches, duel.moves) == (inside.matches, inside.moves)
    for player in duel.players:
        assert 0.02 < (player.cost.cpu_seconds or 0) < 20
        assert (player.cost.peak_memory_bytes or 1 << 24) > 1 << 22


def test_a_player_that_eats_memory_is_out_of_it(docker: SelectedSandbox) -> None:
    duel = duelled(FIRST_LEGAL, EATS, TASK, docker, limits=LIMITS)

    assert [player.verdict for player in duel.players] == [Verdict.OK, Verdict.OUT_OF_MEMORY]
    assert forfeited(duel, 0)
    assert verified(duel)


def test_a_player_that_burns_processor_time_is_stopped(docker: SelectedSandbox) -> None:
    task = TASK.model_copy(update={"clock": ClockSettings(move_seconds=20, bank_seconds=60)})
    duel = duelled(SPINS, FIRST_LEGAL, task, docker, limits=LIMITS.model_copy(update={"cpu_seconds": 3}))

    assert [player.verdict for player in duel.players] == [Verdict.TIMEOUT, Verdict.OK]
    assert "processor seconds" in duel.players[0].message
    assert forfeited(duel, 1)
    assert verified(duel, task)


def test_a_stuck_player_is_late_in_its_matches_and_stopped(docker: SelectedSandbox) -> None:
    task = TASK.model_copy(update={"clock": ClockSettings(move_seconds=0.5, bank_seconds=0.5)})
    begun = time.monotonic()
    duel = duelled(SPINS, FIRST_LEGAL, task, docker, limits=LIMITS)

    assert {(match.winner, match.offenders) for match in duel.matches} == {(1, (0,))}
    assert MatchEnd.LATE in {match.end for match in duel.matches}
    assert duel.players[0].verdict is Verdict.TIMEOUT
    assert verified(duel, task)
    assert time.monotonic() - begun < 100


def test_a_player_that_floods_its_log_is_stopped_and_its_log_is_kept(docker: SelectedSandbox) -> None:
    duel = duelled(FLOODS, FIRST_LEGAL, TASK, docker, limits=LIMITS)

    assert [player.verdict for player in duel.players] == [Verdict.OUTPUT_LIMIT, Verdict.OK]
    assert "flood" in duel.players[0].log_tail
    assert len(duel.players[0].log_tail) <= 2000
    assert forfeited(duel, 1)


def test_a_player_that_leaves_forfeits_and_its_last_words_are_kept(docker: SelectedSandbox) -> None:
    duel = duelled(LEAVES, FIRST_LEGAL, TASK, docker, limits=LIMITS)

    assert duel.players[0].verdict is Verdict.CRASHED
    assert "exit code 3" in duel.players[0].message
    assert "good bye" in duel.players[0].log_tail
    assert {match.winner for match in duel.matches} == {1}
    assert verified(duel)


def test_nothing_is_left_behind(docker: SelectedSandbox, engine: Engine) -> None:
    duelled(LEAVES, "raise RuntimeError()\n", TASK, docker, limits=LIMITS)

    assert our_containers(engine) == []


def test_a_duel_under_gvisor(gvisor: SelectedSandbox) -> None:
    duel = duelled(RANDOM_PLAYER, FIRST_LEGAL, TASK, gvisor)

    assert (duel.verdict, duel.sandbox) == (Verdict.OK, SandboxKind.GVISOR)
    assert verified(duel)
