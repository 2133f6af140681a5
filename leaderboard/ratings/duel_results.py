"""Recorded duels: which of them count, their totals, and whether a validation was passed."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchRecord, PlayerRecord
from evaluator.model.records.verdict import Verdict
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
"""Two versions in the order of the sides; twice the same in a validation."""

# The fault of a validation lists so many of the last moves.
FAULT_MOVES = 40
# Games of PettingZoo in which both players move at once; matched at the beginning of `Task.game`.
SIMULTANEOUS = ("pettingzoo.classic.rps_",)


class RatedTotals(NamedTuple):
    """The matches of a duel that the rating uses: identical games count once."""

    wins: tuple[int, int]
    """Of each side."""
    ties: int


@dataclass(frozen=True, kw_only=True)
class DuelTotals:
    """The totals of a duel's matches."""

    counts: tuple[WinCount, WinCount]
    """All matches, for each side."""
    rated: Mapping[int, RatedTotals]
    """By who moved first: 1 where side 0 did, −1 where side 1 did, 0 where both move at once."""


def version_of(player: PlayerRecord | Entry, folders: VersionFolders = AS_RECORDED) -> AgentVersion:
    """The version of a player or an entry, under the folder that it is in now."""
    if isinstance(player, PlayerRecord):
        return AgentVersion(folders.of(player), player.submission_digest)
    return AgentVersion(player.name, player.digest)


@dataclass(frozen=True)
class CountedDuel:
    """A recorded duel that counts."""

    duel: Duel
    folders: VersionFolders = AS_RECORDED
    simultaneous: bool = False
    """Whether both players of the game move at once."""
    earlier: tuple[Duel, ...] = ()
    """Duels of the same two versions on the seeds of other stays on main, which are counted with it."""

    @cached_property
    def pair(self) -> Pair:
        """Both versions."""
        return version_of(self.duel.players[0], self.folders), version_of(self.duel.players[1], self.folders)

    @property
    def at(self) -> str:
        """When it was played, in UTC."""
        return self.duel.provenance.evaluated_at

    @cached_property
    def totals(self) -> DuelTotals:
        """The totals of its matches, the earlier duels' included; counted once."""
        return duel_totals(*self.earlier, self.duel, simultaneous=self.simultaneous)


def counting_duels(
    task: Task, season: str, duels: Iterable[Duel], entries: Iterable[Entry] = (), *, official: bool
) -> list[CountedDuel]:
    """The duels played under the game's present settings in this season, by time.

    Duels between agents of one login or one team do not count: an owner of both sides can choose the outcome.

    Args:
        task: the game.
        season: duels of other seasons do not count.
        duels: everything recorded.
        entries: the agents on main now: they define the teams, and which folder a version is in.
        official: whether only official duels count.
    """
    entries, digest = list(entries), task.digest()
    folders = version_folders(entries)
    fitting = [
        duel
        for duel in duels
        if (duel.task, duel.task_digest, duel.season, duel.verdict) == (task.id, digest, season, Verdict.OK)
        and (is_official(duel) or not official)
    ]
    groups = owner_groups(entries, fitting)
    at_once = is_simultaneous(task)
    counted = [CountedDuel(duel, folders, at_once) for duel in fitting if not groups.is_between_own(duel)]
    return sorted(counted, key=lambda meeting: (meeting.at, meeting.duel.key, meeting.duel.self_sha256))


def newest_duels(meetings: Iterable[CountedDuel]) -> dict[Pair, CountedDuel]:
    """The duel that counts of every two versions: for each beacon the last one in the order of `counting_duels`, pooled."""
    newest: dict[Pair, dict[str, CountedDuel]] = {}
    for meeting in meetings:
        by_beacon = newest.setdefault(meeting.pair, {})
        by_beacon.pop(meeting.duel.beacon, None)
        by_beacon[meeting.duel.beacon] = meeting
    return {pair: _pooled(list(by_beacon.values())) for pair, by_beacon in newest.items()}


def _pooled(meetings: Sequence[CountedDuel]) -> CountedDuel:
    """One duel with the totals of all; the last one is shown."""
    last = meetings[-1]
    return replace(last, earlier=tuple(meeting.duel for meeting in meetings[:-1])) if len(meetings) > 1 else last


def is_simultaneous(task: Task) -> bool:
    """Whether both players of a game move at once, so that nobody moves first; a host's own game is not known to."""
    return (task.game or "").startswith(SIMULTANEOUS)


def duel_totals(*duels: Duel, simultaneous: bool = False) -> DuelTotals:
    """Count the matches of duels of the same two versions.

    Identical games count once in the rating: the same side began, and all moves and observations are the same. A match
    that a broken rule ended is identical to no other: who is losing could break one in the same position each time. If
    both sides offend, both lose, and the rating ignores the match. Both matches of an opening keep who moved first: the side
    that plays the game's first player, whoever made the moves of the opening.
    """
    matches = [match for duel in duels for match in duel.matches]
    games = [game for duel in duels for game in _with_moves(duel)]
    distinct = {_game(match, index, moves): index for index, (match, moves) in enumerate(games)}
    rated = {0: Counter[int | None]()} if simultaneous else {1: Counter[int | None](), -1: Counter[int | None]()}
    for index in distinct.values():
        match = matches[index]
        if match.winner is not None or not match.offenders:
            rated[0 if simultaneous else (1, -1)[index % 2]][match.winner] += 1
    return DuelTotals(
        counts=(count_matches(matches, 0), count_matches(matches, 1)),
        rated={first: RatedTotals((count[0], count[1]), count[None]) for first, count in rated.items()},
    )


def count_matches(matches: Sequence[MatchRecord], side: int) -> WinCount:
    """What one side did in them."""
    wins = ties = errors = 0
    for match in matches:
        wins += match.winner == side
        ties += match.winner is None and not match.offenders
        errors += side in match.offenders
    score = math.fsum(match.scores[side] for match in matches)
    return WinCount(wins=wins, ties=ties, losses=len(matches) - wins - ties, errors=errors, score=score)


def _with_moves(duel: Duel) -> Iterator[tuple[MatchRecord, bytes]]:
    """Each match with its moves; without bytes if they were left out, so that only checksums are compared."""
    content, size = b"", 0
    try:
        if duel.moves:
            array = duel.moves.array(sum(match.plies for match in duel.matches))
            content, size = array.tobytes(), array.itemsize
    except ValueError:
        size = 0
    begin = 0
    for match in duel.matches:
        end = begin + size * match.plies
        yield match, content[begin:end]
        begin = end


def _game(match: MatchRecord, index: int, moves: bytes) -> tuple[object, ...]:
    if match.offenders:
        return (index,)
    return index % 2, moves, match.checksum, match.end, match.winner


def refusal(duel: Duel) -> str | None:
    """Why a validation keeps its player out, an evaluator's failure included; None if it does not."""
    if duel.verdict is not Verdict.OK:
        return f"the evaluator failed: {duel.message}"
    return validation_fault(duel)


@dataclass(frozen=True, kw_only=True)
class JudgedEntries:
    """Entries sorted by their validations, each group in the order given."""

    admitted: tuple[Entry, ...]
    refused: tuple[tuple[Entry, CountedDuel, str], ...]
    """Entries that broke a rule, with the validation and the fault."""
    unjudged: tuple[Entry, ...]
    """Without a recorded validation of the present version."""


def judge_duels(entries: Iterable[Entry], last: Mapping[Pair, CountedDuel]) -> JudgedEntries:
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
    return JudgedEntries(admitted=tuple(admitted), refused=tuple(refused), unjudged=tuple(unjudged))


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
