"""The board of a game: from the entries on main and the recorded duels to rated rows."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np

from evaluator.model.config.challenge import Task
from evaluator.model.config.moderation import Moderation
from evaluator.model.records.duel_record import Duel
from leaderboard.core.eligibility import EligibleEntries, eligible_entries, is_official
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.game_standings import (
    GameExcluded,
    GameFailure,
    GameRow,
    GameStandings,
    HeadToHead,
    PreferenceCycle,
    Rating,
    RatingSnapshot,
    WinCount,
)
from leaderboard.core.owners import OwnerAttempts, OwnerGroups, owner_groups
from leaderboard.ratings.cycles import find_cycle
from leaderboard.ratings.duel_results import (
    AgentVersion,
    CountedDuel,
    JudgedDuel,
    Pair,
    counting_duels,
    judge_duels,
    newest_duels,
    validation_fault,
    version_of,
)
from leaderboard.ratings.fit import RatedPlayers, Ratings, anchor_ratings, rate_players, rating_order
from leaderboard.scoring.ranking import RankInterval, name_order

# So many moments at most. Beyond that, and with many players, a season is thinned evenly: to rate n players once more
# takes n × n of so many steps.
MOMENTS = 60
STEPS = MOMENTS * 200**2


def ratings_over_time(
    now: RatedPlayers | None, meetings: Sequence[CountedDuel], anchor: str | None
) -> tuple[RatingSnapshot, ...]:
    """The ratings after each day's duels, of the players that are on the board now.

    On earlier days a player stood with the version that was validated last by then. The last moment is the board
    itself.

    Args:
        now: the board's ratings.
        meetings: every duel that counts, of earlier versions too, as `counting` orders them.
        anchor: the name of the player rated 0.
    """
    if now is None:
        return ()
    names = {version.name for version in now.players}
    here = [meeting for meeting in meetings if {version.name for version in meeting.pair} <= names]
    days = [(day, list(group)) for day, group in groupby(here, key=lambda meeting: meeting.at[:10])]
    kept = _thinned(len(days), min(MOMENTS, STEPS // len(names) ** 2))
    moments, known, stood = [], dict[Pair, CountedDuel](), dict[AgentName, CountedDuel]()
    for number, (day, group) in enumerate(days[:-1]):
        known.update((meeting.pair, meeting) for meeting in group)
        stood.update((meeting.pair[0].name, meeting) for meeting in group if meeting.duel.is_validation)
        if number in kept and (then := rate_players(_admitted(stood), known, [anchor] if anchor else [])):
            moments.append(_moment(day, then))
    return (*moments, _moment(days[-1][0], now))


def _admitted(stood: Mapping[AgentName, CountedDuel]) -> dict[AgentVersion, str]:
    return {meeting.pair[0]: meeting.at for meeting in stood.values() if validation_fault(meeting.duel) is None}


def _moment(day: str, then: RatedPlayers) -> RatingSnapshot:
    return RatingSnapshot(day=day, elo={version.name: elo for version, elo in then.elo().items()})


def _thinned(days: int, most: int) -> frozenset[int]:
    """Which days are kept; the last always is, the first where there is room for two."""
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
) -> GameStandings:
    """The board of one game; the order of entries and duels never matters.

    Args:
        task: the game.
        entries: the agents that stand on main now, each once.
        duels: everything recorded, of any game, season, version and class.
        official: whether only official duels count.
        moderation: who is kept off the board.
        season: duels of another one do not count.
        baselines: names of baselines in order; the first that plays is rated 0 unless the task names an anchor.
    """
    entries = list(entries)
    field = eligible_entries(entries, moderation, official=official)
    entered = sorted((entry for entry in field.ranking if entry.submission.plays(task)), key=name_order)
    meetings = counting_duels(task, season, duels, entries, official=official)
    last = newest_duels(meetings)
    who = judge_duels(entered, last)
    since = _since(meetings)
    now = rate_players(
        {version_of(entry): since[version_of(entry)] for entry in who.admitted}, last, anchor_ratings(task, baselines)
    )
    tried = _attempts(meetings, owner_groups(entries, (meeting.duel for meeting in meetings)))
    rows = _rows(now, who, since, tried) if now else ()
    on_board = {row.entry.name for row in rows}
    missing = [entry for entry in who.admitted if entry.name not in on_board]
    shown = {version_of(entry): entry.shown for entry in who.admitted}
    anchor = shown[now.players[now.anchor]] if now else None
    return GameStandings(
        task=task,
        rows=rows,
        failures=_failures(who, tried),
        waiting=tuple(sorted((*who.unjudged, *missing), key=name_order)),
        crosstable=_crosstable(now) if now else {},
        anchor=anchor,
        prior=tuple(shown[now.players[i]] for i in now.ratings.prior) if now else (),
        cycle=_cycle(now, shown),
        history=ratings_over_time(now, meetings, anchor),
        excluded=_excluded(task, field, meetings),
    )


def _since(meetings: Iterable[CountedDuel]) -> dict[AgentVersion, str]:
    """When each version was validated first: to be measured again makes nobody later."""
    return {m.pair[0]: m.at for m in reversed(list(meetings)) if m.pair[0] == m.pair[1]}


def _attempts(meetings: Iterable[CountedDuel], own: OwnerGroups) -> OwnerAttempts:
    """How many versions of each player's owner or team were validated."""
    validated = (meeting.pair[0] for meeting in meetings if meeting.pair[0] == meeting.pair[1])
    return OwnerAttempts(own, ((version.name, version.digest) for version in validated))


