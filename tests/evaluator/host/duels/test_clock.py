"""A frame's time is shared by its positions, goes to each match's own bank, and runs out while it is waited for."""

from dataclasses import dataclass, field

import pytest

from evaluator.host.duels.duel_referee import SideClock
from evaluator.model.config.task import ClockSettings


@dataclass(eq=False)
class ClockedMatch:
    banks: list[float] = field(default_factory=lambda: [1.0, 1.0])
    over: bool = False


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def clock(side: int = 0, wall: float = 1000) -> tuple[SideClock, Time]:
    now = Time()
    return SideClock(ClockSettings(move_seconds=2, bank_seconds=1), side, wall, now), now


def test_an_answer_within_the_moves_own_time_costs_the_bank_nothing() -> None:
    one, now = clock()
    matches = [ClockedMatch(), ClockedMatch(), ClockedMatch()]
    one.start(matches)
    now.now += 6

    assert one.charge_answer(matches) == (2000, [])
    assert [match.banks for match in matches] == [[1.0, 1.0]] * 3
    assert one.thinking == 6


def test_what_goes_beyond_is_taken_from_each_matchs_bank_of_that_side() -> None:
    one, now = clock(side=1)
    matches = [ClockedMatch(), ClockedMatch(banks=[0.0, 0.6])]
    one.start(matches)
    now.now += 5

    assert one.charge_answer(matches) == (2500, [])
    assert matches[0].banks == [1.0, 0.5]
    assert matches[1].banks == [0.0, pytest.approx(0.1)]


def test_who_has_no_bank_left_is_late_while_the_others_are_not() -> None:
    one, now = clock()
    poor, rich = ClockedMatch(banks=[0.25, 9.0]), ClockedMatch()
    one.start([poor, rich])
    now.now += 5

    assert one.charge_answer([poor, rich]) == (2500, [poor])
    assert rich.banks[0] == 0.5


def test_clocks_fall_one_after_the_other_while_an_answer_is_waited_for() -> None:
    one, now = clock()
    poor, rich = ClockedMatch(banks=[0.25, 0.0]), ClockedMatch()
    one.start([poor, rich])
    deadlines = [one.deadline]
    now.now = one.deadline
    late = [one.take_late([poor, rich])]
    poor.over = True
    deadlines.append(one.deadline)
    now.now += 1
    late.append(one.take_late([poor, rich]))
    now.now = one.deadline
    late.append(one.take_late([poor, rich]))

    assert deadlines == [104.5, 106.0]  # two positions: twice the move's time and what the match has left
    assert late == [[poor], [], [rich]]


def test_an_answer_that_lies_about_is_charged_until_it_came() -> None:
    one, now = clock()
    match = ClockedMatch()
    one.start([match])
    now.now += 1
    one.note_arrival()
    now.now += 50

    assert one.charge_answer([match]) == (1000, [])
    one.start([match])
    now.now += 2
    assert one.charge_answer([match]) == (2000, [])
    assert one.thinking == 3


def test_all_thinking_together_has_a_limit() -> None:
    one, now = clock(wall=3)
    match = ClockedMatch()
    one.start([match])
    now.now += 2
    one.charge_answer([match])
    one.start([match])

    assert one.deadline == 103
    assert not one.is_used_up()
    now.now += 1
    assert one.is_used_up()
    one.abandon()
    assert one.thinking == 3
