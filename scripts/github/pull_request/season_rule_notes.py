"""What the season's rules mean for a pull request: phases, bans, quotas, and what is hidden until a date."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from evaluator.model.config.challenge import Challenge
from leaderboard.build_standings import RecordedLeaderboard
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import is_participant
from leaderboard.planning.admission_rules import evaluated_versions, phase_refusal, refused_entries
from leaderboard.planning.evaluation_quota import QuotaAccounts, QuotaExhausted
from leaderboard.planning.refusal_reasons import PhaseRefusalKind, Reason, SubmissionsEnded, reason_in_words
from leaderboard.text.format import format_utc
from scripts.git.beacons import VersionOrigins
from scripts.github.workflow.plan_context import MembershipLookup, members_of
from scripts.standings.admission_context import admission_at

# A comment on a pull request is written with a token that sees the public members of organisations and nothing else.
MEMBERSHIP_UNKNOWN = (
    "not seen: phase '{phase}' is for the members of {teams}; this comment can see public membership of an organisation "
    "only, and sees none of {login}. The official run asks again; whoever is a member has nothing to do"
)


def rules_before_merge(
    recorded: RecordedLeaderboard, logins: Iterable[str], now: datetime, lookup: MembershipLookup
) -> tuple[str, ...]:
    """What merging now would mean: phases that one may not enter, bans, what is left of quotas, what is hidden."""
    challenge, lines = recorded.challenge, list[str]()
    if recorded.final:
        lines.append(reason_in_words(SubmissionsEnded(challenge.season)))
    participants = sorted({login.casefold() for login in logins if not challenge.people.is_host(login)})
    members = members_of(challenge, participants, lookup)
    for login in participants:
        if ban := challenge.people.ban_of(login):
            lines.append(f"{login} may not take part: {ban.why}; nothing of it is evaluated")
        for phase in challenge.phases:
            refusal = phase_refusal(phase, login, now, members)
            if refusal and refusal.kind is PhaseRefusalKind.NOT_ALLOWED:
                unseen = MEMBERSHIP_UNKNOWN.format(phase=phase.id, teams=", ".join(phase.teams), login=login)
                lines.append(unseen if phase.teams else reason_in_words(refusal))
    return (*lines, *_quotas(recorded, participants, now, waits=True), *hidden_until(challenge, now))


def _quotas(recorded: RecordedLeaderboard, logins: Sequence[str], now: datetime, *, waits: bool) -> Iterator[str]:
    tasks = [task.id for task in recorded.challenge.tasks]
    for login in logins if recorded.final is None else ():
        for account in recorded.quota_accounts.of(login, tasks):
            full = account.exhausted(now) if waits else None
            yield f"{reason_in_words(full)}; a new version merged now waits until then" if full else account.remaining(now)


def hidden_until(challenge: Challenge, now: datetime) -> Iterator[str]:
    """The phases whose boards are not shown yet."""
    for phase in challenge.phases:
        if phase.public_from and not phase.is_shown(now):
            until = format_utc(phase.public_from)
            yield f"the boards of phase '{phase.id}' are hidden until {until}; official scores are told then"


def rules_after_merge(
    recorded: RecordedLeaderboard,
    origins: VersionOrigins,
    agents: Sequence[AgentName],
    now: datetime,
    lookup: MembershipLookup,
) -> tuple[dict[tuple[AgentName, str], Reason], tuple[str, ...]]:
    """Of merged agents: why each agent and task is held back, and what is left of quotas."""
    challenge = recorded.challenge
    names = {AgentName.folded(*name) for name in agents}
    mine = [entry for entry in recorded.entries if entry.name in names and is_participant(challenge.people, entry)]
    if not mine:
        return {}, tuple(hidden_until(challenge, now))
    members = members_of(challenge, [entry.login for entry in mine], lookup)
    evaluated = evaluated_versions(recorded.every_record, challenge.season)
    admission = replace(admission_at(now, origins, members), evaluated=evaluated)
    refused = refused_entries(challenge, recorded.entries, admission)
    deferred: dict[tuple[AgentName, str], Reason] = {}
    for entry in mine:
        for task in challenge.tasks:
            if entry.submission.plays(task):
                stays = origins.tasks.get((entry.spelled_name, task.id))
                beacon = challenge.sealed_beacon or (stays[-1].sha if stays else "")
                reason = refused.get((entry.spelled_name, task.id)) or _waits(
                    recorded.quota_accounts, entry, task.id, beacon, now
                )
                if reason:
                    deferred[entry.name, task.id] = reason
    logins = sorted({entry.login.casefold() for entry in mine})
    return deferred, (*_quotas(recorded, logins, now, waits=False), *hidden_until(challenge, now))


def _waits(accounts: QuotaAccounts, entry: Entry, task_id: str, beacon: str, now: datetime) -> QuotaExhausted | None:
    charge = (entry.login.casefold(), entry.digest, beacon)
    for account in accounts.of(entry.login, [task_id]):
        if charge not in account.first and (full := account.exhausted(now)):
            return full
    return None
