"""Who may be evaluated on what at which moment: the plan less what phases, people and quotas keep out, each with its reason.

A pure function of the rules, of what stands on main, of what is recorded, and of a moment with what was asked at it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.phase import Phase
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import is_asked, participant_faults, taken_team_names
from leaderboard.planning.missing import DuelWorkItem, MeasurementContext, WorkItem, missing_work
from leaderboard.planning.quota import Deferred, OwnerAccounts, apply_quotas
from leaderboard.text.format import format_utc


@dataclass(frozen=True, kw_only=True)
class AdmissionContext:
    """A moment, and what only git and GitHub know at it."""

    now: datetime
    """The moment."""
    arrived: Mapping[AgentName, datetime] = field(default_factory=dict)
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
        return f"too early: {called} begins {format_utc(phase.start)}; a version counts if it is merged from then on"
    if phase.end and phase.is_over(at):
        return f"too late: {called} ended {format_utc(phase.end)}; what was recorded in time stays, the other tasks are open"
    if not (phase.allow or phase.teams) or login.casefold() in {other.casefold() for other in phase.allow}:
        return None
    if phase.teams and (members is None or any(login.casefold() in members.get(team, ()) for team in phase.teams)):
        return None
    whom = [f"the members of {', '.join(phase.teams)}"] if phase.teams else []
    whom += ["those on its list"] if phase.allow else []
    return f"not allowed: {called} is for {' and '.join(whom)}, and {login} is none of them; ask the hosts"


@dataclass(frozen=True, kw_only=True)
class AdmissionPlan:
    """What is to be done, and what is not."""

    items: tuple[WorkItem | DuelWorkItem, ...]
    """Wanted, not recorded, and allowed now."""
    held: tuple[Deferred, ...]
    """Wanted and not recorded, but kept out; with `renews` it is wanted by itself then."""


def refusals(challenge: Challenge, entries: Iterable[Entry], gate: AdmissionContext) -> dict[tuple[AgentName, str], str]:
    """Entry and task, and why it is not evaluated there; quotas aside."""
    asked = [entry for entry in entries if is_asked(challenge.people, entry)]
    elsewhere = taken_team_names(asked, gate.arrived, gate.now) if challenge.people.one_team_each else {}
    found: dict[tuple[AgentName, str], str] = {}
    for entry in asked:
        wrong = [text for _, text in participant_faults(challenge.people, entry.login, entry.submission)]
        wrong += [elsewhere[entry.name]] if entry.name in elsewhere else []
        for task in challenge.tasks:
            phase = challenge.phase_of(task.id)
            if not entry.submission.plays(task):
                continue
            if wrong:
                found[entry.name, task.id] = "left out: " + "; ".join(wrong)
            elif phase and (why := phase_refusal(phase, entry.login, gate.arrival(entry), gate.members)):
                found[entry.name, task.id] = why
    return found


def admit(
    challenge: Challenge,
    entries: Sequence[Entry],
    results: Sequence[Result],
    duels: Sequence[Duel],
    where: MeasurementContext,
    gate: AdmissionContext,
) -> AdmissionPlan:
    """The plan of a moment: what is wanted and not recorded, and whether it may be evaluated now."""
    refused = refusals(challenge, entries, gate)
    wanted = missing_work(challenge, entries, results, where, duels)
    held: list[Deferred] = []
    if refused:
        held = [found for item in wanted if (found := _refused(item, refused))]
        wanted = missing_work(challenge, _without(challenge, entries, refused), results, where, duels)
    accounts = OwnerAccounts(challenge, entries, results, duels)
    items, waiting = apply_quotas(challenge, wanted, accounts, gate.arrived, gate.now)
    return AdmissionPlan(items=tuple(items), held=(*held, *waiting))


def _refused(item: WorkItem | DuelWorkItem, refused: Mapping[tuple[AgentName, str], str]) -> Deferred | None:
    entries = (item.entry,) if isinstance(item, WorkItem) else item.entries
    found = [why for entry in entries if (why := refused.get((entry.name, item.task_id)))]
    return Deferred(item=item, reason=found[0], renews=None) if found else None


def _without(challenge: Challenge, entries: Iterable[Entry], refused: Mapping[tuple[AgentName, str], str]) -> list[Entry]:
    """The entries as if their manifests named only the tasks that they may be evaluated on."""
    kept = []
    for entry in entries:
        played = [task.id for task in challenge.tasks if entry.submission.plays(task)]
        tasks = tuple(task_id for task_id in played if (entry.name, task_id) not in refused)
        if len(tasks) == len(played):
            kept.append(entry)
        elif tasks:
            kept.append(replace(entry, submission=entry.submission.model_copy(update={"tasks": tasks})))
    return kept
