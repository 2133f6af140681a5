"""Earlier versions of an agent, with their scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName
from leaderboard.core.version_folders import VersionFolders
from leaderboard.pages.agent.agent_profile import AgentProfile
from leaderboard.scoring.intervals import score_or_none

# Earlier versions that the page lists, of all tasks together; the agent's API document has `HISTORY_VERSIONS` of each task,
# those under its present settings.
LISTED_VERSIONS = 40


@dataclass(frozen=True, kw_only=True)
class EarlierVersion:
    """A result in the history of an agent."""

    task: Task
    result: Result
    score: float | None
    """None if it failed or the task had other settings."""
    is_shown: bool
    """Whether it is the one that counts now."""
    is_other_task: bool
    """Whether the task had other settings then, so that scores cannot be compared."""


@dataclass(frozen=True, kw_only=True)
class EarlierVersions:
    """The history of an agent."""

    versions: tuple[EarlierVersion, ...]
    """The newest first."""
    more: int
    """Number of older ones that are left out."""


def results_by_agent(
    results: Iterable[Result], season: str, names: Iterable[AgentName], at: VersionFolders, *, official: bool
) -> Mapping[AgentName, Sequence[Result]]:
    """The results of these agents in the season, in one pass over all results."""
    by_name: dict[AgentName, list[Result]] = {name: [] for name in names}
    for result in results:
        results_of = by_name.get(at.of(result))
        if results_of is not None and result.season == season and (is_official(result) or not official):
            results_of.append(result)
    return by_name


def earlier_versions(profile: AgentProfile, results: Sequence[Result]) -> EarlierVersions | None:
    """The history of an agent; None if it has no results beside those that its page shows anyway."""
    shown = {entered.result.key for entered in profile.task_results if entered.result}
    tasks = {entered.task.id: entered.task for entered in profile.task_results}
    of_tasks = [result for result in results if result.task in tasks]
    if not any(result.key not in shown for result in of_tasks):
        return None
    ordered = sorted(of_tasks, key=lambda result: (result.provenance.evaluated_at, result.key), reverse=True)
    versions = tuple(_version(tasks[result.task], result, shown) for result in ordered[:LISTED_VERSIONS])
    return EarlierVersions(versions=versions, more=len(ordered) - len(versions))


def _version(task: Task, result: Result, shown: set[str]) -> EarlierVersion:
    is_other = result.task_digest != task.digest()
    score = None if is_other else score_or_none(task, result)
    return EarlierVersion(task=task, result=result, score=score, is_shown=result.key in shown, is_other_task=is_other)
