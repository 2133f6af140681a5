"""The time and memberships that all jobs of an official run share, so that each computes the same plan."""

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
    """The time of the plan, and who was a member of which team."""

    now: datetime
    members: Mapping[str, frozenset[str]] | None = None
    """Members among the owners, by organisation or team; None if nobody asked yet."""

    def serialised(self) -> str:
        """JSON for the other jobs."""
        members = {team: sorted(logins) for team, logins in (self.members or {}).items()}
        return json.dumps({"now": self.now.isoformat(), "members": members}, separators=(",", ":"))


def current_run_context() -> RunContext:
    """The current time, to the second, without memberships."""
    return RunContext(now=datetime.now(UTC).replace(microsecond=0))


def parse_run_context(text: str) -> RunContext:
    """The context of the plan job; the current time if there is none.

    Raises:
        CommandError: it is malformed.
    """
    if not text:
        return current_run_context()
    try:
        document = parse_strict(text.encode())
        now = datetime.fromisoformat(document["now"])
        members = {str(team): frozenset(map(str, logins)) for team, logins in document["members"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommandError(OUR_FAULT, f"--moment is not what the plan job hands on ({error})") from error
    if now.tzinfo is None:
        raise CommandError(OUR_FAULT, "--moment has no time zone; hand on what the plan job says")
    return RunContext(now=now, members=members)


def members_of(challenge: Challenge, logins: Iterable[str], is_member: MembershipLookup) -> dict[str, frozenset[str]]:
    """Members of the teams and organisations that phases name, among some logins; logins on allow lists are not asked."""
    owners = {login.casefold() for login in logins}
    members: dict[str, frozenset[str]] = {}
    for phase in challenge.phases:
        listed = {login.casefold() for login in phase.allow}
        for team in phase.teams:
            known_members = members.get(team, frozenset())
            unlisted = sorted(owners - listed - known_members)
            members[team] = known_members | {login for login in unlisted if is_member(login, team)}
    return members


def merge_times(entries: Iterable[Entry], found_beacons: Mapping[AgentName, SeedBeacon]) -> dict[AgentName, datetime]:
    """When each entry's version came to main."""
    beacons = {(login.casefold(), agent): beacon for (login, agent), beacon in found_beacons.items()}
    merged = ((entry.name, beacons.get(entry.name)) for entry in entries)
    return {name: datetime.fromisoformat(beacon.committed_at).astimezone(UTC) for name, beacon in merged if beacon}
