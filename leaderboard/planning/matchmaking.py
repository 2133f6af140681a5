"""Who should play whom: validations first, then opponents, as few as the rating needs.

Folders of one login or one team never play each other, since that would not count. With no more players than `opponents`
+ 1 everybody else plays everybody. Beyond that each player needs so many opponents.
Whom it met stays chosen, so the wanted set comes to rest; whoever lacks opponents chooses new ones in two steps. A player
without a rating takes the baselines and, up to half of what it needs, others spread evenly over the order of strength.
Once rated, it takes those whose duel says most by the ratings at that moment. A newcomer therefore costs its own
`opponents` duels and nobody else any.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel
from leaderboard.core.entry import Entry
from leaderboard.core.owners import OwnerGroups, owner_groups
from leaderboard.core.versions import VersionFolders, version_folders
from leaderboard.ratings.davidson import Floats, Indices, chances
from leaderboard.ratings.duel_results import CountedDuel, Pair, counting_duels, judge_duels, newest_duels, version_of
from leaderboard.ratings.fit import RatedPlayers, anchor_ratings, is_named, rate_players

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class KnownPlayer:
    """What a choice rests on."""

    players: Sequence[Entry]
    """Those who passed their validations, by name."""
    duels: Sequence[Duel]
    """Of this game, its settings and season."""
    last: Mapping[Pair, CountedDuel]
    """Of each pair, the meeting that counts."""
    sides: OwnerGroups
    """Who is of one side, and never meets."""
    homes: VersionFolders
    """Where versions stand now."""


def chosen_opponents(task: Task, known: KnownPlayer, baselines: Sequence[str]) -> list[tuple[Entry, Entry]]:
    """The pairs that are wanted of a game, each in the order of the sides.

    Args:
        task: the game.
        known: the players and what is recorded.
        baselines: their names; a player meets them first.
    """
    players = known.players
    now = rate_players({version_of(player): "" for player in players}, known.last, anchor_ratings(task, baselines))
    table = _table(known, now, baselines)
    _choose(table, task.opponents)
    return [(players[a], players[b]) for a, b in np.argwhere(np.triu(table.met)).tolist()]


@dataclass(frozen=True, kw_only=True)
class _PlayerTable:
    """What is known of the players, by position."""

    met: Bools
    """Whom each met, or is to meet."""
    barred: Bools
    """Who never meets: each and itself, and folders of one login or team."""
    is_baseline: Bools
    """Whom everybody meets first."""
    theta: Floats
    """Logarithm of each one's strength; NaN without a rating."""
    nu: float
    """How often equals draw."""


def _table(known: KnownPlayer, now: RatedPlayers | None, baselines: Sequence[str]) -> _PlayerTable:
    """A duel that failed on our side was chosen too: it is not given up for another opponent."""
    players = known.players
    position = {version_of(player): i for i, player in enumerate(players)}
    met, barred = np.zeros((2, len(players), len(players)), dtype=np.bool_)
    np.fill_diagonal(barred, val=True)
    for alike in _by_person(known):
        barred[np.ix_(alike, alike)] = True
    for duel in known.duels:
        a, b = (position.get(version_of(player, known.homes)) for player in duel.players)
        if a is not None and b is not None and not barred[a, b]:
            met[a, b] = met[b, a] = True
    theta = np.full(len(players), np.nan)
    if now:
        theta[[position[version] for version in now.players]] = now.ratings.theta
    return _PlayerTable(
        met=met,
        barred=barred,
        is_baseline=np.array([any(is_named(version, name) for name in baselines) for version in position], dtype=np.bool_),
        theta=theta,
        nu=now.ratings.nu if now else 1.0,
    )


def _by_person(known: KnownPlayer) -> list[list[int]]:
    """The positions of each person's players."""
    found: dict[str, list[int]] = {}
    for index, player in enumerate(known.players):
        for person in known.sides.of(player.name):
            found.setdefault(person, []).append(index)
    return list(found.values())


