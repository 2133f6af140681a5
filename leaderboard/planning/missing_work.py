"""Missing work: evaluations and duels that are wanted and not recorded."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission import extras_needed_by, name_with_extras
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import SIDES, Duel, Side, WantedDuel
from evaluator.model.records.result import Result, WantedResult
from evaluator.model.records.stored_record import FILE_DIGITS
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import owner_groups
from leaderboard.core.version_folders import AS_RECORDED, VersionFolders, version_folders
from leaderboard.ratings.rated_duels import counting_duels, newest_duels, partition_by_validation


def wanted_pairings(
    task: Task,
    entries: Iterable[Entry],
    duels: Iterable[Duel],
    *,
    season: str,
    baselines: Sequence[str] = (),
    final_beacon: str | None = None,
) -> list[tuple[Entry, Entry]]:
    """Every duel that is wanted of a game, recorded or not, each pair in the order of the sides.

    First the validations, each player with itself; then the pairs of those whose validation is recorded and passed.

    Args:
        task: the game.
        entries: the agents on main now, less those that moderation excludes.
        duels: everything recorded; of any tier, since a local checkout plans by its own records.
        season: duels of other seasons do not count.
        baselines: their names; a player meets them first.
        final_beacon: that of the final draws, after the end of submissions.
    """
    entries = list(entries)
    entered = sorted((entry for entry in entries if entry.submission.plays(task)), key=lambda entry: entry.name)
    digest = task.digest()
    current = [duel for duel in duels if (duel.task, duel.task_digest, duel.season) == (task.id, digest, season)]
    counted = counting_duels(task, season, current, entries, official=False)
    last = newest_duels(counted)
    groups = owner_groups(entries, current)
    players = partition_by_validation(entered, last).passed
    validations = [(entry, entry) for entry in entered]
    if len(players) <= task.opponents + 1:
        pairs = itertools.combinations(players, 2)
        return [*validations, *(pair for pair in pairs if not groups.are_same_owner(pair[0].name, pair[1].name))]
    # Imported late: only here are ratings needed.
    from leaderboard.planning.opponents import MatchmakingInput, chosen_opponents
    from leaderboard.ratings.build_game_standings import all_but_the_best
    from leaderboard.ratings.fit_ratings import anchor_candidates

    live = [duel for duel in counted if duel.duel.beacon != final_beacon]
    passive = all_but_the_best(entered, live, groups, anchor_candidates(task, baselines))
    given = MatchmakingInput(players, current, last, groups, version_folders(entries), passive, final_beacon)
    return [*validations, *chosen_opponents(task, given, baselines)]


WorkId = tuple[tuple[AgentName, ...], str, str]
"""Agents in the order of the sides, task, and the digits of the key that are in the name of the record's file.

The digits alone are not enough: tasks of two phases can have equal settings, and each has results on seeds of its own. The
whole key would be too much: where the file's name is taken by another record, each round would play what none could keep.
"""
Record = TypeVar("Record", bound=Result | Duel)
# So often an evaluation or a duel may fail on our side, and is run again in another round; then somebody has to look.
INTERNAL_ERROR_LIMIT = 3


class MissingReason(StrEnum):
    """Why wanted work is not recorded; the value is how it is written."""

    NEW = "new"
    AGENT_CHANGED = "the agent changed"
    TASK_CHANGED = "the task's settings changed"
    EVALUATOR_CHANGED = "the evaluator changed"
    SEASON_CHANGED = "another season"
    NEW_BEACON = "another draw"
    OTHER_COMBINATION = "another combination of versions"


@dataclass(frozen=True, kw_only=True)
class _Work:
    """What evaluations and duels that are wanted have in common."""

    task_id: str
    reasons: tuple[MissingReason, ...]

    @property
    def reason(self) -> str:
        """Why it is not recorded, in words."""
        return ", ".join(self.reasons)

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for it: a version was merged, for the first time or again, and nothing else changed."""
        return self.reasons in ((MissingReason.NEW,), (MissingReason.AGENT_CHANGED,), (MissingReason.NEW_BEACON,))


