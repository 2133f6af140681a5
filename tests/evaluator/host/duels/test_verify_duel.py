"""Whatever is changed in a duel is found, also when every hash was made to fit."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from evaluator.host.duels.openings import draw_openings
from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.envs.pettingzoo_game import PettingZooGame, open_game, replay
from evaluator.host.verification import Verification, VerificationStatus
from evaluator.model.config.task import ClockSettings, Task
from evaluator.model.records.duel_record import Duel, MatchEnd, WantedDuel
from evaluator.model.records.parse import parse_duel
from evaluator.model.records.trace import TraceLeaf
from tests.evaluations import FIRST_LEGAL, RANDOM_PLAYER, duelled

TASK = Task(id="connect_four", game="pettingzoo.classic.connect_four_v3", matches=6)
TICTACTOE = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", matches=4)
QUARTO = Task(id="quarto", game="evaluator.environments.quarto", matches=4)
RPS = Task(id="rps", game="pettingzoo.classic.rps_v2", kwargs={"max_cycles": 7}, opening=0, matches=4)
CHEATS = """
class Agent:
    memoryless = True
    def act(self, observation):
        return int(observation["action_mask"].argmin())
"""
MUMBLES = """
class Agent:
    memoryless = True
    def act(self, observation):
        return "five"
"""
SLOW_ONCE = """
import time

class Agent:
    def __init__(self):
        self.asked = 0
    def act(self, observation):
        self.asked += 1
        if self.asked == 3:
            time.sleep(0.8)
        return int(observation["action_mask"].argmax())
"""
CRASHES_LATE = """
class Agent:
    def __init__(self):
        self.asked = 0
    def act(self, observation):
        self.asked += 1
        if self.asked == 3:
            raise ValueError("enough")
        return int(observation["action_mask"].argmax())
"""
CYCLES = """
class Agent:
    def __init__(self, seed):
        self.move = seed
    def act(self, observation):
        self.move += 1
        return self.move % 3
