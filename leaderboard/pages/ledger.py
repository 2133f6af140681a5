"""The ledger: exclusions, withdrawals, entries verified by the hosts, and re-scored results."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evaluator.model.config.moderation import Quarantine, VerifiedEntry
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import AgentName, Entry, Excluded
from leaderboard.core.standings import Standings
from leaderboard.scoring.intervals import score_or_none
from leaderboard.site_context import FormerEntry, SiteContext

# Changed scores of one re-score that the page lists; the other ones are counted.
LISTED_CHANGES = 12


@dataclass(frozen=True, kw_only=True)
class Withdrawal:
    """A withdrawal by the author."""

    login: str
    agent: str
    measured_at: str
    """The time of its last result, in UTC."""
    tasks: tuple[str, ...]
    is_rehearsal: bool = False
    """Whether the host entered it to test the leaderboard."""


@dataclass(frozen=True, kw_only=True)
class ScoreChange:
    """The same version of an agent, measured twice on one task."""

    login: str
    agent: str
    before: float | None
    """The score of the earlier result; None if it failed."""
    after: float | None
    """The score of the later result; None if it failed."""
    verdicts: tuple[Verdict, Verdict]
    """Of the earlier and the later result."""

    @property
    def is_changed(self) -> bool:
        """Whether score or verdict differ."""
        return self.before != self.after or self.verdicts[0] is not self.verdicts[1]

    @property
    def size(self) -> float:
        """The absolute difference; infinite if one of the two has no score."""
        return float("inf") if self.before is None or self.after is None else abs(self.after - self.before)


@dataclass(frozen=True, kw_only=True)
class Rescore:
    """The versions that were measured again on one task, on one day, for one reason."""

    day: str
    """UTC, `2026-05-01`."""
    task: Task
    why: str
    """What had changed, in words."""
    count: int
    """Number of versions."""
    changed: int
    """Number of versions whose score or verdict changed."""
    named: tuple[ScoreChange, ...]


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The content of the page, the newest first."""

    exclusions: tuple[Excluded, ...]
    withdrawals: tuple[Withdrawal, ...]
    verified: tuple[tuple[Entry, VerifiedEntry], ...]
    rescores: tuple[Rescore, ...]
    quarantines: tuple[Quarantine, ...] = ()


def build_ledger(standings: Standings, context: SiteContext) -> Ledger:
    """The content of the ledger."""
    gone = context.former_entries
    verified = [(entry, entry.verified) for _, entry in sorted(standings.entries.items()) if entry.verified]
    return Ledger(
        exclusions=tuple(sorted(_exclusions(standings, gone), key=lambda ruling: ruling.exclusion.since, reverse=True)),
        withdrawals=tuple(sorted(_withdrawals(standings, gone), key=lambda departure: departure.measured_at, reverse=True)),
        verified=tuple(sorted(verified, key=lambda pair: pair[1].since, reverse=True)),
        rescores=tuple(rescores(standings, context.results)),
        quarantines=tuple(sorted(context.quarantines, key=lambda quarantine: quarantine.until, reverse=True)),
    )


def _exclusions(standings: Standings, former: Iterable[FormerEntry]) -> Iterator[Excluded]:
    by_name: dict[AgentName, Excluded] = {}
    excluded: list[Excluded | FormerEntry] = [entry for board in standings.boards for entry in board.excluded]
    for entry in (*excluded, *former):
        if entry.exclusion:
            name = AgentName.folded(entry.login, entry.agent)
            by_name.setdefault(name, Excluded(login=entry.login, agent=entry.agent, exclusion=entry.exclusion))
    yield from (by_name[name] for name in sorted(by_name))


def _withdrawals(standings: Standings, former: Sequence[FormerEntry]) -> Iterator[Withdrawal]:
    """From the withdrawn scores of the leaderboards, and from former entries, which also cover removed tasks."""
    results_of: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for entry in former:
        if entry.exclusion is None:
            results_of[entry.login, entry.agent].extend(entry.results)
    rehearsals = {(entry.login, entry.agent) for entry in former if entry.is_rehearsal}
    for board in standings.tasks:
        for withdrawn in board.withdrawn:
            results_of[withdrawn.login, withdrawn.agent].append(withdrawn.result)
    for (login, agent), results in sorted(results_of.items()):
        tasks = tuple(sorted({result.task for result in results}))
        at = max((result.provenance.evaluated_at for result in results), default="")
        is_rehearsal = (login, agent) in rehearsals
        yield Withdrawal(login=login, agent=agent, measured_at=at, tasks=tasks, is_rehearsal=is_rehearsal)


def rescores(standings: Standings, results: Iterable[Result]) -> list[Rescore]:
    """The versions that were measured again, grouped by day, task and reason; the newest first.

    Two results of one version on one task are a re-score if their keys differ: the seeds or the evaluator changed. Results
    that failed by our fault do not count.
    """
    tasks = {board.task.id: board.task for board in standings.tasks}
    pairs: dict[tuple[str, str, str], list[tuple[Result, Result]]] = defaultdict(list)
    for before, after in _pairs(results, tasks, official=standings.official):
        pairs[after.provenance.evaluated_at[:10], after.task, rescore_reason(before, after)].append((before, after))
    groups = [_rescore(day, tasks[task], why, changed) for (day, task, why), changed in pairs.items()]
    order = {task: index for index, task in enumerate(tasks)}
    groups.sort(key=lambda rescore: (order[rescore.task.id], rescore.why))
    return sorted(groups, key=lambda rescore: rescore.day, reverse=True)


def _pairs(results: Iterable[Result], tasks: Mapping[str, Task], *, official: bool) -> Iterator[tuple[Result, Result]]:
    versions: dict[tuple[str, str, str, str], list[Result]] = defaultdict(list)
    for result in results:
        counts = result.tier is Tier.OFFICIAL or not official
        if counts and result.task in tasks and result.verdict is not Verdict.INTERNAL_ERROR:
            versions[result.login.casefold(), result.agent, result.submission_digest, result.task].append(result)
    for measured in versions.values():
        measured.sort(key=lambda result: (result.provenance.evaluated_at, result.key))
        yield from ((a, b) for a, b in pairwise(measured) if a.key != b.key)


def rescore_reason(before: Result, after: Result) -> str:
    """What changed between two results of one version on one task, in words."""
    changed = [
        (before.season != after.season, "another season"),
        (before.task_digest != after.task_digest, "the task’s settings changed"),
        (before.runtime_digest != after.runtime_digest, "the evaluator changed"),
        (before.beacon != after.beacon, "the seeds come from another commit"),
    ]
    return ", ".join(words for differs, words in changed if differs) or "measured again"


def _rescore(day: str, task: Task, why: str, pairs: Sequence[tuple[Result, Result]]) -> Rescore:
    changes = [
        ScoreChange(
            login=after.login, agent=after.agent, verdicts=(before.verdict, after.verdict),
            before=score_or_none(task, before), after=score_or_none(task, after),
        )
        for before, after in pairs
    ]  # fmt: skip
    changed = sorted((c for c in changes if c.is_changed), key=lambda c: (-c.size, c.login, c.agent))
    return Rescore(
        day=day, task=task, why=why, count=len(pairs), changed=len(changed), named=tuple(changed[:LISTED_CHANGES])
    )
