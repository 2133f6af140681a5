"""The leaderboard of a game, from the entries on main and the recorded duels."""

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from evaluator.model.config.moderation import Moderation
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.eligibility import EligibleEntries, eligible_entries, is_official, without_excluded_teams
from leaderboard.core.entry import AgentName, Entry, Excluded
from leaderboard.core.game_standings import (
    GameFailure,
    GameRow,
    GameStandings,
    HeadToHead,
    MatchCount,
    PreferenceCycle,
    Rating,
    RatingSnapshot,
)
from leaderboard.core.owners import OwnerGroups, OwnerTries, OwnerTry, owner_groups, superseded_entries
from leaderboard.ratings.connectivity import find_cycle
from leaderboard.ratings.fit_ratings import RatedPlayers, anchor_candidates, rate_players, rating_order
from leaderboard.ratings.rated_duels import (
    AgentVersion,
    CountedDuel,
    EntriesByValidation,
    counting_duels,
    newest_duels,
    partition_by_validation,
    validation_fault,
    version_of,
)
from leaderboard.scoring.ranking import RankInterval, in_order, name_order, ranks_with_unranked

# The ratings over time have at most this many snapshots. Rating n players takes n² steps, so with more than 200 players
# there are fewer: days are then left out evenly.
MAX_SNAPSHOTS = 60
MAX_SNAPSHOT_STEPS = MAX_SNAPSHOTS * 200**2
# Nearly always the second choice of each owner's best player is the first one again.
MAX_CHOICES = 20