def _failures(who: JudgedDuel, attempts: OwnerAttempts) -> tuple[GameFailure, ...]:
    return tuple(
        GameFailure(entry=entry, duel=meeting.duel, reason=reason, attempts=attempts.of(entry.name))
        for entry, meeting, reason in who.refused
    )


def _rows(
    now: RatedPlayers, who: JudgedDuel, since: Mapping[AgentVersion, str], attempts: OwnerAttempts
) -> tuple[GameRow, ...]:
    """Rated rows: by place, then the earlier player first, then by name."""
    entries = {version_of(entry): entry for entry in who.admitted}
    counts = _counts(now)
    points = points_places(counts)
    opponents = [0] * len(now.players)
    for a, b in now.met:
        opponents[a] += 1
        opponents[b] += 1
    ratings = now.ratings
    ranks = _ranks(ratings, [entries[version].is_aside for version in now.players])
    rows = [
        GameRow(
            **ranks[i]._asdict(),
            entry=entries[version],
            rating=Rating(elo=float(ratings.elo[i]), low=float(ratings.low[i]), high=float(ratings.high[i])),
            count=counts[i],
            points_place=points[i],
            opponents=opponents[i],
            attempts=attempts.of(version.name),
            since=since[version],
        )
        for i, version in enumerate(now.players)
    ]

    def by_place(row: GameRow) -> tuple[int, bool, str, tuple[str, ...]]:
        return row.place, not row.entry.is_aside, row.since, name_order(row.entry)

    return tuple(sorted(rows, key=by_place))


def _ranks(ratings: Ratings, aside: Sequence[bool]) -> list[RankInterval]:
    """The rank of every player; those listed without a place of their own take none: theirs says where they would be."""
    inside = np.flatnonzero(~np.asarray(aside, dtype=np.bool_))
    found = rating_order(ratings.theta[inside], ratings.covariance[np.ix_(inside, inside)])
    columns = (found.place.tolist(), found.rank_low.tolist(), found.rank_high.tolist(), found.with_leader.tolist())
    own = dict(zip(inside.tolist(), (RankInterval(*one) for one in zip(*columns, strict=True)), strict=True))
    ahead = np.sort(ratings.place[inside])
    places = (1 + np.searchsorted(ahead, ratings.place)).tolist()
    return [own.get(index) or RankInterval(place, place, place, with_leader=False) for index, place in enumerate(places)]


def _counts(now: RatedPlayers) -> list[WinCount]:
    own: list[list[WinCount]] = [[] for _ in now.players]
    for pair, meeting in now.met.items():
        for player, count in zip(pair, meeting.tally.counts, strict=True):
            own[player].append(count)
    return [
        WinCount(
            wins=sum(count.wins for count in counts),
            draws=sum(count.draws for count in counts),
            losses=sum(count.losses for count in counts),
            errors=sum(count.errors for count in counts),
            score=math.fsum(count.score for count in counts),
        )
        for counts in own
    ]


def points_places(counts: Sequence[WinCount]) -> list[int]:
    """Places by points, wins and score: equal ones share a place, and the next is skipped."""
    worth = [(count.points, count.wins, count.score) for count in counts]
    first = {value: place for place, value in reversed(list(enumerate(sorted(worth, reverse=True), start=1)))}
    return [first[value] for value in worth]


def _crosstable(now: RatedPlayers) -> dict[tuple[AgentName, AgentName], HeadToHead]:
    found = {}
    for pair, meeting in now.met.items():
        names = [now.players[i].name for i in pair]
        for side in (0, 1):
            crossing = HeadToHead(count=meeting.tally.counts[side], duel=meeting.duel, side=side)
            found[names[side], names[1 - side]] = crossing
    return found


def _cycle(now: RatedPlayers | None, shown: Mapping[AgentVersion, str]) -> PreferenceCycle:
    if now is None:
        return PreferenceCycle(names=(), share=0.0, triads=0)
    wins, draws = np.zeros((2, len(now.players), len(now.players)))
    # Every match, not each game once as in the rating: that two deterministic players repeat themselves is no doubt.
    for (a, b), meeting in now.met.items():
        one, other = meeting.tally.counts
        wins[a, b], wins[b, a], draws[a, b], draws[b, a] = one.wins, other.wins, one.draws, other.draws
    found = find_cycle(wins, draws)
    return PreferenceCycle(names=tuple(shown[now.players[i]] for i in found.players), share=found.share, triads=found.triads)


def _excluded(task: Task, field: EligibleEntries, meetings: Iterable[CountedDuel]) -> tuple[GameExcluded, ...]:
    """Who is kept off the board; also those without a folder that played officially."""
    out = {entry.name: (entry.login, entry.agent, why) for entry, why in field.excluded if entry.submission.plays(task)}
    for meeting in meetings:
        for player in meeting.duel.players if is_official(meeting.duel) else ():
            if (name := AgentName(*player.name)) not in field.names and (
                why := field.moderation.of(player.login, player.agent)
            ):
                out[name] = (player.login, player.agent, why)
    return tuple(
        GameExcluded(login=login, agent=agent, exclusion=why) for _, (login, agent, why) in sorted(out.items())
    )  # fmt: skip
