"""Who should play whom: validations first, then opponents, as few as the rating needs.

Folders of one login or one team never play each other, since that would not count. With no more players than `opponents`
+ 1 everybody else plays everybody. Beyond that each player needs so many opponents.
Whom it met stays chosen, so the wanted set comes to rest; whoever lacks opponents chooses new ones in two steps. A player
without a rating takes the baselines and, up to half of what it needs, others spread evenly over the order of strength.
Once rated, it takes those whose duel says most by the ratings at that moment. A newcomer therefore costs its own
`opponents` duels and nobody else any.
"""

import itertools
from collections.abc import Iterable, Sequence

from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel
from leaderboard.core.entry import Entry
from leaderboard.core.owners import sides
from leaderboard.core.versions import homes
from leaderboard.duels import counting, judged, newest


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
    entries = list(entries)
    entered = sorted((entry for entry in entries if entry.submission.plays(task)), key=lambda entry: entry.name)
    digest = task.digest()
    own = [duel for duel in duels if (duel.task, duel.task_digest, duel.season) == (task.id, digest, season)]
    last = newest(counting(task, season, own, entries, official=False))
    one_side = sides(entries, own)
    players = judged(entered, last).admitted
    validations = [(entry, entry) for entry in entered]
    if len(players) <= task.opponents + 1:
        pairs = itertools.combinations(players, 2)
        return [*validations, *(pair for pair in pairs if not one_side.are_one(pair[0].name, pair[1].name))]
    # Only now are ratings needed.
    from leaderboard.opponents import Known, chosen

    return [*validations, *chosen(task, Known(players, own, last, one_side, homes(entries)), baselines)]
