"""The ledger: who left the board and why, for whom the hosts vouch, and what was scored again and came out otherwise."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evaluator.model.config.challenge import Task
from evaluator.model.config.moderation import Exclusion, VerifiedEntry
from evaluator.model.records.result import Result, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.former_entries import FormerEntry
from leaderboard.core.game_standings import GameExcluded
from leaderboard.core.standings import Excluded, Standings, entries_of
from leaderboard.pages.page_context import PageContext
from leaderboard.scoring.intervals import values
from leaderboard.scoring.metrics import known_metrics, ranking

# Changes of one re-scoring that the page names; the rest is counted.
NAMED = 12


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """An exclusion."""

    login: str
    """Whose."""
    agent: str
    """The folder."""
    exclusion: Exclusion
    """Since when, by whom, why, and where it was discussed."""


@dataclass(frozen=True, kw_only=True)
class Departure:
    """A withdrawal by the author."""

    login: str
    """Whose."""
    agent: str
    """The folder that it had."""
    measured_at: str
    """When it was measured last, in UTC."""
    tasks: tuple[str, ...]
    """What on."""
    is_rehearsal: bool = False
    """Whether the host entered it to try the board."""


@dataclass(frozen=True, kw_only=True)
class ScoreChange:
    """One agent's version, measured twice on one task."""

    login: str
    """Whose."""
    agent: str
    """The folder."""
    before: float | None
    """The score of the earlier result; None where it had none."""
    after: float | None
    """The score of the later one."""
    verdicts: tuple[Verdict, Verdict]
    """How both ended."""

    @property
    def is_changed(self) -> bool:
        """Whether anything came out otherwise."""
        return self.before != self.after or self.verdicts[0] is not self.verdicts[1]

    @property
    def size(self) -> float:
        """How far apart both are; what has only one score is farthest."""
        return float("inf") if self.before is None or self.after is None else abs(self.after - self.before)


@dataclass(frozen=True, kw_only=True)
class Rescore:
    """The versions that were measured again on one task, on one day and for one reason."""

    day: str
    """UTC, `2026-05-01`."""
    task: Task
    """On which task."""
    why: str
    """What had changed, in words."""
    count: int
    """How many versions."""
    changed: int
    """For how many of them anything came out otherwise."""
    named: tuple[ScoreChange, ...]
    """The greatest of these changes."""


@dataclass(frozen=True, kw_only=True)
class ModerationLog:
    """What the page tells, the newest first."""

    rulings: tuple[Ruling, ...]
    """Exclusions."""
    leavings: tuple[Departure, ...]
    """Withdrawals."""
    vouched: tuple[tuple[Entry, VerifiedEntry], ...]
    """Entries that the hosts vouch for."""
    rescores: tuple[Rescore, ...]
    """What was measured again."""


def moderation_log(standings: Standings, context: PageContext) -> ModerationLog:
    """Everything that the ledger tells."""
    gone = context.departed
    return ModerationLog(
        rulings=tuple(sorted(_rulings(standings, gone), key=lambda one: one.exclusion.since, reverse=True)),
        leavings=tuple(sorted(_leavings(standings, gone), key=lambda one: one.measured_at, reverse=True)),
        vouched=tuple(sorted(_vouched(standings), key=lambda pair: pair[1].since, reverse=True)),
        rescores=tuple(rescores(standings, context.results)),
    )


def _rulings(standings: Standings, gone: Iterable[FormerEntry]) -> Iterator[Ruling]:
    found: dict[AgentName, Ruling] = {}
    out: list[Excluded | GameExcluded | FormerEntry] = [one for board in standings.tasks for one in board.excluded]
    out += [one for game in standings.games for one in game.excluded]
    for one in (*out, *gone):
        if one.exclusion:
            name = AgentName.folded(one.login, one.agent)
            found.setdefault(name, Ruling(login=one.login, agent=one.agent, exclusion=one.exclusion))
    yield from (found[name] for name in sorted(found))


