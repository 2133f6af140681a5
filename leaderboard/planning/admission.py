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
from leaderboard.core.eligibility import Name
from leaderboard.core.entry import Entry
from leaderboard.core.owners import faults, is_asked, taken
from leaderboard.planning.missing import DuelItem, Item, Where, plan
from leaderboard.planning.quota import Accounts, Held, hold
from leaderboard.text.format import stamp


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


@dataclass(frozen=True, kw_only=True)
class Admitted:
    """What is to be done, and what is not."""

    items: tuple[Item | DuelItem, ...]
    """Wanted, not recorded, and allowed now."""
    held: tuple[Held, ...]
    """Wanted and not recorded, but kept out; with `renews` it is wanted by itself then."""


def refusals(challenge: Challenge, entries: Iterable[Entry], gate: Gate) -> dict[tuple[Name, str], str]:
    """Entry and task, and why it is not evaluated there; quotas aside."""
    asked = [entry for entry in entries if is_asked(challenge.people, entry)]
    elsewhere = taken(asked, gate.arrived, gate.now) if challenge.people.one_team_each else {}
    found: dict[tuple[Name, str], str] = {}
    for entry in asked:
        wrong = [text for _, text in faults(challenge.people, entry.login, entry.submission)]
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
    where: Where,
    gate: Gate,
) -> Admitted:
    """The plan of a moment: what is wanted and not recorded, and whether it may be evaluated now."""
    refused = refusals(challenge, entries, gate)
    wanted = plan(challenge, entries, results, where, duels)
    held: list[Held] = []
    if refused:
        held = [found for item in wanted if (found := _refused(item, refused))]
        wanted = plan(challenge, _without(challenge, entries, refused), results, where, duels)
    accounts = Accounts(challenge, entries, results, duels)
    items, waiting = hold(challenge, wanted, accounts, gate.arrived, gate.now)
    return Admitted(items=tuple(items), held=(*held, *waiting))


def _refused(item: Item | DuelItem, refused: Mapping[tuple[Name, str], str]) -> Held | None:
    entries = (item.entry,) if isinstance(item, Item) else item.entries
    found = [why for entry in entries if (why := refused.get((entry.name, item.task_id)))]
    return Held(item=item, reason=found[0], renews=None) if found else None


def _without(challenge: Challenge, entries: Iterable[Entry], refused: Mapping[tuple[Name, str], str]) -> list[Entry]:
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
