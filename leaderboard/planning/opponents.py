"""Choice of opponents in a game with too many players for everybody to play everybody.

Each player needs `opponents` others that change ratings, which only one player of each owner does. They stay chosen once
a duel is recorded, so the wanted set settles. A player that lacks opponents takes the baselines and others spread evenly
over the order of strength, by lot within each part of it: else a player could be made to beat just those that it will meet.
A new player therefore costs its own `opponents` duels, and where it becomes its owner's best, one for each who met the
earlier best. After the end of submissions everybody chooses once more.

Nobody is chosen because its rating is near, though such a duel tells the most. Whoever was lucky at first would meet others
that were lucky, which hides their luck, and no interval knows of that; and a player made to beat those of one strength, and
rated by its lots as one of them, would meet these.
"""

import hashlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from leaderboard.core.arrays import Bools, Floats, Indices
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import OwnerGroups
from leaderboard.core.version_folders import VersionFolders
from leaderboard.ratings.fit_ratings import RatedPlayers, anchor_candidates, is_named, rate_players
from leaderboard.ratings.rated_duels import CountedDuel, Pair, version_of


@dataclass(frozen=True)
class MatchmakingInput:
    """What opponents are chosen by."""

    players: Sequence[Entry]
    """Those who passed their validations, by name."""
    duels: Sequence[Duel]
    """Of this game, its settings and season."""
    last: Mapping[Pair, CountedDuel]
    """The duel of each pair that counts."""
    groups: OwnerGroups
    folders: VersionFolders
    passive: Container[AgentName] = ()
    """Players whose duels do not change others' ratings, because another player of the same owner counts."""
    final_beacon: str | None = None
    """That of the final draws, after the end of submissions. Earlier pairings are then not kept, unless drawn again: else an
    owner with many folders could keep the luckiest opponents."""


def chosen_opponents(task: Task, given: MatchmakingInput, baselines: Sequence[str]) -> list[tuple[Entry, Entry]]:
    """The pairs that are wanted of a game, each in the order of the sides; a player meets the baselines first."""
    players = given.players
    rated = rate_players({version_of(player): "" for player in players}, given.last, anchor_candidates(task, baselines))
    table = _player_table(given, rated, baselines)
    draw_opponents(table, task.opponents)
    return [(players[a], players[b]) for a, b in np.argwhere(np.triu(table.met)).tolist()]


@dataclass(frozen=True, kw_only=True)
class PlayerTable:
    """The players' state, by position; `met` changes while opponents are drawn."""

    met: Bools
    """Who met whom, or is to meet, shape (players, players)."""
    barred: Bools
    """Who never meets: each and itself, and agents of one login or team; shape (players, players)."""
    changes_ratings: Bools
    """Whose duels change the ratings of others. The others are nobody's opponent: an owner's weak folders would else draw a
    rival until it needs nobody whose duels count."""
    is_baseline: Bools
    theta: Floats
    """Logarithm of the strength; NaN without a rating."""
    lots: Sequence[tuple[str, str]]
    """What a player draws by: a beacon that nobody knew before the merge, or the end, and its digest."""


def _player_table(given: MatchmakingInput, rated: RatedPlayers | None, baselines: Sequence[str]) -> PlayerTable:
    """Build the table. Duels that failed on our side count as met, so their opponents are not replaced."""
    players = given.players
    position = {version_of(player): i for i, player in enumerate(players)}
    met, barred = np.zeros((2, len(players), len(players)), dtype=np.bool_)
    np.fill_diagonal(barred, val=True)
    for positions in _by_owner(given):
        barred[np.ix_(positions, positions)] = True
    for duel in given.duels:
        if given.final_beacon not in (None, duel.beacon):
            continue
        a, b = (position.get(version_of(player, given.folders)) for player in duel.players)
        if a is not None and b is not None and not barred[a, b]:
            met[a, b] = met[b, a] = True
    theta = np.full(len(players), np.nan)
    if rated:
        theta[[position[version] for version in rated.players]] = rated.ratings.theta
    is_baseline = np.array([any(is_named(version, name) for name in baselines) for version in position], dtype=np.bool_)
    return PlayerTable(
        met=met,
        barred=barred,
        changes_ratings=is_baseline | np.array([version.name not in given.passive for version in position], dtype=np.bool_),
        is_baseline=is_baseline,
        theta=theta,
        lots=[(given.final_beacon or given.last[version, version].duel.beacon, version.digest) for version in position],
    )


def _by_owner(given: MatchmakingInput) -> list[list[int]]:
    """The positions of each owner's players."""
    positions: dict[frozenset[str], list[int]] = {}
    for index, player in enumerate(given.players):
        if people := given.groups.people_behind(player.name):
            positions.setdefault(people, []).append(index)
    return list(positions.values())


def draw_opponents(table: PlayerTable, opponents: int) -> None:
    """Let every player in turn draw the opponents it lacks; being drawn counts too. `table.met` has them afterwards."""
    lacking = opponents - _opponents_met(table, np.arange(len(table.met)))
    for player in range(len(lacking)):
        if lacking[player] <= 0:
            continue
        chosen = _spread(table, player, lacking)
        table.met[player, chosen] = table.met[chosen, player] = True
        changed = np.append(chosen, player)
        lacking[changed] = opponents - _opponents_met(table, changed)


def _opponents_met(table: PlayerTable, players: Indices) -> Indices:
    """How many opponents that change ratings each of some players has."""
    return np.asarray((table.met[players] & table.changes_ratings).sum(axis=1), np.intp)


def _candidates(table: PlayerTable, player: int) -> Indices:
    """The players that it may choose."""
    return np.flatnonzero(~(table.met[player] | table.barred[player]))


def _spread(table: PlayerTable, player: int, lacking: Indices) -> Indices:
    """As many as it lacks: baselines first, then one player of each part of the order of strength, unrated players last."""
    others, wanted = _candidates(table, player), int(lacking[player])
    is_baseline = table.is_baseline[others]
    first = others[is_baseline][:wanted]
    rest = others[~is_baseline]
    # Where nobody is rated each player starts counting after itself, so that not all choose the same.
    behind = np.where(np.isnan(table.theta), (np.arange(len(table.theta)) - player) % len(table.theta), 0)
    counting = rest[table.changes_ratings[rest]]
    chosen = counting if len(counting) >= wanted - len(first) else rest
    ordered = chosen[np.lexsort((chosen, behind[chosen], table.theta[chosen]))]
    parts = np.array_split(ordered, wanted - len(first)) if wanted > len(first) else []
    return np.concatenate([first, *(_drawn(table, player, part, lacking) for part in parts)])


def _drawn(table: PlayerTable, player: int, part: Indices, lacking: Indices) -> Indices:
    """One by lot, of those that lack opponents too if there are any; shape (1,)."""
    beacon, digest = table.lots[player]
    lots = [hashlib.sha256(f"{beacon} {digest} {table.lots[other][1]}".encode()).digest() for other in part.tolist()]
    best: Indices = part[sorted(range(len(part)), key=lambda at: (lacking[part[at]] <= 0, lots[at]))[:1]]
    return best
