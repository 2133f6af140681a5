"""What all jobs of an official run share: the time and memberships, so that each computes the same plan."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from evaluator.model.canonical_json import parse_strict
from evaluator.model.config.challenge import Challenge
from scripts.console import OUR_FAULT, CommandError

MembershipLookup = Callable[[str, str], bool]
"""Whether a login is a member of an organisation, or of `organisation/team`."""


@dataclass(frozen=True, kw_only=True)
class PlanContext:
    """The time of the plan, and who was a member of which team."""

    now: datetime
    members: Mapping[str, frozenset[str]] | None = None
    """Members among the owners, by organisation or team; None if nobody asked yet."""

    def serialised(self) -> str:
        """JSON for the other jobs."""
        members = {team: sorted(logins) for team, logins in (self.members or {}).items()}
        return json.dumps({"now": self.now.isoformat(), "members": members}, separators=(",", ":"))


def current_plan_context() -> PlanContext:
    """The current time, to the second, without memberships."""
    return PlanContext(now=datetime.now(UTC).replace(microsecond=0))


def parse_plan_context(text: str) -> PlanContext:
    """The context of the plan job; the current time if there is none.

    Raises:
        CommandError: it is malformed.
    """
    if not text:
        return current_plan_context()
    try:
        document = parse_strict(text.encode())
        now = datetime.fromisoformat(document["now"])
        members = {str(team): frozenset(map(str, logins)) for team, logins in document["members"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommandError(OUR_FAULT, f"--plan-context is not what the plan job hands on ({error})") from error
    if now.tzinfo is None:
        raise CommandError(OUR_FAULT, "--plan-context has no time zone; hand on what the plan job says")
    return PlanContext(now=now, members=members)


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
