"""What is wanted and not recorded: the difference is what there is to do."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.config.submission import extras_needed_by, name_with_extras
from evaluator.model.records.duel_record import Duel, WantedDuel
from evaluator.model.records.result import Result, WantedResult
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.versions import NOWHERE, VersionFolders, version_folders
from leaderboard.planning.matchmaking import wanted_pairings

# Which evaluation: task, login without capitals, agent and key.
Mark = tuple[str, str, str, str]
# How often a failure of ours is tried again by itself; then somebody has to look.
TRIES = 3


@dataclass(frozen=True, kw_only=True)
class WorkItem:
    """One evaluation that is wanted."""

    entry: Entry
    """Which agent."""
    task_id: str
    """Which task."""
    wanted: WantedResult
    """What it is a function of."""
    reason: str
    """Why it is not recorded, in words."""


@dataclass(frozen=True, kw_only=True)
class DuelWorkItem:
    """One duel that is wanted."""

    entries: tuple[Entry, Entry]
    """Which players, in the order of the sides; twice the same where it is a validation."""
    task_id: str
    """Which game."""
    wanted: WantedDuel
    """What it is a function of."""
    reason: str
    """Why it is not recorded, in words."""

    @property
    def is_validation(self) -> bool:
        """Whether a player plays itself."""
        return self.entries[0].name == self.entries[1].name


@dataclass(frozen=True, kw_only=True)
class MeasurementContext:
    """What measures, and where the seeds come from."""

    runtime_digest: str
    """The protocol, the packages that measure, the base image."""
    beacon: str
    """Where no commit tells."""
    beacons: Mapping[tuple[AgentName, str], str] = field(default_factory=dict)
    """Login and agent, and the task's id, to the commit the seeds come from."""
    order: Mapping[str, int] = field(default_factory=dict)
    """Each beacon's place in main's history, the later the greater; not needed where there is one beacon."""

    locks: Mapping[str, str] = field(default_factory=dict)
    """Each extra's lock, by its SHA-256; not needed where nobody has any."""

    def runtime_of(self, *entries: Entry) -> str:
        """What measures these agents: all that measures everybody, and the locks of their extras."""
        return name_with_extras(self.runtime_digest, extras_needed_by(entry.submission for entry in entries), self.locks)

    def beacon_of(self, entry: Entry, task_id: str) -> str:
        """Where an entry's seeds on a task come from."""
        return self.beacons.get((AgentName(entry.login, entry.agent), task_id), self.beacon)

    def later(self, first: Entry, second: Entry, task_id: str) -> str:
        """Where the seeds of a duel come from: whoever came first could not foresee it.

        Raises:
            KeyError: the beacons differ, and `order` does not say which is the later one.
        """
        ours, theirs = self.beacon_of(first, task_id), self.beacon_of(second, task_id)
        return ours if ours == theirs else max(ours, theirs, key=lambda beacon: self.order[beacon])


@overload
def missing_work(
    challenge: Challenge, entries: Iterable[Entry], results: Iterable[Result], where: MeasurementContext
) -> list[WorkItem]: ...


@overload
def missing_work(
    challenge: Challenge,
    entries: Iterable[Entry],
    results: Iterable[Result],
    where: MeasurementContext,
    duels: Iterable[Duel],
) -> list[WorkItem | DuelWorkItem]: ...


def missing_work(
    challenge: Challenge,
    entries: Iterable[Entry],
    results: Iterable[Result],
    where: MeasurementContext,
    duels: Iterable[Duel] | None = None,
) -> list[WorkItem] | list[WorkItem | DuelWorkItem]:
    """Wanted − recorded: solo tasks by login, agent and task, then for each game its validations, then its pairs.

    An `internal_error` is not a record: it is tried again, a few times. Games are planned where `duels` is given.
    """
    entries = list(entries)
    at = version_folders(entries)
    solo = _evaluations(challenge, entries, list(results), where, at)
    if duels is None:
        return solo
    recorded = list(duels)
    found = [item for task in challenge.games for item in _duels(challenge, task, entries, recorded, where, at)]
    found.sort(key=lambda item: not item.is_validation)
    both: list[WorkItem | DuelWorkItem] = [*solo, *found]
    return both


def _evaluations(
    challenge: Challenge, entries: Sequence[Entry], results: Sequence[Result], where: MeasurementContext, at: VersionFolders
) -> list[WorkItem]:
    recorded = [r for r in results if r.verdict is not Verdict.INTERNAL_ERROR]
    done = {mark_of(result, at) for result in recorded} | given_up(results, at)
    seen = _Seen(recorded, at)
    items = []
    for entry in sorted(entries, key=lambda e: e.name):
        for task in challenge.solo_tasks:
            if not entry.submission.plays(task):
                continue
            wanted = WantedResult(
                submission_digest=entry.digest,
                task_digest=task.digest(),
                runtime_digest=where.runtime_of(entry),
                season=challenge.season,
                beacon=where.beacon_of(entry, task.id),
            )
            if (task.id, *entry.name, wanted.key()) not in done:
                items.append(
                    WorkItem(entry=entry, task_id=task.id, wanted=wanted, reason=seen.reason([entry], task.id, wanted))
                )
    return items