def ratings_over_time(
    now: RatedPlayers | None, counted_duels: Sequence[CountedDuel], anchor: str | None, passive: Container[AgentName] = ()
) -> tuple[RatingSnapshot, ...]:
    """The ratings after each day's duels, of the players that are on the leaderboard now.

    On each earlier day a player counts with its version validated last by then. The last snapshot is the leaderboard
    itself.

    Args:
        now: the leaderboard's ratings.
        counted_duels: every duel that counts, of earlier versions too, as `counting_duels` orders them.
        anchor: the name of the player rated 0.
        passive: as in `rate_players`.
    """
    if now is None:
        return ()
    names = {version.name for version in now.players}
    played = [counted for counted in counted_duels if {version.name for version in counted.pair} <= names]
    days = [(day, list(group)) for day, group in groupby(played, key=lambda counted: counted.at[:10])]
    chosen = _chosen_days(len(days), min(MAX_SNAPSHOTS, MAX_SNAPSHOT_STEPS // len(names) ** 2))
    snapshots, until, validations = [], list[CountedDuel](), dict[AgentName, CountedDuel]()
    for number, (day, group) in enumerate(days[:-1]):
        until += group
        validations.update((counted.pair[0].name, counted) for counted in group if counted.duel.is_validation)
        if number in chosen and (
            rated := rate_players(_validated(validations), newest_duels(until), [anchor] if anchor else [], None, passive)
        ):
            snapshots.append(_snapshot(day, rated))
    return (*snapshots, _snapshot(days[-1][0], now))


def _validated(validations: Mapping[AgentName, CountedDuel]) -> dict[AgentVersion, str]:
    return {counted.pair[0]: counted.at for counted in validations.values() if validation_fault(counted.duel) is None}


def _snapshot(day: str, rated: RatedPlayers) -> RatingSnapshot:
    return RatingSnapshot(day=day, elo={version.name: elo for version, elo in rated.elo().items()})


def _chosen_days(days: int, most: int) -> frozenset[int]:
    """Positions of `most` evenly spread days; the last one always, the first one too if `most` is 2 or more."""
    if days <= most:
        return frozenset(range(days))
    return frozenset(days - 1 - i * (days - 1) // max(most - 1, 1) for i in range(max(most, 1)))


def build_game_standings(
    task: Task,
    entries: Iterable[Entry],
    duels: Iterable[Duel],
    *,
    official: bool,
    moderation: Moderation | None = None,
    season: str,
    baselines: Sequence[str] = (),
    final_beacon: str | None = None,
    tried_records: Iterable[Result | Duel] = (),
) -> GameStandings:
    """The leaderboard of one game; the order of entries and duels does not matter.

    Args:
        task: the game.
        entries: the agents on main now, each once.
        duels: everything recorded, of any game, season, version and tier.
        official: whether only official duels count.
        moderation: which agents are excluded.
        season: duels of other seasons do not count.
        baselines: names of baselines in order; the first that plays is rated 0 unless the task names an anchor.
        final_beacon: as in `build_standings`; the rating of the duels before decides which player holds an owner's place.
        tried_records: as in `build_standings`.
    """
    entries, duels = without_excluded_teams(entries, moderation), list(duels)
    every_duel = [*duels, *(record for record in tried_records if isinstance(record, Duel))]
    field = eligible_entries(entries, moderation, official=official)
    entered = sorted((entry for entry in field.ranking if entry.submission.plays(task)), key=name_order)
    played = counting_duels(task, season, duels, entries, official=official)
    counted_duels = [counted for counted in played if final_beacon in (None, counted.duel.beacon)]
    last, since = newest_duels(counted_duels), _since(played)
    groups, anchor_names = owner_groups(entries, every_duel), anchor_candidates(task, baselines)
    tried = counting_duels(task, season, _validations(every_duel), entries, official=official, as_tries=True)
    by_validation, owner_tries = partition_by_validation(entered, last), _owner_tries(tried, groups)
    validated = {version_of(entry): since[version_of(entry)] for entry in by_validation.passed}
    tries = {version: 1 if final_beacon else owner_tries.tries(version.name) for version in validated}
    passive = all_but_the_best(entered, [m for m in played if m.duel.beacon != final_beacon], groups, anchor_names)
    superseded = passive if final_beacon else {}
    now = rate_players(validated, last, anchor_names, tries, passive)
    rows = _rows(now, by_validation, since, owner_tries, tries, superseded) if now else ()
    shown = {version_of(entry): entry.shown for entry in by_validation.passed}
    anchor = shown[now.players[now.anchor]] if now else None
    return GameStandings(
        task=task, rows=rows, failures=_failures(by_validation, owner_tries), waiting=_waiting(task, by_validation, rows),
        superseded=superseded, crosstable=_crosstable(now) if now else {}, anchor=anchor,
        prior=tuple(shown[now.players[i]] for i in now.ratings.prior) if now else (),
        cycle=_cycle(now, shown), moving_first=now.ratings.moving_first if now else None,
        history=ratings_over_time(now, counted_duels, anchor, passive), excluded=_excluded(task, field, played),
    )  # fmt: skip


def all_but_the_best(
    entered: Sequence[Entry], live: Sequence[CountedDuel], groups: OwnerGroups, anchor_names: Sequence[str]
) -> dict[AgentName, str]:
    """All but the best-rated player of each owner, each with that one.

    Only the best ones change ratings, and the ratings say which those are. So both are repeated until they agree: by
    ratings that all players change, puppets would choose which of a rival's players is its best.
    """
    if not superseded_entries(groups, entered, name_order):
        return {}
    since, last = _since(live), newest_duels(live)
    validated = {version: since[version] for version in map(version_of, partition_by_validation(entered, last).passed)}
    chosen: list[dict[AgentName, str]] = [{}]
    while len(chosen) <= MAX_CHOICES:
        rated = rate_players(validated, last, anchor_names, passive=chosen[-1])
        choice = _superseded_by_rating(entered, rated, since, groups)
        if choice in chosen:  # Of choices that lead to each other in a circle always the same one.
            return min(chosen[chosen.index(choice) :], key=sorted)
        chosen.append(choice)
    return chosen[-1]


def _superseded_by_rating(
    entered: Sequence[Entry], rated: RatedPlayers | None, since: Mapping[AgentVersion, str], groups: OwnerGroups
) -> dict[AgentName, str]:
    elo = rated.elo() if rated else {}

    def by_rating(entry: Entry) -> tuple[Any, ...]:
        version = version_of(entry)
        rating = round(elo.get(version, 0), 6)  # Of equal ones the first counts, whatever rounding says.
        return version not in elo, -rating, version not in since, since.get(version), name_order(entry)

    return superseded_entries(groups, entered, by_rating)


def _waiting(task: Task, by_validation: EntriesByValidation, rows: Iterable[GameRow]) -> tuple[Entry, ...]:
    rated = {row.entry.name for row in rows}
    entries = (*by_validation.unvalidated, *by_validation.passed)
    return tuple(sorted((e for e in entries if e.name not in rated and e.is_awaited(task.id)), key=name_order))


def _since(counted_duels: Iterable[CountedDuel]) -> dict[AgentVersion, str]:
    """When each version was validated first: a later evaluation does not change that."""
    return {m.pair[0]: m.at for m in reversed(list(counted_duels)) if m.pair[0] == m.pair[1]}


def _validations(duels: Iterable[Duel]) -> list[Duel]:
    return [duel for duel in duels if duel.is_validation]


def _owner_tries(validations: Iterable[CountedDuel], groups: OwnerGroups) -> OwnerTries:
    """Count the versions of each owner or team that were validated, under earlier settings too, since the seeds stay.

    Or that were to be, and their host failed: their owner knows the seeds all the same.
    """
    tries = (
        OwnerTry(name, groups.persons.person_of_side(counted.duel.players[0]), digest, counted.duel.beacon)
        for counted in validations
        for name, digest in counted.pair[:1]
    )
    return OwnerTries(groups, tries)


def _failures(by_validation: EntriesByValidation, owner_tries: OwnerTries) -> tuple[GameFailure, ...]:
    return tuple(
        GameFailure(entry=entry, duel=duel, reason=reason, versions_tried=owner_tries.versions(entry.name))
        for entry, duel, reason in by_validation.refused
    )


def _rows(
    now: RatedPlayers,
    by_validation: EntriesByValidation,
    since: Mapping[AgentVersion, str],
    owner_tries: OwnerTries,
    tries: Mapping[AgentVersion, int],
    superseded: Mapping[AgentName, str],
) -> tuple[GameRow, ...]:
    """Rated rows: by place, then the earlier player first, then by name; those whose place another holds come last."""
    entries = {version_of(entry): entry for entry in by_validation.passed}
    counts = _counts(now)
    points = points_places(counts)
    opponents = [0] * len(now.players)
    for a, b in now.duels:
        opponents[a] += 1
        opponents[b] += 1
    ratings, among = now.ratings, np.array([tries[version] for version in now.players], dtype=np.intp)
    unranked = [entries[version].is_unranked or version.name in superseded for version in now.players]

    def rank(chosen: Sequence[int]) -> list[RankInterval]:
        order = rating_order(ratings.theta[chosen], ratings.covariance[np.ix_(chosen, chosen)], among[chosen])
        return [RankInterval(*fields) for fields in zip(*(column.tolist() for column in order), strict=True)]

    ranks, among_all = ranks_with_unranked(unranked, rank)
    rows = [
        GameRow(
            **ranks[i]._asdict(),
            entry=entries[version],
            rating=Rating(elo=float(ratings.elo[i]), low=float(ratings.low[i]), high=float(ratings.high[i])),
            count=counts[i],
            points_place=points[i],
            opponents=opponents[i],
            versions_tried=owner_tries.versions(version.name),
            tries=tries[version],
            superseded_by=superseded.get(version.name),
            since=since[version],
        )
        for i, version in enumerate(now.players)
    ]
    return in_order(rows, among_all, [row.since for row in rows])


def _counts(now: RatedPlayers) -> list[MatchCount]:
    duels: list[list[MatchCount]] = [[] for _ in now.players]
    for pair, counted in now.duels.items():
        for player, count in zip(pair, counted.totals.counts, strict=True):
            duels[player].append(count)
    return list(map(MatchCount.total, duels))


def points_places(counts: Sequence[MatchCount]) -> list[int]:
    """Places by points, wins and score of a match, since not all play as many; equal ones share one, the next is skipped."""
    worth = [(c.points_share, *(total / max(c.matches, 1) for total in (c.won, c.score))) for c in counts]
    first = {value: place for place, value in reversed(list(enumerate(sorted(worth, reverse=True), start=1)))}
    return [first[value] for value in worth]


def _crosstable(now: RatedPlayers) -> dict[tuple[AgentName, AgentName], HeadToHead]:
    crosstable = {}
    for pair, counted in now.duels.items():
        names = [now.players[i].name for i in pair]
        for side in (0, 1):
            meeting = HeadToHead(count=counted.totals.counts[side], duel=counted.duel, side=side)
            crosstable[names[side], names[1 - side]] = meeting
    return crosstable


def _cycle(now: RatedPlayers | None, shown: Mapping[AgentVersion, str]) -> PreferenceCycle:
    if now is None:
        return PreferenceCycle(names=(), share=0.0, triads=0)
    wins, ties = np.zeros((2, len(now.players), len(now.players)))
    # Every match, unlike in the rating: a repeated game of two deterministic players is no reason for doubt.
    for (a, b), counted in now.duels.items():
        first, second = counted.totals.counts
        wins[a, b], wins[b, a], ties[a, b], ties[b, a] = first.won, second.won, first.drawn, second.drawn
    cycle = find_cycle(wins, ties)
    return PreferenceCycle(names=tuple(shown[now.players[i]] for i in cycle.players), share=cycle.share, triads=cycle.triads)


def _excluded(task: Task, field: EligibleEntries, counted_duels: Iterable[CountedDuel]) -> tuple[Excluded, ...]:
    """Excluded entries, and excluded agents without a folder that have official duels."""
    excluded = {entry.name: (entry.login, entry.agent, why) for entry, why in field.excluded if entry.submission.plays(task)}
    for counted in counted_duels:
        sides = zip(counted.duel.players, counted.pair, strict=True) if is_official(counted.duel) else ()
        for player, (name, digest) in sides:  # Under the folder that a version is in now.
            why = field.moderation.exclusion_of(player.login, name.agent, digest)
            if why and name not in field.names:
                excluded[name] = (player.login, name.agent, why)
    return tuple(Excluded(login=login, agent=agent, exclusion=why) for _, (login, agent, why) in sorted(excluded.items()))
