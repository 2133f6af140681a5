"""Two players in two containers: the same matches as in processes, and neither reaches the other."""

import pytest

from evaluator.host.docker.engine import Engine
from evaluator.host.envs.pettingzoo_game import open_game, replay
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import ClockSettings, ParallelEpisodes, Task
from evaluator.model.records.duel_record import MatchEnd
from evaluator.model.records.verdict import Verdict
from tests.duels import HALF_AN_ANSWER, RANDOM, TINY, ZERO, duelled, specs
from tests.evaluations import process
from tests.hostile.arena import our_containers

pytestmark = pytest.mark.docker
CONNECT_FOUR = Task(
    id="c4", game="pettingzoo.classic.connect_four_v3", matches=10, lanes=ParallelEpisodes(shared=4, separate=4)
)


def test_matches_in_containers_are_those_in_processes(either_channel: SelectedSandbox) -> None:
    tally = duelled((RANDOM, RANDOM), CONNECT_FOUR, either_channel)

    game = open_game(CONNECT_FOUR)
    assert tally.faults == (None, None)
    assert [m.moves for m in duelled((RANDOM, RANDOM), CONNECT_FOUR, process()).matches] == [m.moves for m in tally.matches]
    for spec, match in zip(specs(game), tally.matches, strict=True):
        assert replay(game, spec.seed, match.moves, spec.index % 2).checksum == match.checksum


def test_matches_in_gvisor_are_those_in_processes(gvisor: SelectedSandbox) -> None:
    tally = duelled((RANDOM, RANDOM), CONNECT_FOUR, gvisor)

    assert [m.moves for m in duelled((RANDOM, RANDOM), CONNECT_FOUR, process()).matches] == [m.moves for m in tally.matches]


def test_a_hung_player_loses_by_its_own_clock_and_half_an_answer_holds_nobody_up(either_channel: SelectedSandbox) -> None:
    task = Task(id="tiny", game=TINY, opening=0, matches=4, clock=ClockSettings(move_seconds=1, bank_seconds=1))

    tally = duelled((ZERO, HALF_AN_ANSWER), task, either_channel)

    assert tally.faults[0] is None
    assert tally.faults[1] is not None
    assert tally.faults[1].verdict is Verdict.TIMEOUT
    assert {(match.end, match.winner) for match in tally.matches} == {(MatchEnd.LATE, 0), (MatchEnd.FORFEIT, 0)}
    assert tally.thinking[0] < tally.thinking[1] / 2


@pytest.mark.parametrize(
    ("act", "verdict"),
    [
        ("hoard = bytearray(300 << 20); return 1", Verdict.OUT_OF_MEMORY),
        ("import os; os._exit(3)", Verdict.CRASHED),
        ("print('x' * 400_000, flush=True); import time; time.sleep(30)", Verdict.OUTPUT_LIMIT),
        ("while True: pass", Verdict.TIMEOUT),
    ],
    ids=["memory", "exit", "flood", "processor"],
)
def test_a_limit_that_bites_forfeits_the_rest(docker: SelectedSandbox, act: str, verdict: Verdict) -> None:
    limits = Limits(memory_mib=128, cpu_seconds=4)
    clock = ClockSettings(move_seconds=60, bank_seconds=60)
    task = Task(id="tiny", game=TINY, opening=0, matches=6, lanes=ParallelEpisodes(shared=2, separate=2), clock=clock)

    tally = duelled((ZERO.replace("return 0", act), ZERO), task, docker, limits)

    assert tally.faults[0] is not None
    assert tally.faults[0].verdict is verdict
    assert tally.faults[1] is None
    assert {(match.end, match.winner, match.offenders) for match in tally.matches} == {(MatchEnd.FORFEIT, 1, (0,))}


def test_neither_sees_nor_reaches_the_other(docker: SelectedSandbox) -> None:
    spy = """
import os, signal, socket
seen = [name for name in os.listdir("/proc") if name.isdigit()]
print("processes", len(seen), "sockets", os.listdir("/channel"), "mine", sorted(os.listdir("/submission")))
for number in range(2, 40):
    try:
        if number != os.getpid():
            os.kill(number, signal.SIGKILL)
            print("killed", number)
    except OSError:
        pass
try:
    socket.create_connection(("172.17.0.1", 80), 1)
    print("network")
except OSError:
    pass
class Agent:
    memoryless = True
    def act(self, observation):
        return 1
"""
    logs: list[str] = []
    task = Task(id="tiny", game=TINY, opening=0, matches=4)

    tally = duelled((spy, spy), task, docker, logs=logs)

    assert tally.faults == (None, None)
    assert {match.end for match in tally.matches} == {MatchEnd.PLAYED}
    for log in logs:
        assert "processes 2 sockets ['agent.sock'] mine ['agent.py']" in log
        assert "network" not in log
        assert "killed" not in log


def test_nothing_is_left_behind(docker: SelectedSandbox, engine: Engine) -> None:
    duelled((ZERO, ZERO), Task(id="tiny", game=TINY, opening=0, matches=2), docker)

    assert our_containers(engine) == []
