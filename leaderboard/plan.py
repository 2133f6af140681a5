"""What is wanted and not recorded: the difference is what there is to do."""

from collections.abc import Iterable
from dataclasses import dataclass

from evaluator.model.challenge import Challenge
from evaluator.model.result import Result, Wanted
from evaluator.model.verdict import Verdict
from leaderboard.standings import Entry


@dataclass(frozen=True, kw_only=True)
class Item:
    """One evaluation that is wanted."""

    entry: Entry
    """Which agent."""
    task_id: str
    """Which task."""
    wanted: Wanted
    """What it is a function of."""
    reason: str
    """Why it is not recorded, in words."""


def plan(challenge: Challenge, entries: Iterable[Entry], results: Iterable[Result], where: "Where") -> list[Item]:
    """Wanted − recorded, by login, agent and task. An `internal_error` is not a record: it is tried again."""
    recorded = [r for r in results if r.verdict is not Verdict.INTERNAL_ERROR]
    keys = {r.key for r in recorded}
    seen = _Seen.of(recorded)
    items = []
    for entry in sorted(entries, key=lambda e: (e.login.casefold(), e.agent)):
        for task in challenge.tasks:
            if not entry.submission.enters(task.id):
                continue
            wanted = Wanted(
                submission_digest=entry.digest,
                task_digest=task.digest(),
                runtime_digest=where.runtime_digest,
                season=challenge.season,
                beacon=where.beacon,
            )
            if wanted.key() not in keys:
                items.append(Item(entry=entry, task_id=task.id, wanted=wanted, reason=seen.reason(entry, task.id, wanted)))
    return items


@dataclass(frozen=True, kw_only=True)
class Where:
    """What measures, and where the seeds come from."""

    runtime_digest: str
    """Lock files, sandbox sources, base image."""
    beacon: str
    """The season's or the commit's."""


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """What was recorded of each agent on each task, to say why something is wanted anew."""

    wanted: dict[tuple[str, str, str], list[Result]]

    @classmethod
    def of(cls, results: Iterable[Result]) -> "_Seen":
        found: dict[tuple[str, str, str], list[Result]] = {}
        for result in results:
            found.setdefault((result.login.casefold(), result.agent, result.task), []).append(result)
        return cls(wanted=found)

    def reason(self, entry: Entry, task_id: str, wanted: Wanted) -> str:
        before = self.wanted.get((entry.login.casefold(), entry.agent, task_id), [])
        if not before:
            return "new"
        changed = [
            (all(r.submission_digest != wanted.submission_digest for r in before), "the agent changed"),
            (all(r.task_digest != wanted.task_digest for r in before), "the task's settings changed"),
            (all(r.runtime_digest != wanted.runtime_digest for r in before), "the evaluator changed"),
            (all(r.season != wanted.season for r in before), "another season"),
        ]
        return ", ".join(words for differs, words in changed if differs) or "another combination of versions"
