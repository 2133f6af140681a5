"""The moment at which versions are admitted, and what a phase says of a version at it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from evaluator.model.config.phase import Phase
from leaderboard.core.eligibility import Name
from leaderboard.core.entry import Entry
from leaderboard.phases import stamp


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A moment, and what only git and GitHub know at it."""

    now: datetime
    """The moment."""
    arrived: Mapping[Name, datetime] = field(default_factory=dict)
    """When each present version came to main; now where nothing tells."""
    members: Mapping[str, frozenset[str]] | None = None
    """Each organisation's or team's members among the owners, without capitals; None where nobody could ask."""

    def arrival(self, entry: Entry) -> datetime:
        """When an entry's version came to main."""
        return self.arrived.get(entry.name, self.now)


def phase_refusal(phase: Phase, login: str, at: datetime, members: Mapping[str, frozenset[str]] | None) -> str | None:
    """Why a version that comes to main at that moment does not count in a phase, and what to do; None if it counts."""
    called = f"phase '{phase.id}'"
    if not phase.active:
        return f"closed: the hosts closed {called}; it counts nothing until they open it"
    if phase.start and phase.is_before(at):
        return f"too early: {called} begins {stamp(phase.start)}; a version counts if it is merged from then on"
    if phase.end and phase.is_over(at):
        return f"too late: {called} ended {stamp(phase.end)}; what was recorded in time stays, the other tasks are open"
    if not (phase.allow or phase.teams) or login.casefold() in {other.casefold() for other in phase.allow}:
        return None
    if phase.teams and (members is None or any(login.casefold() in members.get(team, ()) for team in phase.teams)):
        return None
    whom = [f"the members of {', '.join(phase.teams)}"] if phase.teams else []
    whom += ["those on its list"] if phase.allow else []
    return f"not allowed: {called} is for {' and '.join(whom)}, and {login} is none of them; ask the hosts"
