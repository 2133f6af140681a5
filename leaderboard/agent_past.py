"""What was measured of an agent before: its earlier versions, and the same version under other settings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import Name, is_official
from leaderboard.core.versions import Homes
from leaderboard.profiles import Profile
from leaderboard.scoring.intervals import values
from leaderboard.scoring.metrics import known, ranking

# The newest so many; the others are in the agent's document.
SHOWN = 40


@dataclass(frozen=True, kw_only=True)
class Version:
    """One result among those that an agent has."""

    task: Task
    """On which task."""
    result: Result
    """What was measured."""
    score: float | None
    """What that amounts to; None where it failed or nothing can be compared."""
    is_shown: bool
    """Whether it is the one that counts now."""
    is_other_task: bool
    """Whether the task had other settings then, so that the number is of another kind."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """The history of one agent."""

    versions: tuple[Version, ...]
    """The newest first."""
    more: int
    """How many older ones are not among them."""


def by_agent(
    results: Iterable[Result], season: str, names: Iterable[Name], at: Homes, *, official: bool
) -> Mapping[Name, Sequence[Result]]:
    """The results of the season of those agents: looked through once, not for each."""
    found: dict[Name, list[Result]] = {name: [] for name in names}
    for result in results:
        own = found.get(at.of(result))
        if own is not None and result.season == season and (is_official(result) or not official):
            own.append(result)
    return found


def past(profile: Profile, own: Sequence[Result]) -> Past | None:
    """What is recorded of an agent beside what its page shows anyway; None where there is nothing else."""
    shown = {showing.result.key for showing in profile.showings if showing.result}
    tasks = {showing.task.id: showing.task for showing in profile.showings}
    known_tasks = [result for result in own if result.task in tasks]
    if not any(result.key not in shown for result in known_tasks):
        return None
    ordered = sorted(known_tasks, key=lambda result: (result.provenance.evaluated_at, result.key), reverse=True)
    versions = tuple(_version(tasks[result.task], result, shown) for result in ordered[:SHOWN])
    return Past(versions=versions, more=len(ordered) - len(versions))


def _version(task: Task, result: Result, shown: set[str]) -> Version:
    is_other = result.task_digest != task.digest()
    score = None if is_other or result.verdict is not Verdict.OK else known(values([result], task, ranking(task))[0])
    return Version(task=task, result=result, score=score, is_shown=result.key in shown, is_other_task=is_other)
