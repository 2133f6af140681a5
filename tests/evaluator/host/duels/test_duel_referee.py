"""A duel: who breaks a rule loses just that match, and who cannot go on loses the rest; clocks are in test_duel_clocks."""

from collections import Counter
from typing import Any

import pytest

from evaluator.host.duels.duel_referee import ConnectedPlayer, DuelSetup, DuelTally, play_duel
from evaluator.host.envs.pettingzoo_game import open_game, replay
from evaluator.host.errors import AgentFault
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import ParallelEpisodes, Task
from evaluator.model.records.duel_record import MatchEnd
from evaluator.model.records.verdict import Verdict
from tests.duels import RANDOM, TINY, ZERO, duelled, specs
from tests.evaluations import process

CONNECT_FOUR = "pettingzoo.classic.connect_four_v3"


def tiny(**changes: Any) -> Task:
    return Task(id="tiny", **{"game": TINY, "opening": 0, "matches": 12, **changes})


def ends(tally: DuelTally) -> Counter[tuple[MatchEnd, int | None, tuple[int, ...]]]:
    return Counter((match.end, match.winner, match.offenders) for match in tally.matches)


def verdicts(tally: DuelTally) -> tuple[Verdict | None, Verdict | None]:
    one, other = ((fault.verdict if fault else None) for fault in tally.faults)
    return one, other


@pytest.mark.parametrize("lanes", [1, 5, 16])
def test_every_match_replays_and_hangs_neither_on_lanes_nor_on_its_neighbours(lanes: int) -> None:
    task = Task(id="c4", game=CONNECT_FOUR, matches=20, lanes=ParallelEpisodes(shared=lanes, separate=lanes))

    tally = duelled((RANDOM, RANDOM), task, process())

    game = open_game(task)
    assert tally.faults == (None, None)
    for spec, match in zip(specs(game), tally.matches, strict=True):
        now = replay(game, spec.seed, match.moves, spec.index % 2)
        expected = spec.index, spec.opening, now.scores, now.checksum, True, len(match.moves)
        assert expected == (
            match.index, match.moves[:2], match.scores, match.checksum, now.over, len(match.milliseconds),
        )  # fmt: skip
        assert match.end is MatchEnd.PLAYED
        assert match.winner == (None if now.scores == (0, 0) else int(now.scores[1] > 0))
    reference = duelled(
        (RANDOM, RANDOM), task.model_copy(update={"lanes": ParallelEpisodes(shared=3, separate=3)}), process()
    )
    assert [match.moves for match in reference.matches] == [match.moves for match in tally.matches]
    own = sum(len(match.moves) for match in tally.matches) - 2 * len(tally.matches)
    assert sum(tally.moves) == own


def test_both_matches_of_a_pair_share_seed_and_opening_with_sides_swapped() -> None:
    first_mover = """
class Agent:
    memoryless = True
    def act(self, observation):
        return 2 if observation["observation"][0] == 0 else 1
"""
    tally = duelled((first_mover, ZERO), tiny(opening=2, matches=6), process())

    for even, odd in zip(tally.matches[::2], tally.matches[1::2], strict=True):
        assert even.moves[:2] == odd.moves[:2]
        # 6 plies, of which each side makes two after the opening: 2 each as the first, 1 each as the second.
        assert even.scores == (even.moves[0] + 4.0, even.moves[1])
        assert odd.scores == (odd.moves[1] + 2.0, odd.moves[0])


def test_an_illegal_move_loses_that_match_only_and_its_number_is_kept() -> None:
    source = """
class Agent:
    def __init__(self, seed):
        self.bad = seed % 3 == 0
    def act(self, observation):
        return 4 if self.bad and observation["observation"][1] >= 2 else 1
"""
    task = tiny()
    expected = [match.agent_seeds[0] % 3 == 0 for match in specs(open_game(task))]

    tally = duelled((source, ZERO), task, process())

    assert 0 < sum(expected) < 12
    assert expected == [match.end is MatchEnd.ILLEGAL for match in tally.matches]
    for match in tally.matches:
        if match.end is MatchEnd.ILLEGAL:
            plies = 2 + match.index % 2
            assert (match.winner, match.offenders, match.refused, len(match.moves)) == (1, (0,), 4, plies)
            legal = "0, 1, 2, 3" if plies % 2 == 0 else "0, 1, 2"
            assert match.message == f"ply {plies}: the move 4 is not legal here; legal: {legal}"
        else:
            assert (match.winner, match.end) == (0, MatchEnd.PLAYED)


def test_the_mask_is_the_law_also_inside_the_action_space() -> None:
    three = ZERO.replace("return 0", "return 3")

    tally = duelled((three, ZERO), tiny(), process())

    assert {(m.index % 2, m.end, m.refused) for m in tally.matches} == {(0, MatchEnd.PLAYED, None), (1, MatchEnd.ILLEGAL, 3)}


