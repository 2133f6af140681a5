"""Quotas: how many versions an owner, or a team, had evaluated officially, and what waits until they renew.

An account belongs to a person, by GitHub's number of the account as far as one is recorded, or to a team: neither another
folder nor another login begins a new one. Everything is counted from what is recorded, so a limit that the hosts change
holds from that moment on, for everybody. A version that was counted once is evaluated again without a charge, whatever
made that necessary.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.phase import Phase, Quota
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.result import Result, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import is_asked, person_index, teams_of
from leaderboard.planning.missing import DuelWorkItem, WorkItem

Version = tuple[str, str]
"""Owner without capitals, and the digest of the version."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """One limit of a quota, as it stands."""

    words: str
    """`today`, `this month`, `this season` or `in this phase`."""
    limit: int
    """How many versions it allows."""
    used: int
    """How many there were; more than the limit where that was lowered."""
    renews: datetime | None
    """When it begins anew; None where it never does."""

    @property
    def left(self) -> int:
        """How many more it allows."""
        return max(0, self.limit - self.used)

    @property
    def renewal(self) -> str:
        """When it begins anew, in words."""
        return f"renews {self.renews:%Y-%m-%d %H:%M} UTC" if self.renews else "does not renew"


@dataclass(kw_only=True)
class OwnerAccount:
    """One quota and those who share it."""

    quota: Quota
    """The limits."""
    phase: Phase | None
    """Whose they are; None for the season's."""
    owners: frozenset[str]
    """Logins without capitals."""
    first: dict[Version, datetime] = field(default_factory=dict)
    """The versions that were counted, and when each was evaluated first."""

    def windows(self, now: datetime) -> list[Window]:
        """Each limit as it stands."""
        day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        month = day.replace(day=1)
        following = (month + timedelta(days=32)).replace(day=1)
        quota, whole = self.quota, "in this phase" if self.phase else "this season"
        asked = [
            ("today", quota.per_day, day, day + timedelta(days=1)),
            ("this month", quota.per_month, month, following),
            (whole, quota.total, None, None),
        ]
        return [
            Window(words=words, limit=limit, used=self._since(begin), renews=renews)
            for words, limit, begin, renews in asked
            if limit is not None
        ]

    def _since(self, begin: datetime | None) -> int:
        return sum(begin is None or at >= begin for at in self.first.values())

    def exhausted(self, now: datetime) -> Window | None:
        """The limit that allows no further version, the one that renews last; None where there is room."""
        full = [window for window in self.windows(now) if not window.left]
        return max(full, key=lambda window: window.renews or datetime.max.replace(tzinfo=UTC), default=None)

    def why(self, window: Window) -> str:
        """In words, why a version waits."""
        return f"{self.name}: {window.used} of {window.limit} {window.words}; {window.renewal}"

    @property
    def name(self) -> str:
        """Which quota it is."""
        return f"quota of phase '{self.phase.id}'" if self.phase else "quota"

    def remaining(self, now: datetime) -> str:
        """In words, what is left of it."""
        parts = [
            f"{window.left} of {window.limit} versions left {window.words}, {window.renewal}" for window in self.windows(now)
        ]
        shared = f", shared by {', '.join(sorted(self.owners))}" if len(self.owners) > 1 else ""
        return f"{self.name}{shared}: {'; '.join(parts)}"


@dataclass(frozen=True, kw_only=True)
class Deferred:
    """What is wanted and has to wait."""

    item: WorkItem | DuelWorkItem
    """What."""
    reason: str
    """Why, how long, and what to do."""
    renews: datetime | None
    """When it is wanted by itself; None where it never is."""


@dataclass(frozen=True)
class CountedVersion:
    """One official record of a version that counts."""

    side: Result | PlayerRecord
    task_id: str
    at: datetime

    @property
    def version(self) -> Version:
        """Which."""
        return self.side.login.casefold(), self.side.submission_digest


