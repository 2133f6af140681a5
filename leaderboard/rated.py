"""Rated players: from the duels that count to strengths, with one of the players at 0."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluator.model.config.challenge import Task
from leaderboard.core.eligibility import LOCAL
from leaderboard.duels import Meeting, Pair, Version
from leaderboard.ratings import Pairing, Ratings, rate


@dataclass(frozen=True, kw_only=True)
class Rated:
    """Players that met at least one other."""

    players: tuple[Version, ...]
    """In order of their names."""
    met: Mapping[tuple[int, int], Meeting]
    """For each two that met, by their positions, what counts."""
    anchor: int
    """The position of the one at 0."""
    ratings: Ratings
    """By position."""

    def elo(self) -> dict[Version, float]:
        """How strong each is."""
        return dict(zip(self.players, self.ratings.elo.tolist(), strict=True))


def rated(admitted: Mapping[Version, str], meetings: Mapping[Pair, Meeting], zero: Iterable[str]) -> Rated | None:
    """Rate those who met; None where nobody did.

    Args:
        admitted: who may play, and since when.
        meetings: what counts; of players that are not admitted too, and validations.
        zero: names by preference; the first that plays is rated 0, else the player that is here longest.
    """
    between = {p: m for p, m in meetings.items() if p[0] != p[1] and p[0] in admitted and p[1] in admitted}
    players = tuple(sorted({version for pair in between for version in pair}))
    if not players:
        return None
    position = {version: index for index, version in enumerate(players)}
    met = {(position[a], position[b]): between[a, b] for a, b in sorted(between)}
    anchor = position[_anchor(players, admitted, zero)]
    return Rated(players=players, met=met, anchor=anchor, ratings=rate(_pairings(met), len(players), anchor))


def _pairings(met: Mapping[tuple[int, int], Meeting]) -> list[Pairing]:
    return [
        Pairing(a, b, meeting.tally.wins[0], meeting.tally.wins[1], meeting.tally.draws) for (a, b), meeting in met.items()
    ]


def _anchor(players: Iterable[Version], admitted: Mapping[Version, str], zero: Iterable[str]) -> Version:
    named = (version for name in zero for version in players if is_named(version, name))
    return next(named, None) or min(players, key=lambda version: (admitted[version], version))


def anchors(task: Task, baselines: Sequence[str]) -> list[str]:
    """Who may be rated 0, by preference."""
    return [*([task.anchor] if task.anchor else []), *baselines]


def is_named(version: Version, name: str) -> bool:
    """Whether challenge.yml means this player; examples are named by their folder alone."""
    login, agent, _ = version
    return name.casefold() == (agent if login == LOCAL else f"{login}/{agent}").casefold()
