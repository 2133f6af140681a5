"""What main's history says of official records: which commit their seeds come from, whose they are, and by which rules."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.model.config.challenge import Challenge, Limits, Task
from evaluator.model.config.submission import EXTRAS, memory_mib
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.result import PREVIEW_BEACON, Result, Tier, is_place
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash
from scripts.git.folder_history import FolderHistory, FolderState, folder_of
from scripts.git.git_repository import GitError, GitRepository

Record = Result | Duel
# A machine's clock may be so far ahead of this one's.
AHEAD = timedelta(days=1)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# The only count beside a host's own metrics.
CLIPPED = "clipped_actions"


@dataclass(frozen=True, kw_only=True)
class RecordPlace:
    """Where and when a record is looked at."""

    path: str
    """Where it lies below results/, without the ending."""
    now: datetime
    """The moment."""


def label_faults(record: Record, challenge: Challenge, place: RecordPlace) -> Iterator[str]:
    """What a record says of itself that cannot be so."""
    if not is_place(place.path, record.path(), record.verdict):
        yield f"it lies at {place.path}, and what it says belongs at {record.path()}"
    yield from _worth(record, challenge)
    yield from _amounts(record)
    try:
        at = datetime.fromisoformat(record.provenance.evaluated_at)
    except ValueError:
        yield f"{record.provenance.evaluated_at} is no moment"
    else:
        if at > place.now + AHEAD:
            yield f"it was evaluated at {record.provenance.evaluated_at}, which is yet to come"
    task = challenge.task(record.task)
    if isinstance(record, Result) and task and task.digest() == record.task_digest:
        yield from _metrics(record, task)


def limit_fault(record: Record, challenge: Challenge) -> str | None:
    """Whether the challenge gives the limits that a record names, with the memory that some extra brings."""
    given = {challenge.limits.memory_mib}
    if isinstance(record, Result):  # a duel names what the challenge allows, whatever its players' extras add
        given |= {memory_mib([name], challenge.limits.memory_mib) for name in EXTRAS}
    named: list[Limits] = [challenge.limits.model_copy(update={"memory_mib": memory}) for memory in sorted(given)]
    return None if record.limits in named else "the limits are not those that challenge.yml gives"


def _worth(record: Record, challenge: Challenge) -> Iterator[str]:
    """What an official record needs, and what no other one has."""
    if record.tier is Tier.PREVIEW:
        yield "it is a preview, and none is ever recorded"
    if record.tier is not Tier.OFFICIAL:
        yield from _unofficial(record)
        return
    is_public = bool(_COMMIT.fullmatch(record.beacon))
    if not is_public and secret_hash(record.beacon) is None:
        yield f"it is official, and its seeds come from '{record.beacon}', which is no commit and no sealed secret"
    if challenge.sealed_beacon and record.season == challenge.season and record.beacon != challenge.sealed_beacon:
        yield "its seeds do not come from the secret of this sealed season"
    if not record.sandbox.is_official:
        yield f"it is official, and was held in the sandbox '{record.sandbox}', which does not rank"
    if not _COMMIT.fullmatch(record.provenance.commit or ""):
        yield "it is official, and names no commit that was evaluated"


def _unofficial(record: Record) -> Iterator[str]:
    if record.beacon != PREVIEW_BEACON:
        yield f"it is {record.tier}, and its seeds come from '{record.beacon}' instead of '{PREVIEW_BEACON}'"
    numbers = [side.login_id for side in (record.players if isinstance(record, Duel) else (record,))]
    if record.tier is Tier.LOCAL and any(number is not None for number in numbers):
        yield "it is local, and names the number of an account"
    if record.beacon_verified is not False:
        yield f"it is {record.tier}, and says that GitHub signed its beacon"
    if record.tier is Tier.LOCAL and (record.provenance.commit or record.provenance.run_url):
        yield "it is local, and names a commit or a workflow run"


def _amounts(record: Record) -> Iterator[str]:
    costs = [player.cost for player in record.players] if isinstance(record, Duel) else [record.cost]
    amounts = [amount for cost in costs for amount in cost.model_dump().values() if amount is not None]
    if any(amount < 0 for amount in amounts):
        yield "it cost less than nothing"
    if isinstance(record, Result) and record.verdict is Verdict.OK and record.sealed is None:
        taken = sum(record.script.lengths if record.script else record.lengths)
        if record.cost.steps != taken:
            yield f"it says {record.cost.steps} steps, and its episodes have {taken}"


def _metrics(result: Result, task: Task) -> Iterator[str]:
    """Names that no evaluation gives; the values of a host's own metrics are compared where it is replayed."""
    own = {name for metric in task.metrics if metric.is_own for name in (metric.kind, f"{metric.kind}:error")}
    if strange := sorted(result.metrics.keys() - own - {CLIPPED}):
        yield f"no evaluation gives the metric {strange[0]!r}"
    clipped = result.metrics.get(CLIPPED, 0.0)
    if clipped < 0 or clipped != int(clipped):
        yield f"{CLIPPED} is {clipped!r}, and counts actions"


# The clocks of GitHub and of a runner may differ by so much.
SLACK = timedelta(minutes=10)
_MAIN = ("refs/remotes/origin/main", "refs/heads/main")


@dataclass(frozen=True, kw_only=True)
class DerivedClaims:
    """What history says of a record."""

    faults: tuple[str, ...] = ()
    """What cannot be so."""
    stale: str | None = None
    """Why there is nothing to compare with, though nothing is wrong."""


