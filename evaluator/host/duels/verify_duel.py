"""Verification of a duel: replaying its moves in the game, without the players, must give the same matches."""

from collections.abc import Iterator
from typing import assert_never

from evaluator.host.duels.openings import draw_openings
from evaluator.host.envs.pettingzoo_game import PettingZooGame, ReplayedGame, replay
from evaluator.host.seeds.derived_seeds import opening_seeds
from evaluator.host.verification import Verification, VerificationStatus, is_same_number, is_stale
from evaluator.model.records.duel_record import SIDES, Duel, MatchEnd, MatchRecord, WantedDuel, first_side
from evaluator.model.records.parse import parse_duel
from evaluator.model.records.trace import TraceLeaf
from evaluator.model.records.verdict import Verdict
from evaluator.model.validation_messages import error_in_words


def check_duel_claims(duel: Duel) -> Iterator[str]:
    """Faults that can be found without the game: in the key, the seeds, and the players of a validation."""
    digests = duel.players[0].submission_digest, duel.players[1].submission_digest
    wanted = WantedDuel(
        submission_digests=digests,
        task_digest=duel.task_digest,
        runtime_digest=duel.runtime_digest,
        season=duel.season,
        beacon=duel.beacon,
        protocol=duel.protocol,
    )
    if wanted.key() != duel.key:
        yield "the key does not fit the players, game, runtime, measurement version, season and beacon"
    if duel.is_validation and digests[0] != digests[1]:
        yield "a player's two sides are two versions of it"
    if opening_seeds(duel.season, duel.beacon, digests, duel.task, 2 * len(duel.seeds)) != duel.seeds:
        yield "the seeds are not those that the beacon gives"


def verify_duel(path: str, content: bytes, game: PettingZooGame | None) -> Verification:
    """Verify one duel; `game` is None if the challenge has no such game any more."""
    try:
        duel = parse_duel(content)
        faults = list(check_duel_claims(duel))
    except ValueError as error:
        return Verification.refuted(path, error_in_words(error, 300))
    if faults:
        return Verification.refuted(path, *faults)
    if why := is_stale(duel, game.task if game else None):
        return Verification(path=path, status=VerificationStatus.STALE, faults=(why,))
    assert game is not None
    if duel.verdict is not Verdict.OK:
        return Verification(path=path, status=VerificationStatus.VERIFIED)
    try:
        faults = list(_compare(duel, game))
    except ValueError as error:
        faults = [error_in_words(error, 300)]
    status = VerificationStatus.REFUTED if faults else VerificationStatus.VERIFIED
    return Verification(path=path, status=status, faults=tuple(faults), steps=sum(m.plies for m in duel.matches))


def _compare(duel: Duel, game: PettingZooGame) -> Iterator[str]:
    if len(duel.matches) != game.task.matches:
        yield "the number of matches is not the task's"
        return
    if any(match.plies > max(game.task.max_plies, game.task.opening) for match in duel.matches):
        yield "a match is longer than the task allows"
        return
    if not all(_whole_numbers(leaf) for leaf in (duel.moves, duel.milliseconds)):
        yield "the moves and the times are not whole numbers"
        return
    drawn = draw_openings(game, duel.seeds)
    yield from _replayed(duel, game, drawn)
    made = sum(match.plies for match in duel.matches) - 2 * sum(map(len, drawn))
    if made != sum(player.cost.steps for player in duel.players):
        yield "the players' steps are not as many as their moves"


def _replayed(duel: Duel, game: PettingZooGame, drawn: list[list[int]]) -> Iterator[str]:
    moves, times = duel.match_moves(), duel.match_milliseconds()
    clock = game.task.clock
    longest = 1000 * (clock.move_seconds + clock.bank_seconds) + 1
    for index, match in enumerate(duel.matches):
        opening = drawn[index // 2]
        if moves[index][: len(opening)] != opening:
            yield f"match {index} does not begin with the opening that its seed gives"
            continue
        if any(not 0 <= time <= longest for time in times[index]) or any(times[index][: len(opening)]):
            yield f"match {index} has a time that its clock does not allow"
        now = replay(game, duel.seeds[index // 2], moves[index], first_side(index))
        if fault := _replay_fault(match, now) or _end_fault(duel, match, now, game.task.max_plies):
            yield f"match {index} {fault}"


def _whole_numbers(leaf: TraceLeaf | None) -> bool:
    return leaf is not None and leaf.shape == () and leaf.dtype.lstrip("<").startswith(("i", "u"))


def _replay_fault(match: MatchRecord, now: ReplayedGame) -> str | None:
    """How the replay differs from the record."""
    if now.illegal is not None:
        return f"has an illegal move at ply {now.illegal}"
    if not all(map(is_same_number, now.scores, match.scores)):
        return f"returns {now.scores}, not {match.scores}"
    if now.checksum != match.checksum:
        return "meets other observations or rewards"
    if now.over != (match.end is MatchEnd.PLAYED):
        return "is over after its moves" if now.over else "is not over after its moves"
    return None


def _end_fault(duel: Duel, match: MatchRecord, now: ReplayedGame, max_plies: int) -> str | None:
    """What the record says of the match's end that the final position contradicts."""
    if (match.end is MatchEnd.TOO_LONG) != (match.plies >= max_plies and not now.over):
        return "is too long, or is said to be and is not"
    if (match.refused is None) == (match.end is MatchEnd.ILLEGAL):
        return "does not name the illegal move" if match.refused is None else "names a refused move where none was illegal"
    match match.end:
        case MatchEnd.PLAYED:
            return None if match.winner == _better(match.scores) else "has another winner than its scores"
        case MatchEnd.TOO_LONG:
            return None if match.winner is None else "has a winner though it was too long"
        case MatchEnd.FORFEIT:
            unable = tuple(side for side in SIDES if duel.players[side].verdict is not Verdict.OK)
            return None if match.offenders == unable else "is forfeited by others than the players that could not go on"
        case MatchEnd.ILLEGAL | MatchEnd.MALFORMED | MatchEnd.LATE:
            if match.offenders != (now.mover,):
                return "blames a side that was not to move"
            return f"was refused the move {match.refused}, which is legal" if match.refused in now.legal else None
        case _:
            assert_never(match.end)


def _better(scores: tuple[float, float]) -> int | None:
    """The side with the greater return; None for equal ones."""
    return None if scores[0] == scores[1] else int(scores[1] > scores[0])