def counted_versions(challenge: Challenge, results: Iterable[Result], duels: Iterable[Duel]) -> Iterator[CountedVersion]:
    """Every record that counts; a version that plays many matches, or many tasks, is one version all the same."""
    records: list[Result | Duel] = [*results, *duels]
    for record in records:
        if record.tier is not Tier.OFFICIAL or record.season != challenge.season:
            continue
        if record.verdict is Verdict.INTERNAL_ERROR:
            continue
        at = datetime.strptime(record.provenance.evaluated_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        for player in record.players if isinstance(record, Duel) else (record,):
            if not _is_free(player):
                yield CountedVersion(player, record.task, at)


def _is_free(side: Result | PlayerRecord) -> bool:
    """Our failures and what never ran cost nothing.

    Whoever ran can break the contract on purpose, when it has seen what it earns, and be `invalid`: that is no way to draw
    once more for nothing.
    """
    if side.verdict is not Verdict.INVALID:
        return side.verdict is Verdict.INTERNAL_ERROR
    return not side.cost.steps if isinstance(side, PlayerRecord) else side.image_digest is None


class OwnerAccounts:
    """All accounts of a season."""

    def __init__(
        self, challenge: Challenge, entries: Iterable[Entry], results: Iterable[Result], duels: Iterable[Duel]
    ) -> None:
        results, duels = list(results), list(duels)
        self._challenge = challenge
        self._teams = teams_of(entries)
        self._persons = person_index([*results, *duels])
        self._quotas = [(None, challenge.quota), *((phase, phase.quota) for phase in challenge.phases)]
        self._found: dict[tuple[str | None, frozenset[str]], OwnerAccount] = {}
        if any(quota for _, quota in self._quotas):
            for record in counted_versions(challenge, results, duels):
                for account in self._of(*self._behind(record.side), [record.task_id]):
                    known = account.first.get(record.version)
                    account.first[record.version] = min(known or record.at, record.at)

    def of(self, login: str, task_ids: Iterable[str]) -> list[OwnerAccount]:
        """The accounts that versions of an owner on those tasks are charged to: the season's, then the phases'."""
        return self._of(login.casefold(), self._persons.of(login), task_ids)

    def _behind(self, side: Result | PlayerRecord) -> tuple[str, str]:
        """The login and the person of who was recorded."""
        return side.login.casefold(), self._persons.of_side(side)

    def _of(self, owner: str, person: str, task_ids: Iterable[str]) -> list[OwnerAccount]:
        """The same of a login and who is behind it: a login that was registered anew has another one's account no more."""
        tasks, found = set(task_ids), []
        same = person == self._persons.of(owner)
        for phase, quota in self._quotas:
            if quota is None or (phase is not None and not tasks.intersection(phase.tasks)):
                continue
            owners = self._teams.get(owner, frozenset([owner])) if quota.of == "team" and same else frozenset([owner])
            people = frozenset(map(self._persons.of, owners)) if same else frozenset([person])
            account = OwnerAccount(quota=quota, phase=phase, owners=owners)
            found.append(self._found.setdefault((phase.id if phase else None, people), account))
        return found


def apply_quotas(
    challenge: Challenge,
    items: Sequence[WorkItem | DuelWorkItem],
    accounts: OwnerAccounts,
    arrived: Mapping[AgentName, datetime],
    now: datetime,
) -> tuple[list[WorkItem | DuelWorkItem], list[Deferred]]:
    """What may be evaluated now, and what has to wait. Who came first is served first; the order of items stays."""
    order = sorted(range(len(items)), key=lambda i: (max(arrived.get(e.name, now) for e in _entries(items[i])), i))
    waiting: dict[int, Deferred] = {}
    for index in order:
        item = items[index]
        needed = [
            (account, version)
            for entry in _entries(item)
            if is_asked(challenge.people, entry)
            for version in [(entry.login.casefold(), entry.digest)]
            for account in accounts.of(entry.login, [item.task_id])
            if version not in account.first
        ]
        full = [(account, window) for account, _ in needed if (window := account.exhausted(now))]
        if full:
            account, window = full[0]
            waiting[index] = Deferred(item=item, reason=account.why(window), renews=window.renews)
            continue
        for account, version in needed:
            account.first[version] = now
    return [item for index, item in enumerate(items) if index not in waiting], [waiting[i] for i in sorted(waiting)]


def _entries(item: WorkItem | DuelWorkItem) -> tuple[Entry, ...]:
    return (item.entry,) if isinstance(item, WorkItem) else item.entries
