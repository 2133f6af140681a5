"""The clocks of a duel, with real players: who is late pays with its own time, and nobody else does."""

import time

import pytest

from evaluator.model.config.limits import Limits
from evaluator.model.config.task import ClockSettings, ParallelEpisodes
from evaluator.model.records.duel_record import MatchEnd
from evaluator.model.records.verdict import Verdict
from tests.duels import HALF_AN_ANSWER, ZERO, duelled
from tests.evaluations import process
from tests.evaluator.host.duels.test_duel_referee import ends, tiny, verdicts

HANG = """
import time
class Agent:
    memoryless = True
    def act(self, observation):
        if observation["observation"][1] >= 2:
            time.sleep(600)
        return 1
"""


def test_a_hung_player_is_killed_when_its_bank_is_used_up_and_the_others_clock_is_untouched() -> None:
    task = tiny(matches=8, clock=ClockSettings(move_seconds=0.1, bank_seconds=0.2))
    begun = time.monotonic()

    tally = duelled((HANG, ZERO), task, process())

    assert time.monotonic() - begun < 60
    assert verdicts(tally) == (Verdict.TIMEOUT, None)
    assert "stuck" in str(tally.faults[0])
    # Four positions in the frame: 4 × (0.1 + 0.2) seconds.
    assert 1.2 <= tally.thinking[0] < 30
    assert tally.thinking[1] < 1.2
    assert ends(tally) == {(MatchEnd.LATE, 1, (0,)): 4, (MatchEnd.FORFEIT, 1, (0,)): 4}
    assert max(ms for match in tally.matches for ms in match.milliseconds) < 300


def test_half_an_answer_holds_nobody_up() -> None:
    task = tiny(matches=4, clock=ClockSettings(move_seconds=0.5, bank_seconds=0.5))

    tally = duelled((HALF_AN_ANSWER, ZERO), task, process())

    assert verdicts(tally) == (Verdict.TIMEOUT, None)
    assert tally.thinking[1] < tally.thinking[0] / 2
    assert all(match.winner == 1 for match in tally.matches)


def test_a_frames_time_is_shared_by_its_positions() -> None:
    source = """
import time
class Agent:
    def act_batch(self, observations):
        time.sleep(0.3)
        return [1] * len(observations["action_mask"])
"""
    # Twelve positions in the frame: 2.4 seconds.
    task = tiny(
        matches=24, clock=ClockSettings(move_seconds=0.2, bank_seconds=0), lanes=ParallelEpisodes(shared=24, separate=24)
    )

    tally = duelled((source, ZERO), task, process())

    assert ends(tally) == {(MatchEnd.PLAYED, 0, ()): 24}
    own = [ms for match in tally.matches for ms in match.milliseconds[match.index % 2 :: 2]]
    other = [ms for match in tally.matches for ms in match.milliseconds[1 - match.index % 2 :: 2]]
    assert min(own) >= 20
    assert sorted(other)[len(other) // 2] < min(own)


def test_overage_comes_out_of_the_matchs_own_bank() -> None:
    source = ZERO.replace("return 0", "import time; time.sleep(0.4); return 1")
    task = tiny(matches=2, kwargs={"length": 20}, clock=ClockSettings(move_seconds=0.2, bank_seconds=0.9))
    task = task.model_copy(update={"lanes": ParallelEpisodes(shared=1, separate=1)})

    tally = duelled((source, ZERO), task, process())

    # Each of its moves costs 0.2 s of the bank: the fifth one comes too late, an earlier one where the machine is busy.
    # Whether the referee stopped waiting or was itself late to look decides how the other match ends.
    assert tally.matches[0].end is MatchEnd.LATE
    assert tally.matches[1].end in (MatchEnd.LATE, MatchEnd.FORFEIT)
    assert 2 <= len(tally.matches[0].moves) <= 8
    assert verdicts(tally)[1] is None


class Hasty(Limits):
    """So little wall time that a test can wait for it."""

    @property
    def wall_seconds(self) -> float:
        return 2


@pytest.mark.parametrize("seconds", [0.3, 600], ids=["bit by bit", "at once"])
def test_all_thinking_of_a_player_has_a_limit(seconds: float) -> None:
    source = ZERO.replace("return 0", f"import time; time.sleep({seconds}); return 1")
    begun = time.monotonic()

    tally = duelled((source, ZERO), tiny(matches=2, kwargs={"length": 40}), process(), Hasty())

    assert time.monotonic() - begun < 60
    assert verdicts(tally) == (Verdict.TIMEOUT, None)
    assert str(tally.faults[0]) == "the player was thinking for more than 2 seconds in all"
    assert {(match.end, match.winner) for match in tally.matches} == {(MatchEnd.FORFEIT, 1)}
