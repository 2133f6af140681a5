"""Playing again accuses nobody of what the machine decides, and finds what no player would have done."""

from dataclasses import dataclass

from evaluator.model.challenge import Lanes, Task
from evaluator.model.duel import Duel
from scripts.rerunning import _other_matches
from tests.rooms import FIRST_LEGAL, RANDOM_PLAYER, duelled

TASK = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", matches=6, opening=0)
ONE_GENERATOR = """
import numpy

class Agent:
    memoryless = True
    def __init__(self):
        self.generator = numpy.random.default_rng(1)
    def act(self, observation):
        return int(self.generator.choice(numpy.flatnonzero(observation["action_mask"])))
"""


@dataclass
class Replayer:
    """Holds the duel of two players as often as it is asked, with the lanes that it is asked for."""

    one: str
    other: str

    def __post_init__(self) -> None:
        self.lanes: list[int] = []

    def __call__(self, task: Task) -> Duel:
        self.lanes.append(task.lanes.shared)
        return duelled(self.one, self.other, task)


def test_the_same_matches_need_one_more_duel() -> None:
    recorded = duelled(RANDOM_PLAYER, FIRST_LEGAL, TASK)
    replayer = Replayer(RANDOM_PLAYER, FIRST_LEGAL)

    assert list(_other_matches(recorded, TASK, replayer)) == []
    assert replayer.lanes == [TASK.lanes.shared]


def test_other_moves_than_the_players_own_are_found() -> None:
    recorded = duelled(FIRST_LEGAL, FIRST_LEGAL + "# another\n", TASK)

    faults = list(_other_matches(recorded, TASK, Replayer(RANDOM_PLAYER, FIRST_LEGAL)))

    assert "held again, match 1 takes another course" in faults


def test_who_chooses_by_the_order_of_questions_is_not_accused() -> None:
    recorded = duelled(ONE_GENERATOR, FIRST_LEGAL, TASK.model_copy(update={"lanes": Lanes(shared=2, separate=2)}))
    replayer = Replayer(ONE_GENERATOR, FIRST_LEGAL)

    faults = list(_other_matches(recorded, TASK, replayer))

    assert replayer.lanes == [TASK.lanes.shared, 1]
    assert len(faults) < 3
