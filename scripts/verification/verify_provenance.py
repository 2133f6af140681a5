"""Checks what records claim: by themselves, and by main's history, which gives owners, seeds and rules of official ones."""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, cached_property, partial
from pathlib import Path

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission import EXTRAS, memory_mib
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import PREVIEW_BEACON, Tier, may_lie_at
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash
from leaderboard.core.entry import AgentName
from scripts.console import CommandError
from scripts.git.folder_history import FolderHistory, FolderState, VersionStay, commit_times
from scripts.git.git_repository import OBJECT_NAME, GitError, GitRepository
from scripts.git.main_entries import rules_at
from scripts.git.season_commits import season_commits
from scripts.repository.layout import folder_of

# How far a record's time may be ahead of the clock of whoever verifies it.
VERIFIER_CLOCK_TOLERANCE = timedelta(days=1)
# The names that `pullrank erase` gives; no account of GitHub has one.
ERASED_LOGIN = re.compile(r"(^|_)erased_[0-9a-f]{8}$")
# The only metric besides a host's own ones.
CLIPPED_METRIC = "clipped_actions"


@dataclass(frozen=True, kw_only=True)
class RecordLocation:
    """Where a record lies, and the current time."""

    path: str
    """The path below results/, without the suffix."""
    now: datetime


def provenance_faults(record: Result | Duel, challenge: Challenge, place: RecordLocation) -> Iterator[str]:
    """What is wrong in a record's statements about itself, apart from main's history."""
    if not may_lie_at(place.path, record.path(), record.verdict):
        yield f"it lies at {place.path}, but belongs at {record.path()}"
    yield from _tier_faults(record, challenge)
    yield from _cost_faults(record)
    try:
        at = datetime.fromisoformat(record.provenance.evaluated_at)
    except ValueError:
        yield f"{record.provenance.evaluated_at} is not a time"
    else:
        if at > place.now + VERIFIER_CLOCK_TOLERANCE:
            yield f"it was evaluated at {record.provenance.evaluated_at}, which is in the future"
    task = challenge.task(record.task)
    if isinstance(record, Result) and task and task.digest() == record.task_digest:
        yield from _metric_faults(record, task)


def limit_fault(record: Result | Duel, challenge: Challenge) -> str | None:
    """The fault of a record whose limits are not the challenge's; extras may add memory."""
    memory_sizes = {challenge.limits.memory_mib}
    if isinstance(record, Result):  # a duel's limits never include extras
        memory_sizes |= {memory_mib([name], challenge.limits.memory_mib) for name in EXTRAS}
    allowed = [challenge.limits.model_copy(update={"memory_mib": memory}) for memory in memory_sizes]
    return None if record.limits in allowed else "the limits are not those that challenge.yml gives"


def _tier_faults(record: Result | Duel, challenge: Challenge) -> Iterator[str]:
    """What an official record lacks, or what a record of another tier must not have."""
    if record.tier is Tier.PREVIEW:
        yield "it is a preview, which is never recorded"
    if record.tier is not Tier.OFFICIAL:
        yield from _unofficial_faults(record)
        return
    is_public = bool(OBJECT_NAME.fullmatch(record.beacon))
    if not is_public and secret_hash(record.beacon) is None:
        yield f"it is official, and its seeds come from '{record.beacon}', which is no commit and no sealed secret"
    if challenge.sealed_beacon and record.season == challenge.season and record.beacon != challenge.sealed_beacon:
        yield "its seeds do not come from the secret of this sealed season"
    if not record.sandbox.is_official:
        yield f"it is official, and was played in the sandbox '{record.sandbox}', which does not rank"
    if not OBJECT_NAME.fullmatch(record.provenance.commit or ""):
        yield "it is official, and names no commit that was evaluated"


