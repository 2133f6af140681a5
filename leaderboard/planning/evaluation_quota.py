"""Quotas: how many versions an owner, or a team, had evaluated officially, and what waits until a quota renews.

A quota's account belongs to a person (by the id of the GitHub account, if one is recorded) or to a team, so neither another
folder nor another login starts a new one. Usage is counted from the records, so a limit that the hosts change applies to
everybody at once. What is charged is a version on the seeds of one beacon: it is evaluated again without a charge, for
whatever reason; a version that left main and came back has another beacon, which counts again.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.phase import Phase, Quota
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import PREVIEW_BEACON, Tier
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import is_participant, person_index, team_people
from leaderboard.planning.missing_work import DuelWorkItem, WorkItem

Charge = tuple[str, str, str]
"""The owner's login in lower case, the digest of the version, and the beacon that its seeds come from."""


class QuotaPeriod(StrEnum):
    """What a limit of a quota applies to; the value is how it is written."""

    DAY = "today"
    MONTH = "this month"
    SEASON = "this season"
    PHASE = "in this phase"


@dataclass(frozen=True, kw_only=True)
class QuotaWindow:
    """One limit of a quota and how much of it is used."""

    period: QuotaPeriod
    limit: int
    """Versions allowed."""
    used: int
    """More than the limit if the limit was lowered."""
    renews: datetime | None
    """When counting starts again; None if never."""

    @property
    def left(self) -> int:
        """Versions still allowed."""
        return max(0, self.limit - self.used)

    @property
    def renewal(self) -> str:
        """When counting starts again, in words."""
        return f"renews {self.renews:%Y-%m-%d %H:%M} UTC" if self.renews else "does not renew"


@dataclass(frozen=True, kw_only=True)
class QuotaExhausted:
    """A quota that allows no further version now."""

    phase: Phase | None
    """Whose quota it is; None for the season's."""
    window: QuotaWindow


def quota_name(phase: Phase | None) -> str:
    """How a quota is called: a phase's, or the season's for None."""
    return f"quota of phase '{phase.id}'" if phase else "quota"


@dataclass(kw_only=True)
class QuotaAccount:
    """One quota and those who share it."""

    quota: Quota
    phase: Phase | None
    """Whose quota it is; None for the season's."""
    owners: frozenset[str]
    """Logins with entries, in lower case."""
    first: dict[Charge, datetime] = field(default_factory=dict)
    """What was charged, and when it was evaluated first."""

    def has(self, charge: Charge) -> bool:
        """Whether it was charged. A charge with the preview's beacon stands for all draws of its version."""
        login, digest, beacon = charge
        is_any = beacon == PREVIEW_BEACON and any(first[:2] == (login, digest) for first in self.first)
        return is_any or charge in self.first

    def windows(self, now: datetime) -> list[QuotaWindow]:
        """Each limit and how much of it is used."""
        day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        month = day.replace(day=1)
        next_month = (month + timedelta(days=32)).replace(day=1)
        limits = [
            (QuotaPeriod.DAY, self.quota.per_day, day, day + timedelta(days=1)),
            (QuotaPeriod.MONTH, self.quota.per_month, month, next_month),
            (QuotaPeriod.PHASE if self.phase else QuotaPeriod.SEASON, self.quota.total, None, None),
        ]
        return [
            QuotaWindow(period=period, limit=limit, used=self._since(begin), renews=renews)
            for period, limit, begin, renews in limits
            if limit is not None
        ]

    def _since(self, begin: datetime | None) -> int:
        return sum(begin is None or at >= begin for at in self.first.values())

    def exhausted(self, now: datetime) -> QuotaExhausted | None:
        """The limit that allows no further version, the one that renews last; None where there is room."""
        full = [window for window in self.windows(now) if not window.left]
        if not full:
            return None
        window = max(full, key=lambda window: window.renews or datetime.max.replace(tzinfo=UTC))
        return QuotaExhausted(phase=self.phase, window=window)

    def remaining(self, now: datetime) -> str:
        """What is left of it, in words."""
        parts = [
            f"{window.left} of {window.limit} versions left {window.period}, {window.renewal}"
            for window in self.windows(now)
        ]
        shared = f", shared by {', '.join(sorted(self.owners))}" if len(self.owners) > 1 else ""
        return f"{quota_name(self.phase)}{shared}: {'; '.join(parts)}"


