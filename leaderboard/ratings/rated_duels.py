"""Which recorded duels of a game count, the totals of their matches, and which entries their validations let in."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchRecord, PlayerRecord, first_side
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.game_standings import MatchCount, count_matches
from leaderboard.core.owners import owner_groups
from leaderboard.core.version_folders import AS_RECORDED, VersionFolders, version_folders


class AgentVersion(NamedTuple):
    """One version of an agent."""

    name: AgentName
    """As `Entry.name`."""
    digest: str


Pair = tuple[AgentVersion, AgentVersion]
"""Two versions in the order of the sides; twice the same in a validation."""

# Games of PettingZoo in which both players move at once; matched at the beginning of `Task.game`.
SIMULTANEOUS = ("pettingzoo.classic.rps_",)


class RatedTotals(NamedTuple):
    """The matches of a duel as the rating weighs them: those that begin alike count as one together."""

    won: tuple[float, float]
    """Of each side."""
    drawn: float


@dataclass(frozen=True, kw_only=True)
class DuelTotals:
    """The totals of a duel's matches."""

    counts: tuple[MatchCount, MatchCount]
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
    opening: int = 0
    """Moves with which each match begins, drawn from the seeds."""
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
        return rated_totals(*self.earlier, self.duel, simultaneous=self.simultaneous, opening=self.opening)


def counting_duels(
    task: Task,
    season: str,
    duels: Iterable[Duel],
    entries: Iterable[Entry] = (),
    *,
    official: bool,
    as_tries: bool = False,
) -> list[CountedDuel]:
    """The duels played under the game's present settings in this season, by time.

    Duels between agents of one login or one team do not count: an owner of both sides can choose the outcome.

    Args:
        task: the game.
        season: duels of other seasons do not count.
        duels: everything recorded.
        entries: the agents on main now: they define the teams, and which folder a version is in.
        official: whether only official duels count.
        as_tries: whether validations that count as tries alone are wanted, too: under earlier settings, or its host failed.
    """
    entries, digest = list(entries), task.digest()
    folders = version_folders(entries)
    fitting = [
        duel
        for duel in duels
        if (duel.task, duel.season) == (task.id, season)
        and (duel.is_try if as_tries else (duel.verdict, duel.task_digest) == (Verdict.OK, digest))
        and (is_official(duel) or not official)
    ]
    groups = owner_groups(entries, fitting)
    at_once = is_simultaneous(task)
    counted = [CountedDuel(duel, folders, at_once, task.opening) for duel in fitting if not groups.is_within_one_owner(duel)]
    return sorted(counted, key=lambda counted: (counted.at, counted.duel.key, counted.duel.self_sha256))


def newest_duels(counted_duels: Iterable[CountedDuel]) -> dict[Pair, CountedDuel]:
    """The duel that counts of every two versions: for each beacon the last one in the order of `counting_duels`, pooled."""
    newest: dict[Pair, dict[str, CountedDuel]] = {}
    for counted in counted_duels:
        by_beacon = newest.setdefault(counted.pair, {})
        by_beacon.pop(counted.duel.beacon, None)
        by_beacon[counted.duel.beacon] = counted
    return {pair: _pooled(list(by_beacon.values())) for pair, by_beacon in newest.items()}


def _pooled(counted_duels: Sequence[CountedDuel]) -> CountedDuel:
    """One duel with the totals of all; the last one is shown."""
    last = counted_duels[-1]
    return replace(last, earlier=tuple(counted.duel for counted in counted_duels[:-1])) if len(counted_duels) > 1 else last


def is_simultaneous(task: Task) -> bool:
    """Whether both players of a game move at once, so that nobody moves first; a host's own game is not known to."""
    return (task.game or "").startswith(SIMULTANEOUS)


def rated_totals(*duels: Duel, simultaneous: bool = False, opening: int = 0) -> DuelTotals:
    """Count the matches of duels of the same two versions.

    Two deterministic players repeat a match from the same opening, which tells nothing new. So in the rating the matches
    with the same opening and the same side to begin count as one together. What was played after the opening does not
    matter: a player could make the matches alike that it loses, and others different. Without openings every match counts.
    If both sides offend, both lose, and the rating ignores the match. Both matches of an opening keep who moved first: the
    side that plays the game's first player, whoever made the moves of the opening.

    Several duels weigh as one together: a player that left main and came back would otherwise weigh more in the rating of a
    rival that it was made to beat.
    """
    matches = [match for duel in duels for match in duel.matches]
    shares: dict[tuple[int, int | None], list[float]] = defaultdict(list)
    for duel in duels:
        used = [index for index, match in enumerate(duel.matches) if match.winner is not None or not match.offenders]
        begins = _beginnings(duel, opening)
        alike = Counter(begins[index] for index in used)
        for index in used:
            first = 0 if simultaneous else (1, -1)[first_side(index)]
            shares[first, duel.matches[index].winner].append(1 / (alike[begins[index]] * len(duels)))
    total = {key: math.fsum(each) for key, each in shares.items()}
    return DuelTotals(
        counts=(count_matches(matches, 0), count_matches(matches, 1)),
        rated={
            first: RatedTotals((total.get((first, 0), 0), total.get((first, 1), 0)), total.get((first, None), 0))
            for first in ((0,) if simultaneous else (1, -1))
        },
    )


def _beginnings(duel: Duel, opening: int) -> list[tuple[object, ...]]:
    """What tells how each match began: the side that did and the opening; its number where there is no opening."""
    moves = [own[:opening] for own in (_moves(duel) if opening else [[]] * len(duel.matches))]
    return [(i % 2, *own) if opening and len(own) == opening else ("match", i) for i, own in enumerate(moves)]


def _moves(duel: Duel) -> list[list[int]]:
    try:
        return duel.match_moves()
    except ValueError:
        return [[] for _ in duel.matches]


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
    """Entries that broke a rule in one of their stays on main, with the newest such validation and the fault."""
    unvalidated: tuple[Entry, ...]
    """Without a recorded validation of the present version, or of one of its stays on main."""


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
        beacons = entry.stay_beacons.get(counted.duel.task, frozenset())
        validations = [counted.duel, *(duel for duel in reversed(counted.earlier) if duel.beacon in beacons)]
        # As on other tasks another draw does not make up for one that failed: a player could come back until one is lucky.
        if broken := next(((duel, fault) for duel in validations if (fault := validation_fault(duel))), None):
            refused.append((entry, *broken))
        elif not beacons <= {duel.beacon for duel in validations}:
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
