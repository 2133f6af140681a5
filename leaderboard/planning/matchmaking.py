"""Which duels are wanted of a game: validations first, then opponents, only as many as the ratings need.

Agents of one login or one team never play each other, since such a duel would not count. With at most `opponents` + 1
players everybody else plays everybody. Beyond that each player needs that many opponents.
Opponents stay chosen once a duel is recorded, so the wanted set settles. A player that lacks opponents chooses in two
steps. Without a rating it takes the baselines and, up to half of what it needs, others spread evenly over the order of
strength. Once rated, it takes those whose duel is most informative by the present ratings. A new player therefore costs
its own `opponents` duels and nobody else any.
"""

import itertools
from collections.abc import Iterable, Sequence

from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel
from leaderboard.core.entry import Entry
from leaderboard.core.owners import owner_groups
from leaderboard.core.versions import version_folders
from leaderboard.ratings.duel_results import counting_duels, judge_duels, newest_duels


def wanted_pairings(
    task: Task, entries: Iterable[Entry], duels: Iterable[Duel], *, season: str, baselines: Sequence[str] = ()
) -> list[tuple[Entry, Entry]]:
    """Every duel that is wanted of a game, recorded or not, each pair in the order of the sides.

    First the validations, each player with itself; then the pairs of those whose validation is recorded and passed.

    Args:
        task: the game.
        entries: the agents on main now, less those that moderation excludes.
        duels: everything recorded; of any tier, since a local checkout plans by its own records.
        season: duels of other seasons do not count.
        baselines: their names; a player meets them first.
    """
    entries = list(entries)
    entered = sorted((entry for entry in entries if entry.submission.plays(task)), key=lambda entry: entry.name)
    digest = task.digest()
    current = [duel for duel in duels if (duel.task, duel.task_digest, duel.season) == (task.id, digest, season)]
    last = newest_duels(counting_duels(task, season, current, entries, official=False))
    groups = owner_groups(entries, current)
    players = judge_duels(entered, last).admitted
    validations = [(entry, entry) for entry in entered]
    if len(players) <= task.opponents + 1:
        pairs = itertools.combinations(players, 2)
        return [*validations, *(pair for pair in pairs if not groups.are_one(pair[0].name, pair[1].name))]
    # Imported late: only here are ratings needed.
    from leaderboard.planning.opponents import MatchmakingInput, chosen_opponents

    given = MatchmakingInput(players, current, last, groups, version_folders(entries))
    return [*validations, *chosen_opponents(task, given, baselines)]
