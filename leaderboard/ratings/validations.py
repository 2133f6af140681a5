"""Validations, the duels of a player with itself: which entries may enter, and which rule a player broke."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evaluator.model.records.duel_record import Duel, MatchRecord, PlayerRecord
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Entry
from leaderboard.ratings.counting_duels import CountedDuel, Pair, version_of

# The fault of a validation lists this many of the last moves.
FAULT_MOVES = 40


def validation_refusal(duel: Duel) -> str | None:
    """Why a validation keeps its player out, an evaluator's failure included; None if it does not."""
    if duel.verdict is not Verdict.OK:
        return f"the evaluator failed: {duel.message}"
    return validation_fault(duel)


@dataclass(frozen=True, kw_only=True)
class EntriesByValidation:
    """Entries by what their validations say, each group in the order given."""

    passed: tuple[Entry, ...]
    refused: tuple[tuple[Entry, Duel, str], ...]
    """Entries that broke a rule in one of their periods on main, with the newest such validation and the fault."""
    unvalidated: tuple[Entry, ...]
    """Without a recorded validation of the present version, or of one of its periods on main."""


def partition_by_validation(entries: Iterable[Entry], last: Mapping[Pair, CountedDuel]) -> EntriesByValidation:
    """Which entries may enter a game, by the duels that count."""
    passed: list[Entry] = []
    refused: list[tuple[Entry, Duel, str]] = []
    unvalidated: list[Entry] = []
    for entry in entries:
        counted = last.get((version_of(entry), version_of(entry)))
        if counted is None:
            unvalidated.append(entry)
            continue
        beacons = entry.presence_beacons.get(counted.duel.task, frozenset())
        validations = [counted.duel, *(one for one in reversed(counted.earlier) if one.beacon in beacons)]
        # As on other tasks another draw does not make up for one that failed: a player could come back until one is lucky.
        if broken := next(((one, fault) for one in validations if (fault := validation_fault(one))), None):
            refused.append((entry, *broken))
        elif not beacons <= {one.beacon for one in validations}:
            unvalidated.append(entry)
        else:
            passed.append(entry)
    return EntriesByValidation(passed=tuple(passed), refused=tuple(refused), unvalidated=tuple(unvalidated))


def validation_fault(duel: Duel) -> str | None:
    """The rule that a player broke in its validation, in one line; None if it may enter."""
    for player in duel.players:
        if player.verdict is not Verdict.OK:
            return _verdict_words(player)
    index = next((index for index, match in enumerate(duel.matches) if match.offenders), None)
    if index is None:
        return None
    match = duel.matches[index]
    message = f"({match.message})" if match.message else ""
    try:
        moves = duel.match_moves()[index]
    except ValueError:
        moves = []
    hidden = "… " if len(moves) > FAULT_MOVES else ""
    before = f", after {hidden}{' '.join(map(str, moves[-FAULT_MOVES:]))}" if moves else ""
    return _offence_words(match, index, message) + before


def side_fault(duel: Duel, side: int) -> str:
    """The first rule that a side broke, in one line; empty if none."""
    if duel.players[side].verdict is not Verdict.OK:
        return _verdict_words(duel.players[side])
    broken = ((index, match) for index, match in enumerate(duel.matches) if side in match.offenders)
    return next((_offence_words(match, index, match.message) for index, match in broken), "")


def _verdict_words(player: PlayerRecord) -> str:
    """How a player failed, in one line."""
    return " ".join(f"{player.verdict.plain_words} {player.message}".split())


def _offence_words(match: MatchRecord, index: int, message: str) -> str:
    """The match, the move, and what was wrong with it, in one line."""
    offence = f"the illegal move {match.refused}" if match.refused is not None else match.end.value
    return " ".join(f"match {index + 1}, move {match.plies + 1}: {offence} {message}".split())