"""


@pytest.fixture(scope="module")
def game() -> PettingZooGame:
    return open_game(TASK)


@pytest.fixture(scope="module")
def honest() -> Duel:
    return duelled(RANDOM_PLAYER, FIRST_LEGAL, TASK)


def judged(duel: Duel | bytes, game: PettingZooGame | None) -> Verification:
    return verify_duel("d.json", duel if isinstance(duel, bytes) else duel.serialised(), game)


def forged(duel: Duel, **changes: Any) -> Duel:
    """A duel with other values, its own hash recomputed as a forger would."""
    return Duel.with_self_hash({**duel.document(), **changes})


def rematched(duel: Duel, index: int, **changes: Any) -> Duel:
    """A duel with one match changed."""
    matches = duel.document()["matches"]
    matches[index] = {**matches[index], **changes}
    return forged(duel, matches=matches)


def rekeyed(duel: Duel, **changes: Any) -> Duel:
    """Other identity fields and the key that fits them."""
    document = {**duel.document(), **changes}
    wanted = WantedDuel(
        submission_digests=tuple(player["submission_digest"] for player in document["players"]),
        **{name: document[name] for name in ("task_digest", "runtime_digest", "season", "beacon")},
    )
    return Duel.with_self_hash({**document, "key": wanted.key()})


def packed(rows: list[list[int]]) -> TraceLeaf:
    return TraceLeaf.of(np.array([value for row in rows for value in row], np.int64))


def faults(duel: Duel | bytes, game: PettingZooGame | None) -> tuple[str, ...]:
    finding = judged(duel, game)
    assert finding.status is VerificationStatus.REFUTED
    return finding.faults


@pytest.mark.parametrize("task", [TASK, TICTACTOE, QUARTO])
def test_an_honest_duel_is_verified(task: Task) -> None:
    duel = duelled(RANDOM_PLAYER, RANDOM_PLAYER + "\n", task)
    finding = judged(duel, open_game(task))

    assert (finding.status, finding.faults) == (VerificationStatus.VERIFIED, ())
    assert finding.steps == sum(match.plies for match in duel.matches)


def test_an_honest_duel_of_a_simultaneous_game_is_verified() -> None:
    duel = duelled(CYCLES, CYCLES + "\n", RPS)

    assert judged(duel, open_game(RPS)).faults == ()
    assert {(match.end, match.plies) for match in duel.matches} == {(MatchEnd.PLAYED, 14)}


@pytest.mark.parametrize(("source", "end"), [
    (CHEATS, MatchEnd.ILLEGAL), (MUMBLES, MatchEnd.MALFORMED), (SLOW_ONCE, MatchEnd.LATE), (CRASHES_LATE, MatchEnd.FORFEIT),
])  # fmt: skip
def test_every_kind_of_offence_is_verified(source: str, end: MatchEnd) -> None:
    clock = ClockSettings(move_seconds=0.4, bank_seconds=0.2) if end is MatchEnd.LATE else ClockSettings()
    task = TASK.model_copy(update={"clock": clock})
    duel = duelled(source, FIRST_LEGAL, task)

    assert judged(duel, open_game(task)).faults == ()
    assert end in {match.end for match in duel.matches}
    assert {match.winner for match in duel.matches if match.end is end} == {1}


def test_matches_that_are_too_long_are_draws_and_verified() -> None:
    task = TASK.model_copy(update={"max_plies": 6})
    duel = duelled(RANDOM_PLAYER, RANDOM_PLAYER + "\n", task)

    assert judged(duel, open_game(task)).faults == ()
    assert {(match.end, match.winner, match.plies) for match in duel.matches} == {(MatchEnd.TOO_LONG, None, 6)}
    shorter = [match | {"end": "played"} for match in duel.document()["matches"]]
    assert "is not over after its moves" in faults(forged(duel, matches=shorter), open_game(task))[0]


def test_a_long_match_with_a_winner_is_found() -> None:
    task = TASK.model_copy(update={"max_plies": 6})
    duel = duelled(FIRST_LEGAL, FIRST_LEGAL + "\n", task)

    assert faults(rematched(duel, 0, winner=1), open_game(task)) == ("match 0 has a winner though it was too long",)
    late = rematched(duel, 0, end="late", winner=1, offenders=[0])
    assert faults(late, open_game(task)) == ("match 0 is too long, or is said to be and is not",)


def test_a_lost_match_cut_short_and_called_too_long_is_found(honest: Duel, game: PettingZooGame) -> None:
    """The forger computes the checksum anew, too."""
    rows, times = honest.match_moves(), honest.match_milliseconds()
    rows[0].pop(), times[0].pop()
    now = replay(game, honest.seeds[0], rows[0], 0)
    fields = {"winner": None, "plies": len(rows[0]), "scores": now.scores, "checksum": now.checksum}
    cut = rematched(honest, 0, end="too_long", **fields)
    duel = forged(cut, moves=packed(rows).model_dump(), milliseconds=packed(times).model_dump())

    assert faults(duel, game)[0] == "match 0 is too long, or is said to be and is not"


def test_a_duel_that_failed_on_our_side_is_verified_by_its_claims(honest: Duel, game: PettingZooGame) -> None:
    failed = forged(honest, verdict="internal_error", message="ours", matches=(), moves=None, milliseconds=None)

    assert (judged(failed, game).status, judged(failed, game).steps) == (VerificationStatus.VERIFIED, 0)


def test_every_changed_byte_is_found(honest: Duel, game: PettingZooGame) -> None:
    content = honest.serialised()
    for index in range(len(content)):
        changed = bytearray(content)
        changed[index] ^= 1
        assert judged(bytes(changed), game).status is not VerificationStatus.VERIFIED, content[index - 20 : index + 5]
    assert judged(content + b" ", game).status is VerificationStatus.REFUTED
    assert judged(content[:-1], game).status is VerificationStatus.REFUTED


@pytest.mark.parametrize("junk", [b"", b"[]", b"{", b"\xff", b'{"schema": NaN}', b'{"a":1,"a":2}', b"[" * 100_000])
def test_junk_is_refuted_with_a_reason(junk: bytes, game: PettingZooGame) -> None:
    assert faults(junk, game)[0]


def test_another_move_is_found(honest: Duel, game: PettingZooGame) -> None:
    rows = honest.match_moves()
    for ply in range(2, len(rows[1])):
        for move in range(7):
            if move != rows[1][ply]:
                changed = [*rows[:1], [*rows[1][:ply], move, *rows[1][ply + 1 :]], *rows[2:]]
                assert faults(forged(honest, moves=packed(changed).model_dump()), game)[0].startswith("match 1 ")


def test_moves_that_are_no_moves_are_found(honest: Duel, game: PettingZooGame) -> None:
    for move in (-1, 7, 2**40):
        rows = honest.match_moves()
        rows[0][3] = move
        assert faults(forged(honest, moves=packed(rows).model_dump()), game) == ("match 0 has an illegal move at ply 3",)
    floats = TraceLeaf.of(np.array([value for row in honest.match_moves() for value in row], np.float64))
    assert faults(forged(honest, moves=floats.model_dump()), game) == ("the moves and the times are not whole numbers",)


@pytest.mark.parametrize("dtype", ["", "<", "<f8", "U", "i9", "<u3", "i"])
def test_numbers_of_no_whole_type_are_refuted(dtype: str, honest: Duel, game: PettingZooGame) -> None:
    moves = honest.moves.model_dump() if honest.moves else {}

    assert faults(forged(honest, moves={**moves, "dtype": dtype}), game)[0]


@pytest.mark.parametrize("time", [-1, 22_002])
def test_a_time_that_cannot_be_is_found(time: int, honest: Duel, game: PettingZooGame) -> None:
    rows = honest.match_milliseconds()
    rows[2][4] = time
    opening = honest.match_milliseconds()
    opening[0][1] = 1

    assert faults(forged(honest, milliseconds=packed(rows).model_dump()), game) == (
        "match 2 has a time that its clock does not allow",
    )
    assert "match 0 has a time" in faults(forged(honest, milliseconds=packed(opening).model_dump()), game)[0]


def test_another_winner_or_score_is_found(honest: Duel, game: PettingZooGame) -> None:
    match = honest.matches[0]
    assert match.winner is not None
    swapped = (match.scores[1], match.scores[0])

    assert faults(rematched(honest, 0, winner=1 - match.winner), game) == ("match 0 has another winner than its scores",)
    assert faults(rematched(honest, 0, winner=None), game) == ("match 0 has another winner than its scores",)
    assert faults(rematched(honest, 0, scores=swapped), game)[0].startswith("match 0 returns ")
    both = rematched(honest, 0, scores=swapped, winner=1 - match.winner)
    assert faults(both, game)[0].startswith("match 0 returns ")


def test_another_end_is_found(honest: Duel, game: PettingZooGame) -> None:
    match = honest.matches[0]
    loser = 1 - (match.winner or 0)
    for end in ("illegal", "malformed", "late", "forfeit"):
        duel = rematched(honest, 0, end=end, offenders=[loser], winner=1 - loser, refused=3 if end == "illegal" else None)
        assert faults(duel, game) == ("match 0 is over after its moves",)
    assert faults(rematched(honest, 0, end="too_long", winner=None), game) == ("match 0 is over after its moves",)


def test_a_match_that_is_cut_short_and_blamed_on_the_other_is_found(honest: Duel, game: PettingZooGame) -> None:
    """A loser takes its last moves away and says that the winner was late."""
    rows, times = honest.match_moves(), honest.match_milliseconds()
    winner = honest.matches[0].winner
    rows[0].pop(), times[0].pop()
    fields = {"offenders": [winner], "winner": 1 - (winner or 0), "plies": len(rows[0]), "scores": (0, 0)}
    cut = rematched(honest, 0, end="forfeit", **fields)
    duel = forged(cut, moves=packed(rows).model_dump(), milliseconds=packed(times).model_dump())

    assert any(fault == "match 0 meets other observations or rewards" for fault in faults(duel, game))


def test_other_plies_are_found(honest: Duel, game: PettingZooGame) -> None:
    plies = [match.plies for match in honest.matches]

    assert "are not the" in faults(rematched(honest, 0, plies=plies[0] + 1), game)[0]
    moved = rematched(rematched(honest, 0, plies=plies[0] + 1), 1, plies=plies[1] - 1)
    assert len(faults(moved, game)) >= 2
    assert faults(rematched(honest, 0, plies=10**9), game) == ("a match is longer than the task allows",)


def test_another_checksum_is_found(honest: Duel, game: PettingZooGame) -> None:
    assert faults(rematched(honest, 3, checksum="0" * 32), game) == ("match 3 meets other observations or rewards",)


def test_other_seeds_are_found(honest: Duel, game: PettingZooGame) -> None:
    for seeds in ([honest.seeds[1], honest.seeds[0], honest.seeds[2]], ["0" * 32, *honest.seeds[1:]]):
        assert faults(forged(honest, seeds=seeds), game) == ("the seeds are not those that the beacon gives",)


def test_another_opening_is_found_though_the_moves_are_legal(honest: Duel, game: PettingZooGame) -> None:
    rows = honest.match_moves()
    drawn = draw_openings(game, honest.seeds)
    assert [row[:2] for row in rows[::2]] == drawn
    rows[2][0] = (rows[2][0] + 1) % 7

    assert "match 2 does not begin with the opening that its seed gives" in faults(
        forged(honest, moves=packed(rows).model_dump()), game
    )


def test_fewer_matches_are_found(honest: Duel, game: PettingZooGame) -> None:
    fewer = honest.document()["matches"][:4]
    plies = sum(match["plies"] for match in fewer)
    parts = {
        name: TraceLeaf.of(leaf.array(sum(match.plies for match in honest.matches))[:plies]).model_dump()
        for name, leaf in (("moves", honest.moves), ("milliseconds", honest.milliseconds))
        if leaf is not None
    }

    duel = forged(honest, matches=fewer, seeds=honest.seeds[:2], **parts)
    assert faults(duel, game) == ("the number of matches is not the task's",)


def test_a_key_that_does_not_fit_is_found(honest: Duel, game: PettingZooGame) -> None:
    assert "the key does not fit" in faults(forged(honest, key="1" * 64), game)[0]


def test_players_that_changed_places_are_found(honest: Duel, game: PettingZooGame) -> None:
    one, other = honest.document()["players"]
    digests = one["submission_digest"], other["submission_digest"]
    mixed = [{**one, "submission_digest": digests[1]}, {**other, "submission_digest": digests[0]}]

    with pytest.raises(ValueError, match="the sides are not in order"):
        forged(honest, players=[other, one])
    assert "the key does not fit" in faults(forged(honest, players=mixed), game)[0]
    assert faults(rekeyed(honest, players=mixed), game) == ("the seeds are not those that the beacon gives",)
    content = honest.serialised()
    assert faults(content.replace(b'"alice"', b'"zoe"'), game)


@pytest.mark.parametrize("changes", [
    {"season": "2031"}, {"beacon": "f" * 40}, {"task": "tictactoe"},
])  # fmt: skip
def test_a_duel_of_elsewhere_is_found_by_its_seeds(changes: dict[str, str], honest: Duel, game: PettingZooGame) -> None:
    assert faults(rekeyed(honest, **changes), game) == ("the seeds are not those that the beacon gives",)


def test_a_validation_of_two_versions_is_found(honest: Duel, game: PettingZooGame) -> None:
    one, other = honest.document()["players"]
    same = {**other, "login": one["login"], "agent": one["agent"]}

    assert faults(forged(honest, players=[one, same]), game) == ("a player's two sides are two versions of it",)


def test_other_steps_are_found(honest: Duel, game: PettingZooGame) -> None:
    players = honest.document()["players"]
    players[0]["cost"]["steps"] += 1

    assert faults(forged(honest, players=players), game) == ("the players' steps are not as many as their moves",)


@pytest.fixture(scope="module")
def cheated() -> Duel:
    return duelled(CHEATS, FIRST_LEGAL, TICTACTOE)


def test_a_refused_move_that_was_legal_is_found(cheated: Duel) -> None:
    game = open_game(TICTACTOE)
    free = next(cell for cell in range(9) if cell not in cheated.match_moves()[0])

    assert judged(cheated, game).faults == ()
    assert faults(rematched(cheated, 0, refused=free), game) == (f"match 0 was refused the move {free}, which is legal",)
    assert faults(rematched(cheated, 0, refused=None), game) == ("match 0 does not name the illegal move",)
    late = rematched(cheated, 0, end="late")
    assert faults(late, game) == ("match 0 names a refused move where none was illegal",)


def test_blame_on_the_other_side_is_found(cheated: Duel) -> None:
    game = open_game(TICTACTOE)

    blamed = rematched(cheated, 0, offenders=[1], winner=0)
    assert faults(blamed, game) == ("match 0 blames a side that was not to move",)
    forfeited = rematched(cheated, 0, end="forfeit", refused=None)
    assert faults(forfeited, game) == ("match 0 is forfeited by others than the players that could not go on",)
    with pytest.raises(ValueError, match="the offender's opponent wins"):
        rematched(cheated, 0, winner=0)


def test_a_compression_bomb_is_never_unpacked(honest: Duel, game: PettingZooGame) -> None:
    bomb = TraceLeaf.of(np.zeros(200_000_000, np.int64)).model_dump()

    assert "are not the" in faults(forged(honest, moves=bomb), game)[0]
    assert "are not the" in faults(forged(honest, milliseconds=bomb), game)[0]


def test_a_gone_or_changed_game_is_stale(honest: Duel, game: PettingZooGame) -> None:
    other = dataclasses.replace(game, task=TASK.model_copy(update={"matches": 8}))

    assert judged(honest, None).status is VerificationStatus.STALE
    assert judged(honest, other).status is VerificationStatus.STALE


def test_a_duel_parses_to_itself(honest: Duel) -> None:
    assert parse_duel(honest.serialised()) == honest