def _leavings(standings: Standings, gone: Sequence[FormerEntry]) -> Iterator[Departure]:
    """From what is withdrawn on the boards; what only failed on tasks that are gone is told by the departed."""
    found: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for one in gone:
        if one.exclusion is None:
            found[one.login, one.agent].extend(one.results)
    rehearsals = {(one.login, one.agent) for one in gone if one.is_rehearsal}
    for board in standings.tasks:
        for left in board.withdrawn:
            found[left.login, left.agent].append(left.result)
    for (login, agent), results in sorted(found.items()):
        tasks = tuple(sorted({result.task for result in results}))
        at = max((result.provenance.evaluated_at for result in results), default="")
        is_rehearsal = (login, agent) in rehearsals
        yield Departure(login=login, agent=agent, measured_at=at, tasks=tasks, is_rehearsal=is_rehearsal)


def _vouched(standings: Standings) -> list[tuple[Entry, VerifiedEntry]]:
    found: dict[AgentName, tuple[Entry, VerifiedEntry]] = {}
    for entry in (entry for board in standings.boards for entry in entries_of(board)):
        if entry.verified:
            found.setdefault(entry.name, (entry, entry.verified))
    return [found[name] for name in sorted(found)]


def rescores(standings: Standings, results: Iterable[Result]) -> list[Rescore]:
    """What was measured again, by day, task and reason; the newest first.

    Two results of one version on one task are a re-score if their seeds or what measured them differ. A failure of ours
    is no measurement, so it is no part of this.
    """
    tasks = {board.task.id: board.task for board in standings.tasks}
    pairs: dict[tuple[str, str, str], list[tuple[Result, Result]]] = defaultdict(list)
    for before, after in _pairs(results, tasks, official=standings.official):
        pairs[after.provenance.evaluated_at[:10], after.task, reason(before, after)].append((before, after))
    found = [_rescore(day, tasks[task], why, made) for (day, task, why), made in pairs.items()]
    order = {task: index for index, task in enumerate(tasks)}
    found.sort(key=lambda one: (order[one.task.id], one.why))
    return sorted(found, key=lambda one: one.day, reverse=True)


def _pairs(results: Iterable[Result], tasks: Mapping[str, Task], *, official: bool) -> Iterator[tuple[Result, Result]]:
    versions: dict[tuple[str, str, str, str], list[Result]] = defaultdict(list)
    for one in results:
        counts = one.tier is Tier.OFFICIAL or not official
        if counts and one.task in tasks and one.verdict is not Verdict.INTERNAL_ERROR:
            versions[one.login.casefold(), one.agent, one.submission_digest, one.task].append(one)
    for own in versions.values():
        if len(own) > 1:
            own.sort(key=lambda one: (one.provenance.evaluated_at, one.key))
            yield from ((a, b) for a, b in pairwise(own) if a.key != b.key)


def reason(before: Result, after: Result) -> str:
    """What had changed between two results of one version on one task, in words."""
    changed = [
        (before.season != after.season, "another season"),
        (before.task_digest != after.task_digest, "the task’s settings changed"),
        (before.runtime_digest != after.runtime_digest, "the evaluator changed"),
        (before.beacon != after.beacon, "the seeds come from another commit"),
    ]
    return ", ".join(words for differs, words in changed if differs) or "measured again"


def _rescore(day: str, task: Task, why: str, made: Sequence[tuple[Result, Result]]) -> Rescore:
    before, after = (_scores(task, [pair[side] for pair in made]) for side in (0, 1))
    changes = [
        ScoreChange(login=b.login, agent=b.agent, before=old, after=new, verdicts=(a.verdict, b.verdict))
        for (a, b), old, new in zip(made, before, after, strict=True)
    ]
    changed = sorted((one for one in changes if one.is_changed), key=lambda one: (-one.size, one.login, one.agent))
    return Rescore(day=day, task=task, why=why, count=len(made), changed=len(changed), named=tuple(changed[:NAMED]))


def _scores(task: Task, results: Sequence[Result]) -> list[float | None]:
    """What the task's first metric says of each; None where it failed."""
    ok = [result for result in results if result.verdict is Verdict.OK]
    scored = iter(values(ok, task, ranking(task)) if ok else ())
    return [known_metrics(next(scored)) if result.verdict is Verdict.OK else None for result in results]
