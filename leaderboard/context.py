"""What pages, feeds and documents say that no standings know."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from leaderboard.core.former_entries import Departed
from leaderboard.episodes import Episodes
from leaderboard.replays import AllFrames


@dataclass(frozen=True, kw_only=True)
class PageContext:
    """What pages say that no standings know."""

    generated_at: str
    """When, as it is to be shown."""
    repository: str | None = None
    """Address of the board's repository; without it nothing links there."""
    site_url: str = ""
    """Address of the site, with a slash at its end; empty where nobody knows it, so that nothing is said of it."""
    departed: tuple[Departed, ...] = ()
    """Who no longer ranks."""
    frames: AllFrames = field(default_factory=dict)
    """Rendered matches of games that have no drawing of ours."""
    episodes: Episodes = field(default_factory=dict)
    """Rendered episodes of the best of each task."""
    results: tuple[Result, ...] = ()
    """Everything recorded that may be shown, of earlier versions too: what history is made of."""
    pulls: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By login without capitals and agent: the pull request that brought the present version."""
    reproduced: frozenset[str] = frozenset()
    """Keys of results that came out again when they were measured again."""
    now: datetime | None = None
    """The moment, for what phases say of themselves; they say only their dates when left out."""
    hidden: tuple[Task, ...] = ()
    """Tasks whose boards are not shown yet."""