@pytest.mark.parametrize(
    "answer", ["None", "'x'", "2.5", "2**63", "2**53", "[1]", "__import__('numpy').float64(1)"], ids=lambda text: text[:8]
)
def test_what_is_no_integer_loses_that_match_only(answer: str) -> None:
    source = f"""
class Agent:
    def __init__(self, seed):
        self.bad = seed % 3 == 0
    def act(self, observation):
        return {answer} if self.bad else 1
"""
    task = tiny(matches=8)
    expected = [match.agent_seeds[1] % 3 == 0 for match in specs(open_game(task))]
    logs: list[str] = []

    tally = duelled((ZERO, source), task, process(), logs=logs)

    assert expected == [match.end is MatchEnd.MALFORMED for match in tally.matches]
    assert tally.faults == (None, None)
    assert {m.refused for m in tally.matches} == {None}
    assert answer == "2**53" or logs[1].count("a move is one integer") == sum(expected)


@pytest.mark.parametrize(
    ("answer", "bad_rows"),
    [
        ("[1] * len(o) + [1]", "all"),
        ("None", "all"),
        ("[1] * (len(o) - 1) + ['x']", "last"),
        ("np.full(len(o), 1.0)", "all"),
    ],
)
def test_a_batch_of_moves_is_judged_move_by_move(answer: str, bad_rows: str) -> None:
    source = f"""
import numpy as np
class Agent:
    def act_batch(self, observations):
        o = observations["action_mask"]
        return {answer}
"""
    tally = duelled((source, ZERO), tiny(matches=4), process())

    malformed = [match.end is MatchEnd.MALFORMED for match in tally.matches]
    assert all(malformed) if bad_rows == "all" else any(malformed)
    assert tally.faults == (None, None)
    assert all(match.winner == 1 for match, bad in zip(tally.matches, malformed, strict=True) if bad)


@pytest.mark.parametrize(
    ("act", "verdict", "words"),
    [
        ("raise ValueError('no idea')", Verdict.CRASHED, "act raised ValueError: no idea at agent.py"),
        ("import os; os._exit(3)", Verdict.CRASHED, "exit code 3"),
        ("print('x' * 400_000, flush=True); import time; time.sleep(9)", Verdict.OUTPUT_LIMIT, "printed more than"),
        ("import os; [send(fd) for fd in range(3, 20)]", Verdict.PROTOCOL_ERROR, "not a frame of this protocol"),
        ("import os; [os.close(fd) for fd in range(3, 20)]; import time; time.sleep(9)", Verdict.CRASHED, "closed its"),
    ],
    ids=["raises", "exits", "floods", "garbage", "hangs up"],
)
def test_who_cannot_go_on_forfeits_what_is_not_done(act: str, verdict: Verdict, words: str) -> None:
    source = f"""
import os
count = 0
def send(fd):
    try:
        os.write(fd, b"garbage!")
    except OSError:
        pass
class Agent:
    def __init__(self, seed):
        pass
    def act(self, observation):
        global count
        count += 1
        if count > 10:
            {act.replace("os.close(fd)", "close(fd)")}
        return 1
def close(fd):
    try:
        os.close(fd)
    except OSError:
        pass
"""
    task = tiny(lanes=ParallelEpisodes(shared=2, separate=2), matches=12)

    tally = duelled((ZERO, source), task, process())

    assert verdicts(tally) == (None, verdict)
    assert words in str(tally.faults[1])
    match_ends = [match.end for match in tally.matches]
    played = match_ends.count(MatchEnd.PLAYED)
    assert 2 <= played <= 4
    assert match_ends.count(MatchEnd.FORFEIT) == 12 - played
    assert {(m.winner, m.offenders) for m in tally.matches if m.end is MatchEnd.FORFEIT} == {(0, (1,))}
    assert {m.message for m in tally.matches if m.end is MatchEnd.FORFEIT} == {f"could not go on: {verdict}"}


def test_a_forfeited_match_keeps_its_opening_and_replays() -> None:
    task = tiny(opening=3)

    tally = duelled((ZERO, "class Agent:\n    def act(self, o):\n        raise ValueError\n"), task, process())

    game = open_game(task)
    for spec, match in zip(specs(game), tally.matches, strict=True):
        now = replay(game, spec.seed, match.moves, spec.index % 2)
        assert (match.moves[:3], match.milliseconds[:3], match.end) == (spec.opening, (0, 0, 0), MatchEnd.FORFEIT)
        assert (now.scores, now.checksum) == (match.scores, match.checksum)


BROKEN = "class Agent:\n    def act(self, observation:\n"


def test_who_is_not_ready_loses_every_match_and_never_draws() -> None:
    tally = duelled((BROKEN, ZERO), tiny(matches=4), process())

    assert verdicts(tally) == (Verdict.INVALID, None)
    assert ends(tally) == {(MatchEnd.FORFEIT, 1, (0,)): 4}


