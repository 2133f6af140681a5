"""The moment of an official run and what was asked at it: every job of the run plans by the same."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from evaluator.model.canonical_json import parse_strict
from evaluator.model.config.challenge import Challenge
from leaderboard.core.entry import AgentName, Entry
from scripts.console import OUR_FAULT, CommandError
from scripts.git.beacon import SeedBeacon

MembershipLookup = Callable[[str, str], bool]
"""Whether a login is a member of an organisation, or of `organisation/team`."""


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """When, and who was a member of what then."""

    now: datetime
    """The moment."""
    members: Mapping[str, frozenset[str]] | None = None
    """Of each organisation or team that the phases name: its members among the owners; None while nobody asked."""

    def serialised(self) -> str:
        """As one job hands it to the next."""
        members = {team: sorted(logins) for team, logins in (self.members or {}).items()}
        return json.dumps({"now": self.now.isoformat(), "members": members}, separators=(",", ":"))


def this_run() -> RunContext:
    """Now, to the second, with nothing asked yet."""
    return RunContext(now=datetime.now(UTC).replace(microsecond=0))


def parse_run_context(text: str) -> RunContext:
    """What another job handed on; now, where none did.

    Raises:
        CommandError: it is no moment.
    """
    if not text:
        return this_run()
    try:
        found = parse_strict(text.encode())
        now = datetime.fromisoformat(found["now"])
        members = {str(team): frozenset(map(str, logins)) for team, logins in found["members"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommandError(OUR_FAULT, f"--moment is not what the plan job hands on ({error})") from error
    if now.tzinfo is None:
        raise CommandError(OUR_FAULT, "--moment has no time zone; hand on what the plan job says")
    return RunContext(now=now, members=members)


def members_of(challenge: Challenge, logins: Iterable[str], asked: MembershipLookup) -> dict[str, frozenset[str]]:
    """Who of some logins is in the organisations and teams that phases name; those on an allow list need not be."""
    owners = {login.casefold() for login in logins}
    found: dict[str, frozenset[str]] = {}
    for phase in challenge.phases:
        listed = {login.casefold() for login in phase.allow}
        for team in phase.teams:
            known = found.get(team, frozenset())
            found[team] = known | {login for login in sorted(owners - listed - known) if asked(login, team)}
    return found


def merge_times(entries: Iterable[Entry], found: Mapping[AgentName, SeedBeacon]) -> dict[AgentName, datetime]:
    """When each version came to main, by login without capitals and folder."""
    beacons = {(login.casefold(), agent): beacon for (login, agent), beacon in found.items()}
    known = ((entry.name, beacons.get(entry.name)) for entry in entries)
    return {name: datetime.fromisoformat(beacon.committed_at).astimezone(UTC) for name, beacon in known if beacon}
