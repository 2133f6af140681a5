"""Which wanted work may be done at a moment: the missing work less what phases, people and quotas keep out."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.phase import Phase, PhaseState
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import (
    Banned,
    ParticipantFault,
    author_logins,
    is_participant,
    participant_faults,
    team_conflicts,
)
from leaderboard.planning.evaluation_quota import QuotaAccounts, QuotaExhausted, apply_quotas
from leaderboard.planning.missing_work import DuelWorkItem, MeasurementContext, WorkItem, missing_work
from leaderboard.planning.refusal_reasons import ParticipantRefusal, PhaseRefusal, PhaseRefusalKind, Reason

EvaluatedVersion = tuple[str, str, str]
"""Login in lower case, digest, and task."""


@dataclass(frozen=True, kw_only=True)
class AdmissionContext:
    """A moment, and what only git and GitHub know at it."""

    now: datetime
    arrived: Mapping[AgentName, datetime] = field(default_factory=dict)
    """By the folder as it is spelled, when its version came to main; what is missing here counts as arriving now."""
    entered: Mapping[tuple[AgentName, str], datetime] = field(default_factory=dict)
    """When each present version was first entered for each task: a manifest may name a task long after the version came."""
    members: Mapping[str, frozenset[str]] | None = None
    """The owners in each organisation or team, in lower case; None where GitHub could not be asked."""
    named: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    """Owner and author, in lower case, to when the owner's agents began to name the author."""
    evaluated: Collection[EvaluatedVersion] = frozenset()
    """Versions that are evaluated further though their owner has left the team that may enter, and, until submissions end,
    whatever else refuses them except a ban.

    Their results stay on the leaderboard, so a player could else stop while it leads, and meet nobody who comes later.
    """

    def arrival(self, entry: Entry, task_id: str) -> datetime:
        """When an entry's version came to main and was entered for a task."""
        came = self.arrived.get(entry.spelled_name, self.now)
        return max(came, self.entered.get((entry.spelled_name, task_id), came))


def tasks_by_name(challenge: Challenge, entries: Iterable[Entry]) -> dict[AgentName, list[str]]:
    """The ids of the tasks that each folder enters."""
    return {entry.spelled_name: [task.id for task in challenge.tasks if entry.submission.plays(task)] for entry in entries}


def authors_by_owner(challenge: Challenge, entries: Iterable[Entry]) -> dict[str, set[str]]:
    """The authors that each owner names, in lower case, where everyone may be in one team only; else none."""
    authors: dict[str, set[str]] = defaultdict(set)
    for entry in entries if challenge.people.one_team_each else ():
        authors[entry.login.casefold()] |= author_logins(entry.submission)
    return authors


_NOT_OPEN = {
    PhaseState.CLOSED: PhaseRefusalKind.CLOSED,
    PhaseState.BEGINS_LATER: PhaseRefusalKind.TOO_EARLY,
    PhaseState.ENDED: PhaseRefusalKind.TOO_LATE,
}


def phase_refusal(
    phase: Phase, login: str, at: datetime, members: Mapping[str, frozenset[str]] | None
) -> PhaseRefusal | None:
    """Why a version that comes to main at a moment does not count in a phase; None if it counts."""
    kind = _NOT_OPEN.get(phase.state(at))
    if kind is None and not _may_enter(phase, login.casefold(), members):
        kind = PhaseRefusalKind.NOT_ALLOWED
    if kind is None:
        return None
    return PhaseRefusal(kind=kind, phase=phase, login=login)


def _may_enter(phase: Phase, login: str, members: Mapping[str, frozenset[str]] | None) -> bool:
    """Whether a phase is open to a login. Where GitHub could not be asked, everybody counts as a member of its teams."""
    if not (phase.allow or phase.teams) or login in {other.casefold() for other in phase.allow}:
        return True
    return bool(phase.teams) and (members is None or any(login in members.get(team, ()) for team in phase.teams))


Refusals = Mapping[tuple[AgentName, str], ParticipantRefusal | PhaseRefusal]
"""Entry, by the folder as it is spelled, and task to why it is not evaluated there."""


@dataclass(frozen=True, kw_only=True)
class Deferred:
    """Wanted work that is not admitted now."""

    item: WorkItem | DuelWorkItem
    reason: Reason

    @property
    def renews(self) -> datetime | None:
        """When it is admitted without anybody doing anything; None if never."""
        return self.reason.window.renews if isinstance(self.reason, QuotaExhausted) else None