def _duels(
    challenge: Challenge,
    task: Task,
    entries: Sequence[Entry],
    duels: Sequence[Duel],
    where: MeasurementContext,
    at: VersionFolders,
) -> list[DuelWorkItem]:
    own = [duel for duel in duels if duel.task == task.id]
    recorded = [duel for duel in own if duel.verdict is Verdict.OK]
    done = {_duel_mark(duel, at) for duel in recorded} | given_up_duels(own, at)
    seen, digest = _Seen(recorded, at), task.digest()
    items = []
    for pair in wanted_pairings(task, entries, own, season=challenge.season, baselines=challenge.baselines):
        wanted = WantedDuel(
            submission_digests=(pair[0].digest, pair[1].digest),
            task_digest=digest,
            runtime_digest=where.runtime_of(*pair),
            season=challenge.season,
            beacon=where.later(*pair, task.id),
        )
        if (pair[0].name, pair[1].name, wanted.key()) not in done:
            reason = seen.reason(pair, task.id, wanted)
            items.append(DuelWorkItem(entries=pair, task_id=task.id, wanted=wanted, reason=reason))
    return items


def given_up(results: Iterable[Result], at: VersionFolders = NOWHERE) -> set[Mark]:
    """What failed on our side as often as we try."""
    failed = Counter(mark_of(result, at) for result in results if result.verdict is Verdict.INTERNAL_ERROR)
    return {mark for mark, count in failed.items() if count >= TRIES}


def given_up_duels(duels: Iterable[Duel], at: VersionFolders = NOWHERE) -> set[tuple[AgentName, AgentName, str]]:
    """Both players' names and the key of what failed on our side as often as we try."""
    failed = Counter(_duel_mark(duel, at) for duel in duels if duel.verdict is Verdict.INTERNAL_ERROR)
    return {mark for mark, count in failed.items() if count >= TRIES}


def mark_of(result: Result, at: VersionFolders = NOWHERE) -> Mark:
    """Task, login without capitals, the folder in which the version stands now, and key.

    The key alone would not do: two phases have the same settings, and each has a result of its own, on seeds of its own.
    """
    return (result.task, *at.of(result), result.key)


def _duel_mark(duel: Duel, at: VersionFolders) -> tuple[AgentName, AgentName, str]:
    return at.of(duel.players[0]), at.of(duel.players[1]), duel.key


def shown(item: WorkItem | DuelWorkItem) -> str:
    """What is wanted, in words."""
    if isinstance(item, WorkItem):
        return f"{item.entry.shown} on {item.task_id}"
    one, other = item.entries
    return f"{one.shown} against {'itself' if item.is_validation else other.shown} in {item.task_id}"


class _Made(NamedTuple):
    """What a result or a duel was a function of, but for its beacon."""

    versions: tuple[str, ...]
    task_digest: str
    runtime_digest: str
    season: str

    @classmethod
    def of(cls, made: Result | WantedResult | Duel | WantedDuel) -> "_Made":
        match made:
            case Result() | WantedResult():
                versions: tuple[str, ...] = (made.submission_digest,)
            case Duel():
                versions = tuple(player.submission_digest for player in made.players)
            case _:
                versions = made.submission_digests
        return cls(versions, made.task_digest, made.runtime_digest, made.season)


class _Seen:
    """What was recorded of each agent on each task, and of each pair in each game, to say why it is wanted anew."""

    def __init__(self, records: Iterable[Result | Duel], at: VersionFolders) -> None:
        self._made: dict[tuple[str, tuple[AgentName, ...]], list[_Made]] = defaultdict(list)
        for record in records:
            players = record.players if isinstance(record, Duel) else (record,)
            names = tuple(at.of(player) for player in players)
            self._made[record.task, names].append(_Made.of(record))

    def reason(self, entries: Sequence[Entry], task_id: str, wanted: WantedResult | WantedDuel) -> str:
        before = self._made.get((task_id, tuple(entry.name for entry in entries)), [])
        if not before:
            return "new"
        now = _Made.of(wanted)
        changed = [
            (all(made.versions != now.versions for made in before), "the agent changed"),
            (all(made.task_digest != now.task_digest for made in before), "the task's settings changed"),
            (all(made.runtime_digest != now.runtime_digest for made in before), "the evaluator changed"),
            (all(made.season != now.season for made in before), "another season"),
        ]
        return ", ".join(words for differs, words in changed if differs) or "another combination of versions"