def test_where_neither_is_ready_nobody_wins() -> None:
    sleeper = "import time\ntime.sleep(60)\n" + ZERO

    tally = duelled((BROKEN, sleeper), tiny(matches=4), process(), Limits(start_seconds=8))

    assert verdicts(tally) == (Verdict.INVALID, Verdict.TIMEOUT)
    assert str(tally.faults[1]) == "the agent was not ready in time: its start may last 8 s"
    assert ends(tally) == {(MatchEnd.FORFEIT, None, (0, 1)): 4}


def test_a_side_whose_sandbox_could_not_be_opened_loses() -> None:
    game = open_game(tiny(matches=2))
    fault = AgentFault(Verdict.TIMEOUT, "the sandbox did not start within 60 s")
    seats = (ConnectedPlayer(fault=fault), ConnectedPlayer(fault=fault))

    tally = play_duel(DuelSetup(game=game, specs=specs(game), limits=Limits(), players=seats))

    assert tally.faults == (fault, fault)
    assert ends(tally) == {(MatchEnd.FORFEIT, None, (0, 1)): 2}


def test_who_fails_in_the_same_moment_fails_too() -> None:
    crash = "class Agent:\n    def act(self, o):\n        raise ValueError\n"

    tally = duelled((crash, crash), tiny(), process())

    assert verdicts(tally) == (Verdict.CRASHED, Verdict.CRASHED)
    assert ends(tally) == {(MatchEnd.FORFEIT, None, (0, 1)): 12}


def test_a_match_that_is_too_long_is_a_draw() -> None:
    tally = duelled((ZERO, ZERO), tiny(max_plies=5, matches=4), process())

    assert ends(tally) == {(MatchEnd.TOO_LONG, None, ()): 4}
    assert {len(match.moves) for match in tally.matches} == {5}


def test_a_game_where_one_side_moves_twice() -> None:
    task = tiny(kwargs={"pattern": "lrrl", "length": 8}, matches=6)
    one = ZERO.replace("return 0", "return 1")

    tally = duelled((one, ZERO), task, process())

    assert [match.moves for match in tally.matches[:2]] == [(1, 0, 0, 1, 1, 0, 0, 1), (0, 1, 1, 0, 0, 1, 1, 0)]
    assert {match.winner for match in tally.matches} == {0}


def test_a_game_without_a_mask_and_one_where_both_choose_at_once() -> None:
    unmasked = duelled((ZERO, ZERO.replace("0", "3")), tiny(kwargs={"masked": False, "cut": True}, matches=4), process())
    rock = ZERO
    paper = ZERO.replace("return 0", "return 1")
    rps = Task(id="rps", game="pettingzoo.classic.rps_v2", kwargs={"max_cycles": 5}, opening=0, matches=4)

    hands = duelled((rock, paper), rps, process())

    assert ends(unmasked) == {(MatchEnd.PLAYED, 1, ()): 4}
    assert {match.scores for match in hands.matches} == {(-5.0, 5.0)}
    assert {match.moves for match in hands.matches} == {(0, 1) * 5, (1, 0) * 5}


@pytest.mark.parametrize("memoryless", [True, False])
def test_a_player_that_wants_to_hears_how_its_matches_ended(memoryless: bool) -> None:
    source = f"""
class Agent:
    memoryless = {memoryless}
    def __init__(self, seed):
        self.moves = 0
    def act(self, observation):
        self.moves += 1
        return 1
    def end(self, observation, reward):
        print("over", observation["observation"].tolist(), reward, self.moves)
"""
    logs: list[str] = []
    task = tiny(matches=6, kwargs={"length": 4}, lanes=ParallelEpisodes(shared=2, separate=2))

    tally = duelled((source, ZERO), task, process(), logs=logs)

    assert tally.faults == (None, None)
    lines = [line for line in logs[0].splitlines() if line.startswith("over")]
    assert sorted(line[: line.index("]") + 5] for line in lines) == 3 * ["over [0, 4, 0] 2.0"] + 3 * ["over [1, 4, 1] 2.0"]
    assert memoryless or {line.split()[-1] for line in lines} == {"2"}


def test_an_end_that_fails_is_a_crash_where_matches_are_left() -> None:
    source = ZERO + "    def end(self, observation, reward):\n        raise KeyError('end')\n"

    tally = duelled((source, ZERO), tiny(lanes=ParallelEpisodes(shared=1, separate=1), matches=4), process())

    assert verdicts(tally) == (Verdict.CRASHED, None)
    assert "end raised KeyError" in str(tally.faults[0])
    assert [match.end for match in tally.matches] == [MatchEnd.PLAYED] + 3 * [MatchEnd.FORFEIT]


def test_a_game_that_fails_is_ours() -> None:
    with pytest.raises(RuntimeError, match="the board fell down"):
        duelled((ZERO, ZERO), tiny(game=f"{TINY}:Broken"), process())


def test_an_opening_that_ends_the_game_is_a_match() -> None:
    tally = duelled((ZERO, ZERO), tiny(opening=6, kwargs={"length": 4}, matches=4), process())

    assert {(match.end, len(match.moves)) for match in tally.matches} == {(MatchEnd.PLAYED, 4)}
    assert tally.moves == (0, 0)
