"""The history of a game: the ratings after each day's duels."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from leaderboard.core.eligibility import Name
from leaderboard.core.game_standings import Moment
from leaderboard.duels import Meeting, Pair, Version, validation_fault
from leaderboard.rated import Rated, rated

# So many moments at most. Beyond that, and with many players, a season is thinned evenly: to rate n players once more
# takes n × n of so many steps.
MOMENTS = 60
STEPS = MOMENTS * 200**2


def history(now: Rated | None, meetings: Sequence[Meeting], anchor: str | None) -> tuple[Moment, ...]:
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
    names = {version[:2] for version in now.players}
    here = [meeting for meeting in meetings if {version[:2] for version in meeting.pair} <= names]
    days = [(day, list(group)) for day, group in groupby(here, key=lambda meeting: meeting.at[:10])]
    kept = _thinned(len(days), min(MOMENTS, STEPS // len(names) ** 2))
    moments, known, stood = [], dict[Pair, Meeting](), dict[Name, Meeting]()
    for number, (day, group) in enumerate(days[:-1]):
        known.update((meeting.pair, meeting) for meeting in group)
        stood.update((meeting.pair[0][:2], meeting) for meeting in group if meeting.duel.is_validation)
        if number in kept and (then := rated(_admitted(stood), known, [anchor] if anchor else [])):
            moments.append(_moment(day, then))
    return (*moments, _moment(days[-1][0], now))


def _admitted(stood: Mapping[Name, Meeting]) -> dict[Version, str]:
    return {meeting.pair[0]: meeting.at for meeting in stood.values() if validation_fault(meeting.duel) is None}


def _moment(day: str, then: Rated) -> Moment:
    return Moment(day=day, elo={version[:2]: elo for version, elo in then.elo().items()})


def _thinned(days: int, most: int) -> frozenset[int]:
    """Which days are kept; the last always is, the first where there is room for two."""
    if days <= most:
        return frozenset(range(days))
    return frozenset(days - 1 - i * (days - 1) // max(most - 1, 1) for i in range(max(most, 1)))
