"""Validations: whom they admit, and what they say of a broken rule."""

import pytest

from evaluator.model.records.trace import TraceLeaf
from leaderboard.ratings.rated_duels import (
    FAULT_MOVES,
    counting_duels,
    newest_duels,
    partition_by_validation,
    validation_fault,
)
from tests.leaderboard import make

GAME = make.game()
ALICE, BOB = make.entry("alice"), make.entry("bob")


def test_a_validation_without_an_offence_admits():
    assert validation_fault(make.duel(ALICE, outcomes="wldt")) is None


@pytest.mark.parametrize(
    ("duel", "reason"),
    [
        (make.duel(ALICE, outcomes="di"), "match 2, move 4: the illegal move 9, after 1 0 1"),
        (make.duel(ALICE, outcomes="do"), "match 2, move 4: late, after 1 0 1"),
        (make.duel(ALICE, outcomes="fF", moves=[[], []]), "match 1, move 1: forfeit"),
        (
            make.duel(ALICE, outcomes="ff", verdicts=("crashed", "ok")),
            "The agent's code stopped with an error.",
        ),
    ],
)
def test_a_validation_says_match_move_and_what_was_played(duel, reason):
    assert validation_fault(duel) == reason


def test_of_a_long_match_the_last_moves_are_told():
    moves = [[1] + [2] * FAULT_MOVES] * 2

    assert validation_fault(make.duel(ALICE, outcomes="ii", moves=moves)).endswith("after …" + " 2" * FAULT_MOVES)


def test_a_validation_is_of_the_present_version():
    newer = make.entry("alice", version="2")
    last = newest_duels(counting_duels(GAME, "1", [make.duel(ALICE), make.duel(BOB, outcomes="iI")], official=True))

    by_validation = partition_by_validation([newer, ALICE, BOB], last)

    assert (by_validation.passed, by_validation.unvalidated) == ((ALICE,), (newer,))
    assert [(entry, reason.split(":")[0]) for entry, _, reason in by_validation.refused] == [(BOB, "match 1, move 4")]


def test_a_validation_whose_moves_were_left_out_still_says_what_was_wrong():
    damaged = make.duel(ALICE, outcomes="ii").model_copy(update={"moves": TraceLeaf(dtype="u1", shape=(), data="AAAA")})

    assert validation_fault(damaged) == "match 1, move 4: the illegal move 9"
