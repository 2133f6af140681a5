"""What is wanted and not recorded: the difference is what there is to do."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from evaluator.model.challenge import Challenge
from evaluator.model.result import Result, Wanted
from evaluator.model.verdict import Verdict
from leaderboard.standings import Entry

# How often a failure of ours is tried again by itself; then somebody has to look.
TRIES = 3


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
    """Wanted − recorded, by login, agent and task. An `internal_error` is not a record: it is tried again, a few times."""
    results = list(results)
    recorded = [r for r in results if r.verdict is not Verdict.INTERNAL_ERROR]
    done = {_mark(r.login, r.agent, r.key) for r in recorded} | given_up(results)
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
                beacon=where.beacons.get((entry.login, entry.agent), where.beacon),
            )
            if _mark(entry.login, entry.agent, wanted.key()) not in done:
                items.append(Item(entry=entry, task_id=task.id, wanted=wanted, reason=seen.reason(entry, task.id, wanted)))
    return items


def given_up(results: Iterable[Result]) -> set[tuple[str, str, str]]:
    """Login without capitals, agent and key of what failed on our side as often as we try."""
    failed = Counter(_mark(r.login, r.agent, r.key) for r in results if r.verdict is Verdict.INTERNAL_ERROR)
    return {mark for mark, count in failed.items() if count >= TRIES}


def _mark(login: str, agent: str, key: str) -> tuple[str, str, str]:
    """Two folders of one author may hold the same version: each has a result of its own."""
    return login.casefold(), agent, key


@dataclass(frozen=True, kw_only=True)
class Where:
    """What measures, and where the seeds come from."""

    runtime_digest: str
    """Lock files, sandbox sources, base image."""
    beacon: str
    """Where no commit tells."""
    beacons: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Login and agent to the commit the seeds come from."""


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
