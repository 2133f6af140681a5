"""What all jobs of an official run share: the time and memberships, so that each computes the same plan, and the secret."""

import contextlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from evaluator.host.seeds.season_secret import SECRET_VARIABLE, SeasonSecret, SecretError, read_secret
from evaluator.model.canonical_json import parse_strict
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.result import Result
from evaluator.model.sealed_fields import secret_hash
from scripts.console import OUR_FAULT, USAGE, CommandError
from scripts.repository.season_file import SeasonFile, secret_fault

MembershipLookup = Callable[[str, str], bool]
"""Whether a login is a member of an organisation, or of `organisation/team`."""
# The times of a job are public, and an agent can be slow on purpose, or have much to be replayed, to signal something: what
# depends on it lasts a full multiple of this.
JOB_SLOT_SECONDS = 600.0


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


def season_secret(text: str, challenge: Challenge) -> SeasonSecret | None:
    """The secret of a sealed season; None for open seeds.

    Raises:
        CommandError: it is missing, or not the one of the hash.
    """
    if challenge.sealed is None:
        return None
    try:
        return read_secret(text, challenge.sealed.secret_sha256)
    except SecretError as error:
        raise CommandError(OUR_FAULT, str(error)) from error


def refuse_changed_seeds(challenge: Challenge, seasons: SeasonFile, results: Collection[Result]) -> None:
    """Make sure that a season keeps its episodes, since scores on different ones cannot be compared, and has them alone.

    Raises:
        CommandError: results were recorded with another secret, or before the season was sealed or opened, or the secret is
            another season's.
    """
    if seasons.of(challenge.season).revealed is None and (fault := secret_fault(challenge, seasons, results)):
        raise CommandError(OUR_FAULT, fault)
    ours = challenge.sealed and challenge.sealed.secret_sha256
    if any(result.season == challenge.season and secret_hash(result.beacon) != ours for result in results):
        now = "its secret's hash in challenge.yml is another one" if ours else "it was sealed, and challenge.yml says open"
        fault = f"season {challenge.season} has results of other episodes: {now}"
        raise CommandError(OUR_FAULT, f"{fault}; put back what was there, or give the season another name")


def refuse_secret(text: str) -> None:
    """Make sure that the secret is not in a job that runs unmerged code of strangers.

    Raises:
        CommandError: it is set.
    """
    if text.strip():
        raise CommandError(
            USAGE, f"{SECRET_VARIABLE} is set in a preview, which must not know it; give it to the official jobs alone"
        )


@contextlib.contextmanager
def padded_if_sealed(challenge: Challenge) -> Iterator[None]:
    """In a sealed season the block lasts a full multiple of `JOB_SLOT_SECONDS`, also where it fails."""
    begun = time.monotonic()
    try:
        yield
    finally:
        if challenge.sealed:
            time.sleep((begun - time.monotonic()) % JOB_SLOT_SECONDS)