@dataclass(frozen=True, kw_only=True)
class WorkItem(_Work):
    """One evaluation that is wanted."""

    entry: Entry
    wanted: WantedResult
    owner_liable: bool = False
    """Whether its owner is liable for what cannot be fetched: it could not in all runs but the last one."""

    @property
    def players(self) -> tuple[Entry]:
        """The agent alone."""
        return (self.entry,)


@dataclass(frozen=True, kw_only=True)
class DuelWorkItem(_Work):
    """One duel that is wanted."""

    entries: tuple[Entry, Entry]
    """In the order of the sides; twice the same in a validation."""
    wanted: WantedDuel
    liable_side: Side | None = None
    """The side that forfeits if its registry or web host fails again: it failed in all runs but the last one."""

    @property
    def players(self) -> tuple[Entry, Entry]:
        """Both sides."""
        return self.entries

    @property
    def is_validation(self) -> bool:
        """Whether a player plays itself."""
        return self.entries[0].name == self.entries[1].name


@dataclass(frozen=True, kw_only=True)
class MeasurementContext:
    """What results depend on besides agents and tasks: the evaluator, and the commits that seeds come from."""

    runtime_digest: str
    """Of the measurement version, the evaluator's packages and the base image."""
    beacon: str
    """Used where `beacons` has none."""
    beacons: Mapping[tuple[AgentName, str], tuple[str, ...]] = field(default_factory=dict)
    """Agent, as its folder is spelled, and task to the commits that seeds come from: one a stay, the newest last."""
    order: Mapping[str, int] = field(default_factory=dict)
    """Each beacon's position in main's history, later ones greater; not needed if there is only one beacon."""
    locks: Mapping[str, str] = field(default_factory=dict)
    """Each extra's SHA-256 of its lock file; not needed if no agent has extras."""

    def runtime_of(self, *entries: Entry) -> str:
        """The digest of what measures these agents: the common one, with the locks of their extras."""
        return name_with_extras(self.runtime_digest, extras_needed_by(entry.submission for entry in entries), self.locks)

    def beacons_of(self, entry: Entry, task_id: str) -> tuple[str, ...]:
        """The beacons of an entry on a task, the newest last."""
        return self.beacons.get((entry.spelled_name, task_id), (self.beacon,))

    def later(self, first: Entry, second: Entry, task_id: str) -> str:
        """The later beacon of two players, which the seeds of their duel come from: the earlier one could not foresee it.

        Raises:
            KeyError: the beacons differ and `order` lacks one of them.
        """
        beacons = self.beacons_of(first, task_id)[-1], self.beacons_of(second, task_id)[-1]
        return beacons[0] if beacons[0] == beacons[1] else max(beacons, key=lambda beacon: self.order[beacon])


def missing_work(
    challenge: Challenge,
    entries: Iterable[Entry],
    results: Iterable[Result],
    measurement: MeasurementContext,
    duels: Iterable[Duel],
) -> list[WorkItem | DuelWorkItem]:
    """List solo evaluations by login, agent and task, then the validations of all games, then their other duels.

    An `internal_error` counts as recorded only after `INTERNAL_ERROR_LIMIT` of them.
    """
    entries, duels = list(entries), list(duels)
    folders = version_folders(entries)
    wanted = [item for task in challenge.games for item in _duels(challenge, task, entries, duels, measurement, folders)]
    wanted.sort(key=lambda item: not item.is_validation)
    return [*_evaluations(challenge, entries, list(results), measurement, folders), *wanted]


