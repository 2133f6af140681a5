"""Recorded duels: which of them count, what each amounts to, and what a validation says."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel, MatchEnd, MatchRecord, PlayerRecord
from evaluator.model.records.verdict import Verdict, in_plain_words
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.game_standings import WinCount
from leaderboard.core.owners import owner_groups
from leaderboard.core.versions import AS_RECORDED, VersionFolders, version_folders


class AgentVersion(NamedTuple):
    """One version of an agent."""

    name: AgentName
    """As `Entry.name`."""
    digest: str


Pair = tuple[AgentVersion, AgentVersion]
"""Two versions in the order of the sides; of a validation twice the same."""

# So many moves of a refused validation are told.
SHOWN_MOVES = 40


@dataclass(frozen=True, kw_only=True)
class DuelTotals:
    """What a duel amounts to."""

    counts: tuple[WinCount, WinCount]
    """All matches, from each side."""
    wins: tuple[int, int]
    """What each side won, identical games once: what the rating looks at."""
    draws: int
    """Draws, identical games once."""


def version_of(player: PlayerRecord | Entry, at: VersionFolders = AS_RECORDED) -> AgentVersion:
    """Which version of which agent, under the folder in which it stands now."""
    if isinstance(player, PlayerRecord):
        return AgentVersion(at.of(player), player.submission_digest)
    return AgentVersion(player.name, player.digest)


@dataclass(frozen=True)
class CountedDuel:
    """A recorded duel that counts."""

    duel: Duel
    """What was recorded."""
    homes: VersionFolders = AS_RECORDED
    """Where versions stand now."""

    @cached_property
    def pair(self) -> Pair:
        """Who met."""
        return version_of(self.duel.players[0], self.homes), version_of(self.duel.players[1], self.homes)

    @property
    def at(self) -> str:
        """When, in UTC."""
        return self.duel.provenance.evaluated_at

    @cached_property
    def tally(self) -> DuelTotals:
        """What it amounts to."""
        return duel_totals(self.duel)


def counting_duels(
    task: Task, season: str, duels: Iterable[Duel], entries: Iterable[Entry] = (), *, official: bool
) -> list[CountedDuel]:
    """The duels that were played under the game's present settings in this season, the later after the earlier.

    What folders of one login or one team played against each other says nothing: whoever owns both sides can choose how
    it ends.

    Args:
        task: the game.
        season: duels of another one do not count.
        duels: everything recorded.
        entries: the agents that stand on main now: they say who is a team, and which folder a version stands in.
        official: whether only official duels count.
    """
    entries, digest = list(entries), task.digest()
    at = version_folders(entries)
    fitting = [
        duel
        for duel in duels
        if (duel.task, duel.task_digest, duel.season, duel.verdict) == (task.id, digest, season, Verdict.OK)
        and (is_official(duel) or not official)
    ]
    own = owner_groups(entries, fitting)
    found = [CountedDuel(duel, at) for duel in fitting if not own.is_between_own(duel)]
    return sorted(found, key=lambda meeting: (meeting.at, meeting.duel.key, meeting.duel.self_sha256))


def newest_duels(meetings: Iterable[CountedDuel]) -> dict[Pair, CountedDuel]:
    """The one that counts of every two versions: the last of them as `counting` orders them."""
    return {meeting.pair: meeting for meeting in meetings}


def duel_totals(duel: Duel) -> DuelTotals:
    """Count a duel's matches.

    Identical games count once in the rating: the same side began, and every move and everything that was seen is the
    same. A match that was forfeited was not played, so it is like no other. Where both offend, both lose, and the rating
    learns nothing.
    """
    every = [(match.winner, match.offenders, match.scores) for match in duel.matches]
    alike = {_game(match, index, moves): every[index][:2] for index, (match, moves) in enumerate(_moved(duel))}
    rated = Counter("x" if winner is None and offenders else winner for winner, offenders in alike.values())
    return DuelTotals(counts=(_count(every, 0), _count(every, 1)), wins=(rated[0], rated[1]), draws=rated[None])


def _count(matches: Sequence[tuple[int | None, tuple[int, ...], tuple[float, float]]], side: int) -> WinCount:
    wins = draws = errors = 0
    for winner, offenders, _ in matches:
        wins += winner == side
        draws += winner is None and not offenders
        errors += side in offenders
    score = math.fsum(scores[side] for _, _, scores in matches)
    return WinCount(wins=wins, draws=draws, losses=len(matches) - wins - draws, errors=errors, score=score)


def _moved(duel: Duel) -> Iterator[tuple[MatchRecord, bytes]]:
    """Each match with its moves; where they were left out, its checksum must do."""
    every, size = b"", 0
    try:
        if duel.moves:
            array = duel.moves.array(sum(match.plies for match in duel.matches))
            every, size = array.tobytes(), array.itemsize
    except ValueError:
        size = 0
    begin = 0
    for match in duel.matches:
        end = begin + size * match.plies
        yield match, every[begin:end]
        begin = end


def _game(match: MatchRecord, index: int, moves: bytes) -> tuple[object, ...]:
    if match.end is MatchEnd.FORFEIT:
        return (index,)
    return index % 2, moves, match.checksum, match.end, match.winner, match.offenders, match.refused


def refusal(duel: Duel) -> str | None:
    """Why a validation keeps its player out; None where it does not."""
    if duel.verdict is not Verdict.OK:
        return f"the evaluator failed: {duel.message}"
    return validation_fault(duel)


@dataclass(frozen=True, kw_only=True)
class JudgedDuel:
    """Entries by what their validations say, each kind in the order given."""

    admitted: tuple[Entry, ...]
    """They may play others."""
    refused: tuple[tuple[Entry, CountedDuel, str], ...]
    """They broke a rule: the validation, and why."""
    unjudged: tuple[Entry, ...]
    """No validation of their present version is recorded."""


def judge_duels(entries: Iterable[Entry], last: Mapping[Pair, CountedDuel]) -> JudgedDuel:
    """Sort entries by their validations."""
    admitted: list[Entry] = []
    refused: list[tuple[Entry, CountedDuel, str]] = []
    unjudged: list[Entry] = []
    for entry in entries:
        meeting = last.get((version_of(entry), version_of(entry)))
        if meeting is None:
            unjudged.append(entry)
        elif reason := validation_fault(meeting.duel):
            refused.append((entry, meeting, reason))
        else:
            admitted.append(entry)
    return JudgedDuel(admitted=tuple(admitted), refused=tuple(refused), unjudged=tuple(unjudged))


def validation_fault(duel: Duel) -> str | None:
    """Why a validation refuses its player, in one line; None where it may enter."""
    for player in duel.players:
        if player.verdict is not Verdict.OK:
            return " ".join(f"{in_plain_words(player.verdict)} {player.message}".split())
    for index, match in enumerate(duel.matches):
        if match.offenders:
            return _offence(duel, index, match)
    return None


def _offence(duel: Duel, index: int, match: MatchRecord) -> str:
    """Which match, which move, what was wrong with it, and the moves until then."""
    what = f"the illegal move {match.refused}" if match.refused is not None else match.end.value
    said = f" ({match.message})" if match.message else ""
    try:
        moves = duel.match_moves()[index]
    except ValueError:
        moves = []
    hidden = "… " if len(moves) > SHOWN_MOVES else ""
    before = f", after {hidden}{' '.join(map(str, moves[-SHOWN_MOVES:]))}" if moves else ""
    return " ".join(f"match {index + 1}, move {match.plies + 1}: {what}{said}{before}".split())
