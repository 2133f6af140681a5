"""What is told of a player that broke a rule while it was validated."""

from evaluator.host.duels.verify_duel import violations
from evaluator.model.records.verdict import Verdict
from tests.evaluator.host.duels.test_verify_duel import CHEATS, CRASHES_LATE, RPS, TICTACTOE, TIRES, rematched
from tests.rooms import RANDOM_PLAYER, duelled


def test_a_clean_validation_has_no_violations() -> None:
    assert violations(duelled(RANDOM_PLAYER, None, TICTACTOE)) == []


def test_a_violation_names_the_match_the_ply_the_moves_and_the_refused_move() -> None:
    duel = duelled(CHEATS, None, TICTACTOE)
    lines = violations(duel)
    moves = " ".join(map(str, duel.match_moves()[0]))

    assert len(lines) == 4
    assert lines[0].startswith(f"match 0, ply 2: the move {duel.matches[0].refused} is not legal here")
    assert lines[0].endswith(f"after the moves {moves}")
    bare = rematched(duel, 0, message="")
    assert violations(bare)[0] == f"match 0, ply 2: illegal; after the moves {moves}"


def test_a_crash_in_validation_is_told_once() -> None:
    duel = duelled(CRASHES_LATE, None, TICTACTOE)
    lines = violations(duel)

    assert len(lines) == 1
    assert lines[0].startswith(f"{Verdict.CRASHED}: ")
    assert "enough" in lines[0]
    assert lines[0].endswith("(4 of 4 matches were forfeited)")


def test_of_a_long_match_the_last_moves_are_shown() -> None:
    duel = duelled(TIRES, None, RPS.model_copy(update={"kwargs": {"max_cycles": 50}}))

    shown = " ".join(map(str, duel.match_moves()[0][-60:]))
    assert duel.matches[0].plies == 80
    assert violations(duel)[0].startswith("match 0, ply 80: the answer is not a move")
    assert violations(duel)[0].endswith(f"after the moves … {shown}")