def _evaluations(
    challenge: Challenge,
    entries: Sequence[Entry],
    results: Sequence[Result],
    measurement: MeasurementContext,
    folders: VersionFolders,
) -> list[WorkItem]:
    history = _History(results, folders)
    tasks = [(task, task.digest()) for task in challenge.solo_tasks]
    items = []
    for entry in sorted(entries, key=lambda entry: entry.name):
        for task, digest in tasks:
            if not entry.submission.plays(task):
                continue
            for beacon in measurement.beacons_of(entry, task.id):
                wanted = WantedResult(
                    submission_digest=entry.digest,
                    task_digest=digest,
                    runtime_digest=measurement.runtime_of(entry),
                    season=challenge.season,
                    beacon=beacon,
                )
                work_id = (entry.name,), task.id, wanted.key()[:FILE_DIGITS]
                if reasons := history.reasons(work_id, wanted):
                    # What it names could not be fetched in any run, and only one more follows.
                    failures = history.failures_if_one_run_is_left(work_id)
                    liable = bool(failures) and all(result.unfetched for result in failures)
                    items.append(WorkItem(entry=entry, task_id=task.id, wanted=wanted, reasons=reasons, owner_liable=liable))
    return items


def _duels(
    challenge: Challenge,
    task: Task,
    entries: Sequence[Entry],
    duels: Sequence[Duel],
    measurement: MeasurementContext,
    folders: VersionFolders,
) -> list[DuelWorkItem]:
    played = [duel for duel in duels if duel.task == task.id]
    history, digest = _History(played, folders), task.digest()
    items = []
    failed: dict[frozenset[str], set[str]] = defaultdict(set)
    for duel in played:
        if duel.verdict is Verdict.INTERNAL_ERROR:
            failed[frozenset(side.submission_digest for side in duel.sides)].add(duel.beacon)
    # A player that came back meets nobody before its validations: a quota keeps these back, and no match.
    with_beacons = [(entry, frozenset(measurement.beacons_of(entry, task.id))) for entry in entries]
    entries = [
        replace(entry, stay_beacons={task.id: several}) if len(several) > 1 else entry for entry, several in with_beacons
    ]
    final_beacon = measurement.beacon if challenge.is_final else None
    for pair in wanted_pairings(
        task, entries, played, season=challenge.season, baselines=challenge.baselines, final_beacon=final_beacon
    ):
        # A validation for every beacon, so that none stays tried_records; opponents meet on the seeds of the present ones.
        if pair[0].name == pair[1].name:
            beacons = measurement.beacons_of(pair[0], task.id)
        else:
            # And where a run of these versions failed: else a host could fail where they lose, until its player comes back.
            stays = {beacon for entry in pair for beacon in measurement.beacons_of(entry, task.id)}
            present, versions = measurement.later(*pair, task.id), frozenset(entry.digest for entry in pair)
            beacons = (present, *sorted(stays & failed[versions] - {present}))
        for beacon in beacons:
            wanted = WantedDuel(
                submission_digests=(pair[0].digest, pair[1].digest),
                task_digest=digest,
                runtime_digest=measurement.runtime_of(*pair),
                season=challenge.season,
                beacon=beacon,
            )
            work_id = (pair[0].name, pair[1].name), task.id, wanted.key()[:FILE_DIGITS]
            if reasons := history.reasons(work_id, wanted):
                liable = _failing_side(history.failures_if_one_run_is_left(work_id))
                items.append(DuelWorkItem(entries=pair, task_id=task.id, wanted=wanted, reasons=reasons, liable_side=liable))
    return items


def _failing_side(failures: Sequence[Duel]) -> Side | None:
    """The side whose registry or web host failed in every one of these."""
    failing = (side for side in SIDES if all(duel.players[side].verdict is Verdict.INTERNAL_ERROR for duel in failures))
    return next(failing, None) if failures else None


def given_up(records: Iterable[Result | Duel], folders: VersionFolders) -> list[Result | Duel]:
    """The failure records of work that failed on our side `INTERNAL_ERROR_LIMIT` times and has no result."""
    return list(_History(records, folders).given_up())


def work_in_words(item: WorkItem | DuelWorkItem) -> str:
    """Name a piece of work in words."""
    if isinstance(item, WorkItem):
        return f"{item.entry.shown} on {item.task_id}"
    first, second = item.entries
    return f"{first.shown} against {'itself' if item.is_validation else second.shown} in {item.task_id}"


