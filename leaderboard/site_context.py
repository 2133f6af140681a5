"""What pages and documents show beside the standings, and which results were reproduced."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from evaluator.model.config.challenge import Task
from evaluator.model.config.moderation import Quarantine
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName
from leaderboard.core.former_entries import FormerEntry
from leaderboard.core.replays import AllFrames, Episodes


@dataclass(frozen=True, kw_only=True)
class SiteContext:
    """What pages and documents show that is not in the standings."""

    generated_at: str
    """The time of the build, as it is shown."""
    repository: str | None = None
    """Address of the leaderboard's repository; without it nothing links there."""
    site_url: str = ""
    """Address of the site, ending in a slash; empty if unknown."""
    departed: tuple[FormerEntry, ...] = ()
    frames: AllFrames = field(default_factory=dict)
    """Rendered matches of games that the site cannot draw itself."""
    episodes: Episodes = field(default_factory=dict)
    results: tuple[Result, ...] = ()
    """All recorded results that may be shown, including those of earlier versions."""
    pulls: Mapping[AgentName, int] = field(default_factory=dict)
    """The pull request that added the current version, by login in lower case and agent."""
    reproduced: frozenset[str] = frozenset()
    """Keys of reproduced results."""
    now: datetime | None = None
    """The current time, for the state of phases; without it only their dates are shown."""
    quarantines: tuple[Quarantine, ...] = ()
    hidden: tuple[Task, ...] = ()
    """Tasks whose leaderboards are not shown yet."""


def reproduced(results: Iterable[Result]) -> frozenset[str]:
    """The keys of official results that were measured more than once on the same seeds, with the same returns each time.

    A re-evaluation has the same beacon, and so the same seeds, but another key: other lock files or another image. The
    returns must be equal to the last bit. If one result differs, none of its group counts as reproduced.
    """
    groups: defaultdict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        if result.verdict is Verdict.OK and result.sealed is None and is_official(result):
            groups[result.submission_digest, result.task_digest, result.task, result.season, result.beacon].append(result)
    return frozenset(result.key for group in groups.values() if _is_confirmed(group) for result in group)


def _is_confirmed(group: list[Result]) -> bool:
    return len({result.key for result in group}) > 1 and all(result.returns == group[0].returns for result in group)