def _choose(table: _PlayerTable, opponents: int) -> None:
    """Let every player in turn choose whom it lacks; being chosen by another serves as well."""
    lacking = opponents - table.met.sum(axis=1)
    is_fresh = lacking == opponents
    for player in range(len(lacking)):
        if lacking[player] <= 0:
            continue
        if np.isfinite(table.theta[player]):
            chosen = _most_informative(table, player, lacking)
        else:
            later = opponents // 2 if is_fresh[player] else 0
            chosen = _spread(table, player, lacking, int(lacking[player]) - later)
        table.met[player, chosen] = table.met[chosen, player] = True
        lacking[player] -= len(chosen)
        lacking[chosen] -= 1


def _candidates(table: _PlayerTable, player: int) -> Indices:
    """Whom it may choose."""
    return np.flatnonzero(~(table.met[player] | table.barred[player]))


def _most_informative(table: _PlayerTable, player: int, lacking: Indices) -> Indices:
    """Baselines first, then whose duel says most; one that the other lacks too is worth twice.

    What a match says of two players' difference is the variance of its score: Fisher's information, as the model is an
    exponential family. Of a player without a rating it is taken as of a middling one.
    """
    others = _candidates(table, player)
    theta = np.where(np.isnan(table.theta), np.nanmedian(table.theta), table.theta)
    worth = chances(theta[others] - theta[player], table.nu).variance * np.where(lacking[others] > 0, 2, 1)
    order = np.lexsort((others, -worth, ~table.is_baseline[others]))
    return others[order[: lacking[player]]]


def _spread(table: _PlayerTable, player: int, lacking: Indices, wanted: int) -> Indices:
    """Baselines first, then one of each of so many parts of the order of strength; those without a rating stand last."""
    others = _candidates(table, player)
    is_baseline = table.is_baseline[others]
    first = others[is_baseline][: max(wanted, 0)]
    rest = others[~is_baseline]
    # On a board where nobody is rated each begins to count after itself, so that not all choose the same.
    behind = np.where(np.isnan(table.theta[rest]), (rest - player) % len(table.theta), 0)
    ordered = rest[np.lexsort((rest, behind, table.theta[rest]))]
    parts = np.array_split(ordered, max(wanted - len(first), 1)) if wanted > len(first) else []
    return np.concatenate([first, *(_middle(part, lacking) for part in parts)])


def _middle(part: Indices, lacking: Indices) -> Indices:
    """The middle one, or the one next to it that lacks opponents too."""
    order = np.abs(np.arange(len(part)) - (len(part) - 1) / 2)
    best: Indices = part[np.lexsort((part, order, lacking[part] <= 0))][:1]
    return best


def wanted_pairings(
    task: Task, entries: Iterable[Entry], duels: Iterable[Duel], *, season: str, baselines: Sequence[str] = ()
) -> list[tuple[Entry, Entry]]:
    """Every duel that is wanted of a game, recorded or not, each pair in the order of the sides.

    First the validations, each player with itself; then the pairs of those whose validation is recorded and passed.

    Args:
        task: the game.
        entries: the agents that stand on main now, less those that are kept off the board.
        duels: everything recorded; of any class, since a plan is made where the records lie.
        season: duels of another one do not count.
        baselines: their names; a player meets them first.
    """
    entries = list(entries)
    entered = sorted((entry for entry in entries if entry.submission.plays(task)), key=lambda entry: entry.name)
    digest = task.digest()
    own = [duel for duel in duels if (duel.task, duel.task_digest, duel.season) == (task.id, digest, season)]
    last = newest_duels(counting_duels(task, season, own, entries, official=False))
    one_side = owner_groups(entries, own)
    players = judge_duels(entered, last).admitted
    validations = [(entry, entry) for entry in entered]
    if len(players) <= task.opponents + 1:
        pairs = itertools.combinations(players, 2)
        return [*validations, *(pair for pair in pairs if not one_side.are_one(pair[0].name, pair[1].name))]
    # Only now are ratings needed.

    return [
        *validations,
        *chosen_opponents(task, KnownPlayer(players, own, last, one_side, version_folders(entries)), baselines),
    ]