def _unofficial_faults(record: Result | Duel) -> Iterator[str]:
    if record.beacon != PREVIEW_BEACON:
        yield f"it is {record.tier}, and its seeds come from '{record.beacon}' instead of '{PREVIEW_BEACON}'"
    if record.tier is Tier.LOCAL and any(side.login_id is not None for side in record.sides):
        yield "it is local, and has a GitHub account number"
    if record.beacon_verified is not False:
        yield f"it is {record.tier}, and says that GitHub signed its beacon"
    if record.tier is Tier.LOCAL and (record.provenance.commit or record.provenance.run_url):
        yield "it is local, and names a commit or a workflow run"


def _cost_faults(record: Result | Duel) -> Iterator[str]:
    amounts = [amount for side in record.sides for amount in side.cost.model_dump().values() if amount is not None]
    if any(math.copysign(1.0, amount) < 0 for amount in amounts):
        yield "its cost is negative"
    if isinstance(record, Result) and record.verdict is Verdict.OK and not record.is_sealed:
        steps = sum(record.script.lengths if record.script else record.lengths)
        if record.cost.steps != steps:
            yield f"it says {record.cost.steps} steps, and its episodes have {steps}"


def _metric_faults(result: Result, task: Task) -> Iterator[str]:
    """Unknown metric names and impossible counts; the replay compares the values of a host's own metrics."""
    own_names = {name for metric in task.metrics if metric.is_own for name in (metric.kind, f"{metric.kind}:error")}
    if unknown := sorted(result.metrics.keys() - own_names - {CLIPPED_METRIC}):
        yield f"no evaluation gives the metric {unknown[0]!r}"
    clipped = result.metrics.get(CLIPPED_METRIC, 0.0)
    if math.copysign(1.0, clipped) < 0 or clipped != int(clipped):
        yield f"{CLIPPED_METRIC} is {clipped!r}, and counts actions"


# How far a record's time may be behind that of the commit that it says was evaluated: the clocks differ.
COMMIT_CLOCK_TOLERANCE = timedelta(minutes=10)
# Where the measurement version stands, and stood before under another name.
_MEASUREMENT_VERSION_FILES = ("evaluator/model/measurement_version.py", "evaluator/model/protocol.py")
_MEASUREMENT_VERSION = re.compile(r"^(?:MEASUREMENT_VERSION|PROTOCOL)\b[^=\n]*= *(\d+)", re.MULTILINE)
_MAIN_REFS = ("refs/remotes/origin/main", "refs/heads/main")


@dataclass(frozen=True, kw_only=True)
class HistoryFindings:
    """What main's history says of a record."""

    faults: tuple[str, ...] = ()
    stale: str | None = None
    """Why the record counts no more, though nothing is wrong with it."""


@dataclass(frozen=True, kw_only=True)
class _SideHistory:
    """Who on main held a side's version, and when, the oldest first."""

    side: Result | PlayerRecord
    is_erased: bool
    """Whether its owner's name was erased."""
    states: Sequence[FolderState]
    stays: Sequence[VersionStay]

    def is_of(self, state: FolderState) -> bool:
        """Whether the side may be that folder."""
        return self.is_erased or AgentName.folded(*state.name) == AgentName.folded(self.side.login, self.side.agent)

    def faults(self) -> Iterator[str]:
        """What does not fit its owner."""
        version = self.side.submission_digest[:12]
        if not self.states:
            yield f"no folder {'' if self.is_erased else f'of {self.side.login} '}on main ever held version {version}"
        elif not any(map(self.is_of, self.states)):
            yield f"{folder_of(AgentName(self.side.login, self.side.agent))} never held version {version}"