@dataclass(frozen=True, kw_only=True)
class AdmissionPlan:
    """The missing work: what may be done now, and what has to wait."""

    items: tuple[WorkItem | DuelWorkItem, ...]
    deferred: tuple[Deferred, ...]


def refused_entries(challenge: Challenge, entries: Iterable[Entry], admission: AdmissionContext) -> Refusals:
    """Where entries are not evaluated because of their people or a phase; quotas are not looked at."""
    participants = [entry for entry in entries if is_participant(challenge.people, entry)]
    one_team_each = challenge.people.one_team_each
    conflicts = team_conflicts(participants, admission.arrived, admission.now, admission.named) if one_team_each else {}
    refused: dict[tuple[AgentName, str], ParticipantRefusal | PhaseRefusal] = {}
    for entry in participants:
        every_fault: list[ParticipantFault] = list(participant_faults(challenge.people, entry.login, entry.submission))
        every_fault += [conflicts[entry.name]] if entry.name in conflicts else []
        for task in challenge.tasks:
            phase = challenge.phase_of(task.id)
            if not entry.submission.plays(task):
                continue
            was_evaluated = (entry.name.login, entry.digest, task.id) in admission.evaluated
            goes_on = was_evaluated and not challenge.is_final
            faults = [fault for fault in every_fault if not goes_on or isinstance(fault, Banned)]
            if faults:
                refused[entry.spelled_name, task.id] = ParticipantRefusal(tuple(faults))
            elif phase and (
                refusal := phase_refusal(
                    phase,
                    entry.login,
                    admission.arrival(entry, task.id),
                    None if was_evaluated else admission.members,
                )
            ):
                refused[entry.spelled_name, task.id] = refusal
    return refused


def evaluated_versions(records: Iterable[Result | Duel], season: str) -> frozenset[EvaluatedVersion]:
    """Those that a season has official records of."""
    official = (record for record in records if record.season == season and is_official(record))
    return frozenset(
        (side.login.casefold(), side.submission_digest, record.task) for record in official for side in record.sides
    )


def admit_work(
    challenge: Challenge,
    entries: Sequence[Entry],
    results: Sequence[Result],
    duels: Sequence[Duel],
    measurement: MeasurementContext,
    admission: AdmissionContext,
    charged: Iterable[Result | Duel] | None = None,
) -> AdmissionPlan:
    """Split the missing work into what may be done now and what is held back.

    `charged`: results and duels with those in quarantine, which are missing and yet charged; the same two if left out.
    """
    charged = [*results, *duels] if charged is None else list(charged)
    evaluated = evaluated_versions(charged, challenge.season)
    refused = refused_entries(challenge, entries, replace(admission, evaluated=evaluated))
    wanted = missing_work(challenge, entries, results, measurement, duels)
    deferred: list[Deferred] = []
    if refused:
        deferred = [kept for item in wanted if (kept := _deferred(item, refused))]
        wanted = missing_work(challenge, _without(challenge, entries, refused), results, measurement, duels)
    accounts = QuotaAccounts(challenge, entries, charged)
    items, waiting = apply_quotas(challenge, wanted, accounts, admission.arrived, admission.now)
    deferred += [Deferred(item=item, reason=exhausted) for item, exhausted in waiting]
    return AdmissionPlan(items=tuple(items), deferred=tuple(deferred))


def _deferred(item: WorkItem | DuelWorkItem, refused: Refusals) -> Deferred | None:
    reasons = [reason for entry in item.players if (reason := refused.get((entry.spelled_name, item.task_id)))]
    return Deferred(item=item, reason=reasons[0]) if reasons else None


def _without(challenge: Challenge, entries: Iterable[Entry], refused: Refusals) -> list[Entry]:
    """The entries as if their manifests named only the tasks that they may be evaluated on."""
    allowed = []
    for entry in entries:
        played = [task.id for task in challenge.tasks if entry.submission.plays(task)]
        tasks = tuple(task_id for task_id in played if (entry.spelled_name, task_id) not in refused)
        if len(tasks) == len(played):
            allowed.append(entry)
        elif tasks:
            allowed.append(replace(entry, submission=entry.submission.model_copy(update={"tasks": tasks})))
    return allowed
