"""Who should play whom: validations first, then opponents, as few as the rating needs.

With no more players than `opponents` + 1 everybody plays everybody. Beyond that each player needs so many opponents.
Whom it met stays chosen, so the wanted set comes to rest; whoever lacks opponents chooses new ones in two steps. A player
without a rating takes the baselines and, up to half of what it needs, others spread evenly over the order of strength.
Once rated, it takes those whose duel says most by the ratings at that moment. A newcomer therefore costs its own
`opponents` duels and nobody else any.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluator.model.challenge import Task
from evaluator.model.duel import Duel
from leaderboard.davidson import Floats, Indices, chances
from leaderboard.duels import counting, judged, newest, version_of
from leaderboard.entry import Entry
from leaderboard.rated import Rated, anchors, is_named, rated

Bools = npt.NDArray[np.bool_]


def pairings(
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
    entered = sorted((entry for entry in entries if entry.submission.plays(task)), key=lambda entry: entry.name)
    digest = task.digest()
    own = [duel for duel in duels if (duel.task, duel.task_digest, duel.season) == (task.id, digest, season)]
    last = newest(counting(task, season, own, official=False))
    players = judged(entered, last).admitted
    validations = [(entry, entry) for entry in entered]
    if len(players) <= task.opponents + 1:
        return [*validations, *itertools.combinations(players, 2)]
    now = rated({version_of(player): "" for player in players}, last, anchors(task, baselines))
    table = _table(players, own, now, baselines)
    _choose(table, task.opponents)
    chosen = np.argwhere(np.triu(table.met)).tolist()
    return [*validations, *((players[a], players[b]) for a, b in chosen)]


@dataclass(frozen=True, kw_only=True)
class _Table:
    """What is known of the players, by position."""

    met: Bools
    """Whom each met, or is to meet."""
    is_baseline: Bools
    """Whom everybody meets first."""
    theta: Floats
    """Logarithm of each one's strength; NaN without a rating."""
    nu: float
    """How often equals draw."""


def _table(players: Sequence[Entry], duels: Iterable[Duel], now: Rated | None, baselines: Sequence[str]) -> _Table:
    """A duel that failed on our side was chosen too: it is not given up for another opponent."""
    position = {version_of(player): i for i, player in enumerate(players)}
    met = np.zeros((len(players), len(players)), dtype=np.bool_)
    for duel in duels:
        a, b = (position.get(version_of(player)) for player in duel.players)
        if a is not None and b is not None and a != b:
            met[a, b] = met[b, a] = True
    theta = np.full(len(players), np.nan)
    if now:
        theta[[position[version] for version in now.players]] = now.ratings.theta
    return _Table(
        met=met,
        is_baseline=np.array([any(is_named(version, name) for name in baselines) for version in position], dtype=np.bool_),
        theta=theta,
        nu=now.ratings.nu if now else 1.0,
    )


def _choose(table: _Table, opponents: int) -> None:
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


def _candidates(table: _Table, player: int) -> Indices:
    """Whom it may choose."""
    free = ~table.met[player]
    free[player] = False
    return np.flatnonzero(free)


def _most_informative(table: _Table, player: int, lacking: Indices) -> Indices:
    """Baselines first, then whose duel says most; one that the other lacks too is worth twice.

    What a match says of two players' difference is the variance of its score: Fisher's information, as the model is an
    exponential family. Of a player without a rating it is taken as of a middling one.
    """
    others = _candidates(table, player)
    theta = np.where(np.isnan(table.theta), np.nanmedian(table.theta), table.theta)
    worth = chances(theta[others] - theta[player], table.nu).variance * np.where(lacking[others] > 0, 2, 1)
    order = np.lexsort((others, -worth, ~table.is_baseline[others]))
    return others[order[: lacking[player]]]


def _spread(table: _Table, player: int, lacking: Indices, wanted: int) -> Indices:
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