class MainHistory:
    """The history of a leaderboard's main branch."""

    def __init__(self, clone: GitRepository, main: str) -> None:
        self._clone, self._main = clone, main
        self._rules_at = cache(partial(rules_at, clone))
        self._final = cache(self._find_final)
        self._measurement_version = cache(self._read_measurement_version)

    @cached_property
    def _history(self) -> FolderHistory:
        return FolderHistory(self._clone, self._main)

    @cached_property
    def _commits(self) -> dict[str, tuple[int, datetime]]:
        """Position and time of each commit of main, by first parents, the oldest first."""
        shas = self._clone.first_parent(self._main)[::-1]
        return dict(zip(shas, enumerate(commit_times(self._clone, shas)), strict=True))

    def check(self, record: Result | Duel) -> HistoryFindings:
        """Check a record; history says nothing of records that are not official."""
        if record.tier is not Tier.OFFICIAL:
            return HistoryFindings()
        if record.erased_sha256 and not any(ERASED_LOGIN.search(side.login) for side in record.sides):
            text = "it says that its owner was erased, and names an account; only `pullrank erase` writes such records"
            return HistoryFindings(faults=(text,))
        sides = [self._side(side, record) for side in record.sides]
        if faults := [fault for side in sides for fault in side.faults()]:
            return HistoryFindings(faults=tuple(dict.fromkeys(faults)))
        if not all(side.stays for side in sides):
            return HistoryFindings(faults=(f"no folder on main ever entered that version for {record.task}",))
        oldest = self._latest([side.stays[0].began for side in sides])
        is_of_stay = record.beacon in self._beacons(record.season, [side.stays for side in sides])
        faults = list(self._commit_faults(record, record.beacon if is_of_stay else oldest))
        if faults or is_of_stay or secret_hash(record.beacon) is not None:
            return HistoryFindings(faults=tuple(faults))
        if record.beacon == self._latest([side.states[0] for side in sides]):
            text = f"its seeds come from the commit that brought the version; the task was entered with {oldest[:12]}"
            return HistoryFindings(stale=text)
        if record.beacon == self._latest([next(filter(side.is_of, side.states)) for side in sides]):
            text = f"its seeds come from the commit that brought the folder; the version was there since {oldest[:12]}"
            return HistoryFindings(stale=text)
        text = f"its seeds come from {record.beacon[:12]}, and the version came to main with {oldest[:12]}"
        return HistoryFindings(faults=(text,))

    def _side(self, side: Result | PlayerRecord, record: Result | Duel) -> "_SideHistory":
        """What main says of one side. If its owner was erased, it may have been anybody's."""
        is_erased = bool(record.erased_sha256 and ERASED_LOGIN.search(side.login))
        logins = self._history.logins() if is_erased else [side.login]
        states: list[FolderState] = []
        stays: list[VersionStay] = []
        for login in logins:
            if folder_states := list(self._history.holding(login, side.submission_digest)):
                states += folder_states
                stays += self._history.stays_of(login, side.submission_digest, record.task)
        states.sort(key=lambda state: self._commits[state.sha][0])
        stays.sort(key=lambda stay: self._commits[stay.began.sha][0])
        return _SideHistory(side=side, is_erased=is_erased, states=states, stays=stays)

    def _beacons(self, season: str, stays: Sequence[Sequence[VersionStay]]) -> set[str]:
        """The commits that seeds may come from.

        For each choice of one stay of each side the later beginning, which is any since all sides came; and the commit of
        the final draws if it held all sides.
        """
        oldest = self._commits[self._latest([of_side[0].began for of_side in stays])][0]
        began = {stay.began.sha for of_side in stays for stay in of_side}
        beacons = {sha for sha in began if self._commits[sha][0] >= oldest}
        final = self._final(season)
        if final and all(any(self._held(stay, final) for stay in of_side) for of_side in stays):
            beacons.add(final)
        return beacons

    def _held(self, stay: VersionStay, commit: str) -> bool:
        """Whether a commit of main lies within a stay."""
        position = self._commits[commit][0]
        return self._commits[stay.began.sha][0] <= position and (not stay.left or position < self._commits[stay.left][0])

    def _find_final(self, season: str) -> str | None:
        """The commit that ended the submissions of a season; None if there is none."""
        final = season_commits(self._clone, self._main, season).final
        return final.sha if final else None

    def _latest(self, states: Sequence[FolderState]) -> str:
        """The latest of these states' commits: of two players' beacons the later one counts."""
        return max((state.sha for state in states), key=lambda sha: self._commits[sha][0])

    def _commit_faults(self, record: Result | Duel, beacon: str) -> Iterator[str]:
        """What does not fit the commit that the record claims was evaluated."""
        commit = record.provenance.commit or ""
        position_and_time = self._commits.get(commit)
        if position_and_time is None:
            yield f"commit {commit[:12]}, which it says was evaluated, is {self._where_else(commit)}"
            return
        if position_and_time[0] < self._commits[beacon][0]:
            yield f"commit {commit[:12]}, which it says was evaluated, does not hold the version yet"
        at = datetime.fromisoformat(record.provenance.evaluated_at)
        if record.is_sealed:
            at += timedelta(hours=1)
        if at + COMMIT_CLOCK_TOLERANCE < position_and_time[1]:
            yield f"it was evaluated before there was commit {commit[:12]}"
        rules = self._rules_at(commit)
        task = rules.task(record.task) if rules else None
        if rules is None:
            return
        if task is None or task.digest() != record.task_digest or rules.season != record.season:
            yield f"challenge.yml at commit {commit[:12]} has no such task in such a season"
        if fault := limit_fault(record, rules):
            yield f"{fault} at commit {commit[:12]}"
        if (number := self._measurement_version(commit)) not in (None, record.protocol):
            said = f"it says measurement version {record.protocol}"
            yield f"{said}, and the evaluator at commit {commit[:12]} measures by {number}"
        if record.sandbox.is_official and record.sandbox != rules.runners.sandbox:
            named = rules.runners.sandbox
            yield f"it was played in {record.sandbox}, and challenge.yml at commit {commit[:12]} says {named}"
        if isinstance(record, Result) and (fault := record.gpus_fault(rules.runners.gpus)):
            yield f"{fault} at commit {commit[:12]}"
        if secret_hash(record.beacon) is not None and rules.sealed_beacon != record.beacon:
            yield f"challenge.yml at commit {commit[:12]} seals the season with another secret"

    def _where_else(self, commit: str) -> str:
        """Where a commit is that main does not have by first parents, and what to do."""
        with suppress(CommandError):  # what a record names may be no commit
            if self._clone.merge_bases(commit, self._main) == [commit]:
                return (
                    "on main as a second parent only: main was moved to a branch that had merged it, so all that came "
                    "since then has other seeds; move main back"
                )
        return "not on main; if this clone is old, pull main"

    def _read_measurement_version(self, commit: str) -> int | None:
        """The number of the rules that the evaluator at a commit measures by; None where it holds no evaluator."""
        for path in _MEASUREMENT_VERSION_FILES:
            with suppress(GitError):
                text = self._clone.run("show", f"{commit}:{path}").decode("utf-8", "replace")
                if match := _MEASUREMENT_VERSION.search(text):
                    return int(match[1])
        return None

    def knows_rules_of(self, record: Result | Duel) -> bool:
        """Whether challenge.yml at the record's commit can be read, so that `check` compared the limits with it."""
        return record.tier is Tier.OFFICIAL and self._rules_at(record.provenance.commit or "") is not None


def open_main_history(root: Path) -> MainHistory | None:
    """The history of the leaderboard in a folder; None if it is no git clone, or a shallow one."""
    clone = GitRepository(root)
    try:
        if not clone.is_top():
            return None
        mains = list(dict.fromkeys(sha for name in _MAIN_REFS if (sha := clone.resolve(name))))
        main = mains[0] if mains else clone.resolve("HEAD")
        if len(mains) == 2 and clone.merge_bases(mains[0], mains[1]) == [mains[0]]:
            main = mains[1]
        return None if main is None or clone.is_shallow() else MainHistory(clone, main)
    except GitError:
        return None
