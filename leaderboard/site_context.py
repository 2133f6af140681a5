"""What pages and documents show beside the standings: former entries, replays, and which results were reproduced."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from evaluator.model.config.moderation import Exclusion, Moderation, Quarantine
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.version_folders import version_folders
from leaderboard.scoring.counting_results import precedence
from leaderboard.visibility import is_replaced_login

# Entries of each task that have replays.
REPLAYED_ENTRIES = 10


@dataclass(frozen=True, kw_only=True)
class ReplayFrames:
    """The frames of one match, rendered by its environment: one before each move and one at the end."""

    texts: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    """Addresses `data:image/png;base64,…`, used if there are no texts."""
    movers: tuple[int, ...] = ()
    """The side that made each move."""


AllFrames = Mapping[tuple[str, int], ReplayFrames]
"""By the duel's key and the match's index."""


@dataclass(frozen=True, kw_only=True)
class EpisodeReplay:
    """One recorded episode, rendered from its trace."""

    which: str
    """`best`, `median` or `worst`."""
    number: int
    """The index among the result's episodes, from 0."""
    total: float
    length: int
    file: str
    """The picture with all frames, row by row, as a path below the site's root."""
    columns: int
    """Frames in each row of the picture; the last row is filled with the last frame."""
    width: int
    """Of one frame, in pixels."""
    height: int
    """Of one frame, in pixels."""
    steps: tuple[int, ...]
    """The step of each frame, from 0."""

    @property
    def rows(self) -> int:
        """Number of rows in the picture."""
        return -(-len(self.steps) // self.columns)

    @property
    def poster(self) -> str:
        """The first frame alone, which a page shows until the episode is played."""
        return f"{self.file.removesuffix('.webp')}-poster.webp"


Episodes = Mapping[str, tuple[EpisodeReplay, ...]]
"""By the result's key: the replays there are of best, median and worst. Empty if the environment cannot render or renders
something else than was recorded. A result without a key here is not among the best."""


@dataclass(frozen=True, kw_only=True)
class FormerEntry:
    """An entry that no longer ranks."""

    login: str
    agent: str
    exclusion: Exclusion | None
    """None if its author withdrew it."""
    results: tuple[Result, ...]
    """Its official results of this season, newest first."""
    rehearsed: frozenset[str] = frozenset()
    """Digests of its versions that were rehearsals of the hosts."""

    @property
    def is_anonymous(self) -> bool:
        """Whether its name is not shown yet, so that nothing may lead to its files."""
        return is_replaced_login(self.login)

    @property
    def is_rehearsal(self) -> bool:
        """Whether all its results are of rehearsals."""
        return bool(self.results) and all(result.submission_digest in self.rehearsed for result in self.results)


def former_entries(
    entries: Iterable[Entry], results: Iterable[Result], moderation: Moderation, season: str
) -> tuple[FormerEntry, ...]:
    """Excluded entries on main and agents with official results that are not on main, by login and agent."""
    entries = list(entries)
    folders = version_folders(entries)
    on_main = {entry.name: entry.login for entry in entries}
    digests = {entry.name: entry.digest for entry in entries}
    logins = {name: login for name, login in on_main.items() if moderation.exclusion_of(login, name.agent, digests[name])}
    ranking = on_main.keys() - logins.keys()
    measured: dict[AgentName, list[Result]] = {}
    for result in results:
        name = folders.of(result)
        if name in ranking:
            continue
        if result.tier is Tier.OFFICIAL and result.season == season and result.verdict is not Verdict.INTERNAL_ERROR:
            logins.setdefault(name, result.login)
            measured.setdefault(name, []).append(result)
    for name in measured.keys() - on_main.keys():  # Of several versions the last one, as leaderboards list it.
        digests[name] = max(measured[name], key=precedence).submission_digest
    return tuple(
        FormerEntry(
            login=login,
            agent=name.agent,
            exclusion=moderation.exclusion_of(login, name.agent, digests[name]),
            results=tuple(sorted(measured.get(name, []), key=lambda r: r.provenance.evaluated_at, reverse=True)),
            rehearsed=moderation.rehearsed_digests(login, name.agent),
        )
        for name, login in sorted(logins.items())
    )


@dataclass(frozen=True, kw_only=True)
class SiteContext:
    """What pages and documents show that is not in the standings."""

    generated_at: str
    """The time of the build, as it is shown."""
    commit: str | None = None
    """The commit of main that was checked out; None where there is no git history."""
    repository: str | None = None
    """Address of the leaderboard's repository; without it nothing links there."""
    site_url: str = ""
    """Address of the site, ending in a slash; empty if unknown."""
    former_entries: tuple[FormerEntry, ...] = ()
    frames: AllFrames = field(default_factory=dict)
    """Rendered matches of games that the site cannot draw itself."""
    networks: Mapping[str, str] = field(default_factory=dict)
    """By task the document of the leader's network, for those games in which visitors play it."""
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
