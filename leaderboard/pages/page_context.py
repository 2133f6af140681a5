"""Which results came out again: measured officially more than once on the same seeds, with the same returns each time."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName
from leaderboard.core.former_entries import FormerEntry
from leaderboard.game_boards.match_replay import AllFrames
from leaderboard.pages.episode_replays import Episodes


@dataclass(frozen=True, kw_only=True)
class PageContext:
    """What pages say that no standings know."""

    generated_at: str
    """When, as it is to be shown."""
    repository: str | None = None
    """Address of the board's repository; without it nothing links there."""
    site_url: str = ""
    """Address of the site, with a slash at its end; empty where nobody knows it, so that nothing is said of it."""
    departed: tuple[FormerEntry, ...] = ()
    """Who no longer ranks."""
    frames: AllFrames = field(default_factory=dict)
    """Rendered matches of games that have no drawing of ours."""
    episodes: Episodes = field(default_factory=dict)
    """Rendered episodes of the best of each task."""
    results: tuple[Result, ...] = ()
    """Everything recorded that may be shown, of earlier versions too: what history is made of."""
    pulls: Mapping[AgentName, int] = field(default_factory=dict)
    """By login without capitals and agent: the pull request that brought the present version."""
    reproduced: frozenset[str] = frozenset()
    """Keys of results that came out again when they were measured again."""
    now: datetime | None = None
    """The moment, for what phases say of themselves; they say only their dates when left out."""
    hidden: tuple[Task, ...] = ()
    """Tasks whose boards are not shown yet."""


def reproduced(results: Iterable[Result]) -> frozenset[str]:
    """The keys of all official results that another one confirms.

    A re-evaluation keeps the beacon, and with it the seeds, but has another key: other lock files, another image. Of
    equal seeds equal returns are asked, to the last bit. One that differs takes the mark from all of its kind.
    """
    found: defaultdict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        if result.verdict is Verdict.OK and result.sealed is None and is_official(result):
            found[result.submission_digest, result.task_digest, result.task, result.season, result.beacon].append(result)
    confirmed = (same for same in found.values() if len({one.key for one in same}) > 1 and _agree(same))
    return frozenset(one.key for same in confirmed for one in same)


def _agree(same: list[Result]) -> bool:
    return all(one.returns == same[0].returns for one in same)