class _Inputs(NamedTuple):
    """What a result or a duel is a function of, except its beacon."""

    versions: tuple[str, ...]
    task_digest: str
    runtime_digest: str
    season: str

    @classmethod
    def of(cls, record: Result | WantedResult | Duel | WantedDuel) -> "_Inputs":
        match record:
            case Result() | WantedResult():
                versions: tuple[str, ...] = (record.submission_digest,)
            case Duel():
                versions = tuple(player.submission_digest for player in record.players)
            case _:
                versions = record.submission_digests
        return cls(versions, record.task_digest, record.runtime_digest, record.season)


class _History(Generic[Record]):
    """What was recorded of each agent on each task, or of each pair in a game, and the failures on our side."""

    def __init__(self, records: Iterable[Record], folders: VersionFolders) -> None:
        self._recorded: dict[WorkId, Record] = {}
        self._failed: dict[WorkId, list[Record]] = defaultdict(list)
        # Failures count also under the folder in which the version was recorded, if it lies in another one now: the names
        # of that folder's files are used up.
        self._failures_elsewhere = Counter[WorkId]()
        for record in records:
            names, at = tuple(folders.of(side) for side in record.sides), (record.task, record.key[:FILE_DIGITS])
            work_id = names, *at
            if (recorded_as := tuple(AS_RECORDED.of(side) for side in record.sides)) != names:
                count = 1 if record.verdict is Verdict.INTERNAL_ERROR else INTERNAL_ERROR_LIMIT
                self._failures_elsewhere[recorded_as, *at] += count
            if record.verdict is Verdict.INTERNAL_ERROR:
                self._failed[work_id].append(record)
            else:
                self._recorded[work_id] = record

    def given_up(self) -> Iterator[Record]:
        """The records of what failed `INTERNAL_ERROR_LIMIT` times and is not recorded."""
        for work_id, failures in self._failed.items():
            if len(failures) >= INTERNAL_ERROR_LIMIT and work_id not in self._recorded:
                yield from failures

    def failures_if_one_run_is_left(self, work_id: WorkId) -> Sequence[Record]:
        """The failures on our side, if only one more run follows; else none."""
        failures = self._failed.get(work_id, ())
        return failures if len(failures) >= INTERNAL_ERROR_LIMIT - 1 else ()

    @cached_property
    def _inputs(self) -> dict[tuple[tuple[AgentName, ...], str], list[_Inputs]]:
        """By names and task; made when something is wanted, which on most days is nothing."""
        inputs: dict[tuple[tuple[AgentName, ...], str], list[_Inputs]] = defaultdict(list)
        for (names, task_id, _), record in self._recorded.items():
            inputs[names, task_id].append(_Inputs.of(record))
        return inputs

    def reasons(self, work_id: WorkId, wanted: WantedResult | WantedDuel) -> tuple[MissingReason, ...]:
        """Which inputs differ from those of every earlier record; none where it is recorded or given up."""
        failures = max(len(self._failed.get(work_id, ())), self._failures_elsewhere[work_id])
        if work_id in self._recorded or failures >= INTERNAL_ERROR_LIMIT:
            return ()
        earlier = self._inputs.get(work_id[:2], [])
        if not earlier:
            return (MissingReason.NEW,)
        now = _Inputs.of(wanted)
        if now in earlier:
            return (MissingReason.NEW_BEACON,)
        reasons = {
            "versions": MissingReason.AGENT_CHANGED,
            "task_digest": MissingReason.TASK_CHANGED,
            "runtime_digest": MissingReason.EVALUATOR_CHANGED,
            "season": MissingReason.SEASON_CHANGED,
        }
        changed = (
            reason
            for name, reason in reasons.items()
            if all(getattr(inputs, name) != getattr(now, name) for inputs in earlier)
        )
        return tuple(changed) or (MissingReason.OTHER_COMBINATION,)