@dataclass(frozen=True)
class ChargedRecord:
    """One official record that is charged."""

    side: Result | PlayerRecord
    task_id: str
    beacon: str
    at: datetime

    @property
    def charge(self) -> Charge:
        """What is charged."""
        return self.side.login.casefold(), self.side.submission_digest, self.beacon


def charged_records(challenge: Challenge, records: Iterable[Result | Duel]) -> Iterator[ChargedRecord]:
    """Every record that is charged. Many tasks are one charge; of duels only validations count, which come first.

    What never ran is charged, too: whoever can let its image or weights be missing, or its host fail until another version
    is merged, may have computed its score first.
    """
    for record in records:
        if record.tier is not Tier.OFFICIAL or record.season != challenge.season:
            continue
        if isinstance(record, Duel) and not record.is_validation:
            continue
        if not record.is_try:
            continue
        at = datetime.strptime(record.provenance.evaluated_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        for player in record.sides:
            yield ChargedRecord(player, record.task, record.beacon, at)


class QuotaAccounts:
    """All accounts of a season."""

    def __init__(self, challenge: Challenge, entries: Iterable[Entry], records: Iterable[Result | Duel]) -> None:
        """Take everything recorded, also what is in quarantine: it is replayed without a charge, and was known before."""
        entries, records = list(entries), list(records)
        self._persons = person_index(records)
        self._team = team_people(entries, self._persons)
        self._logins: dict[str, set[str]] = defaultdict(set)
        for entry in entries:
            self._logins[self._persons.person_of(entry.login)].add(entry.name.login)
        # Once submissions have ended, every version on main then is evaluated once more.
        self._quotas = [] if challenge.is_final else [(None, challenge.quota), *((p, p.quota) for p in challenge.phases)]
        self._accounts: dict[tuple[str | None, frozenset[str]], QuotaAccount] = {}
        if any(quota for _, quota in self._quotas):
            for record in charged_records(challenge, records):
                person = self._persons.person_of_side(record.side)
                for account in self._of(person, [record.task_id]):
                    first = account.first.get(record.charge)
                    account.first[record.charge] = min(first or record.at, record.at)

    def of(self, login: str, task_ids: Iterable[str]) -> list[QuotaAccount]:
        """The accounts charged for an owner's versions on those tasks: the season's, then the phases'."""
        return self._of(self._persons.person_of(login), task_ids)

    def _of(self, person: str, task_ids: Iterable[str]) -> list[QuotaAccount]:
        tasks, accounts = set(task_ids), []
        for phase, quota in self._quotas:
            if quota is None or (phase is not None and not tasks.intersection(phase.tasks)):
                continue
            people = self._team.get(person) if quota.of == "team" else None
            key = phase.id if phase else None, people or frozenset([person])
            if key not in self._accounts:
                owners = frozenset(login for member in key[1] for login in self._logins.get(member, ()))
                self._accounts[key] = QuotaAccount(quota=quota, phase=phase, owners=owners)
            accounts.append(self._accounts[key])
        return accounts


def apply_quotas(
    challenge: Challenge,
    items: Sequence[WorkItem | DuelWorkItem],
    accounts: QuotaAccounts,
    arrived: Mapping[AgentName, datetime],
    now: datetime,
) -> tuple[list[WorkItem | DuelWorkItem], list[tuple[WorkItem | DuelWorkItem, QuotaExhausted]]]:
    """Split items into those the quotas allow now and those that wait: first come, first served; the order stays."""
    order = sorted(range(len(items)), key=lambda i: (max(arrived.get(e.spelled_name, now) for e in items[i].players), i))
    waiting: dict[int, tuple[WorkItem | DuelWorkItem, QuotaExhausted]] = {}
    for index in order:
        item = items[index]
        charges = [
            (account, charge)
            for entry in _charged(item)
            if is_participant(challenge.people, entry)
            for charge in [(entry.login.casefold(), entry.digest, item.wanted.beacon)]
            for account in accounts.of(entry.login, [item.task_id])
            if not account.has(charge)
        ]
        full = next((reason for account, _ in charges if (reason := account.exhausted(now))), None)
        if full:
            waiting[index] = item, full
            continue
        for account, charge in charges:
            account.first[charge] = now
    return [item for index, item in enumerate(items) if index not in waiting], [waiting[i] for i in sorted(waiting)]


def _charged(item: WorkItem | DuelWorkItem) -> tuple[Entry, ...]:
    """Who is charged for an item: nobody for a match, since both players were charged for their validations."""
    if isinstance(item, DuelWorkItem):
        return item.entries[:1] if item.is_validation else ()
    return item.players