class MainHistory:
    """The history of a board's main branch."""

    def __init__(self, clone: GitRepository, main: str) -> None:
        self._clone, self._main = clone, main
        self._rules: dict[str, Challenge | None] = {}

    @cached_property
    def _history(self) -> FolderHistory:
        return FolderHistory(self._clone, self._main)

    @cached_property
    def _commits(self) -> dict[str, tuple[int, datetime]]:
        """Each commit of main by first parents: its place, the later the greater, and its time."""
        printed = self._clone.run("log", "--first-parent", "--reverse", "--format=%H %ct", self._main).decode()
        rows = (line.split() for line in printed.splitlines())
        return {sha: (place, datetime.fromtimestamp(int(at), UTC)) for place, (sha, at) in enumerate(rows)}

    def derived(self, record: Record) -> DerivedClaims:
        """What history says of a record; of one that is not official nothing."""
        if record.tier is not Tier.OFFICIAL:
            return DerivedClaims()
        sides: Sequence[Result | PlayerRecord] = record.players if isinstance(record, Duel) else (record,)
        states = [self._states(side) for side in sides]
        faults = [fault for side, held in zip(sides, states, strict=True) for fault in _missing(side, held)]
        if faults:
            return DerivedClaims(faults=tuple(dict.fromkeys(faults)))
        entered = [[state for state in held if self._history.enters(state, record.task)] for held in states]
        if not all(entered):
            words = f"no folder on main ever entered that version for {record.task}"
            return DerivedClaims(faults=(words,))
        beacon = self._latest([held[0] for held in entered])
        faults += self._of_commit(record, beacon)
        if faults or secret_hash(record.beacon) is not None or record.beacon == beacon:
            return DerivedClaims(faults=tuple(faults))
        if record.beacon == self._latest([held[0] for held in states]):
            words = f"its seeds come from the commit that brought the version; the task was entered with {beacon[:12]}"
            return DerivedClaims(stale=words)
        in_folder = (next(state for state in held if _is_of(side, state)) for side, held in zip(sides, states, strict=True))
        if record.beacon == self._latest(list(in_folder)):
            words = f"its seeds come from the commit that brought the folder; the version was there since {beacon[:12]}"
            return DerivedClaims(stale=words)
        told = f"its seeds come from {record.beacon[:12]}, and the version came to main with {beacon[:12]}"
        return DerivedClaims(faults=(told,))

    def _states(self, side: Result | PlayerRecord) -> list[FolderState]:
        return list(self._history.holding(side.login, side.submission_digest))

    def _latest(self, states: Sequence[FolderState]) -> str:
        """Of two players' beacons the later one counts."""
        return max((state.sha for state in states), key=lambda sha: self._commits[sha][0])

    def _of_commit(self, record: Record, beacon: str) -> Iterator[str]:
        """What does not fit the commit that is said to have been evaluated."""
        commit = record.provenance.commit or ""
        known = self._commits.get(commit)
        if known is None:
            yield f"commit {commit[:12]}, which it says was evaluated, is not on main; if this clone is old, pull main"
            return
        if known[0] < self._commits[beacon][0]:
            yield f"commit {commit[:12]}, which it says was evaluated, does not hold the version yet"
        at = datetime.fromisoformat(record.provenance.evaluated_at)
        if _hidden(record):
            at += timedelta(hours=1)
        if at + SLACK < known[1]:
            yield f"it was evaluated before there was commit {commit[:12]}"
        rules = self._challenge(commit)
        task = rules.task(record.task) if rules else None
        if rules is None:
            return
        if task is None or task.digest() != record.task_digest or rules.season != record.season:
            yield f"challenge.yml at commit {commit[:12]} has no such task in such a season"
        if fault := limit_fault(record, rules):
            yield f"{fault} at commit {commit[:12]}"
        if secret_hash(record.beacon) is not None and rules.sealed_beacon != record.beacon:
            yield f"challenge.yml at commit {commit[:12]} seals the season with another secret"

    def _challenge(self, commit: str) -> Challenge | None:
        """The rules at a commit; None where they cannot be read any more."""
        if commit not in self._rules:
            try:
                self._rules[commit] = parse_challenge(self._clone.run("show", f"{commit}:challenge.yml"))
            except (GitError, LoadError):
                self._rules[commit] = None
        return self._rules[commit]

    def gave(self, record: Record) -> bool:
        """Whether the rules at the commit of a record are known, so that its limits were compared with those."""
        return record.tier is Tier.OFFICIAL and self._challenge(record.provenance.commit or "") is not None


def _hidden(record: Record) -> bool:
    """Of a sealed result only the hour is public."""
    return isinstance(record, Result) and record.sealed is not None


def _is_of(side: Result | PlayerRecord, state: FolderState) -> bool:
    return (state.name[0].casefold(), state.name[1]) == (side.login.casefold(), side.agent)


def _missing(side: Result | PlayerRecord, held: Sequence[FolderState]) -> Iterator[str]:
    if not held:
        yield f"no folder of {side.login} on main ever held version {side.submission_digest[:12]}"
    elif not any(_is_of(side, state) for state in held):
        yield f"{folder_of((side.login, side.agent))} never held version {side.submission_digest[:12]}"


def main_history(root: Path) -> MainHistory | None:
    """The history of the board in a folder; None where there is none, or only a part of it."""
    clone = GitRepository(root)
    try:
        if Path(clone.run("rev-parse", "--show-toplevel").decode().rstrip("\n")).resolve() != root.resolve():
            return None
        mains = list(dict.fromkeys(sha for name in _MAIN if (sha := clone.resolve(name))))
        main = mains[0] if mains else clone.resolve("HEAD")
        if len(mains) == 2 and clone.merge_bases(mains[0], mains[1]) == [mains[0]]:
            main = mains[1]
        return None if main is None or clone.is_shallow() else MainHistory(clone, main)
    except GitError:
        return None
