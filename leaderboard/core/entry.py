"""An entry: an agent that is on main now; its score and its rank, or why it is kept off."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self

from evaluator.model.config.moderation import Exclusion, VerifiedEntry
from evaluator.model.config.submission import Submission

# The owner of the example agents: only those named as baselines are part of an official leaderboard.
EXAMPLES_LOGIN = "local"


class AgentName(NamedTuple):
    """An agent by its owner's login and its folder."""

    login: str
    agent: str

    @classmethod
    def folded(cls, login: str, agent: str) -> Self:
        """The name that maps and comparisons use: GitHub ignores case in logins, so the login is in lower case."""
        return cls(login.casefold(), agent)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An agent that is on main now."""

    login: str
    """Its owner."""
    agent: str
    """Its folder."""
    submission: Submission
    digest: str
    """Its version: results of other versions do not rank."""
    baseline: bool = False
    """Shown for comparison, by the host."""
    host: bool = False
    """Entered by the hosts themselves."""
    verified: VerifiedEntry | None = None
    """Which host vouches for it."""
    quarantined: Mapping[str, str] = field(default_factory=dict, hash=False)
    """By task what is said where a record of this version is in quarantine."""
    refused: Mapping[str, str] = field(default_factory=dict, hash=False)
    """By task why this version is not evaluated there, by a phase or the rules for participants."""
    stay_beacons: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)
    """By task the beacons of all stays of this version on main in the season, where it left and came back."""
    anonymous: bool = False
    """Shown under another name for now, so nothing may link to its source."""
    erased: bool = False
    """Its owner was forgotten: it keeps the places that it has, and waits for no others."""

    @cached_property
    def name(self) -> AgentName:
        """The key in maps; cached, since a large leaderboard reads it half a million times."""
        return AgentName.folded(self.login, self.agent)

    @property
    def spelled_name(self) -> AgentName:
        """The name as the folder's path spells the login."""
        return AgentName(self.login, self.agent)

    @property
    def version(self) -> tuple[str, str, str]:
        """Login, folder and digest, as records have them."""
        return self.login, self.agent, self.digest

    def waits_for(self, task_id: str) -> str:
        """What is said of it on a task where nothing is recorded that counts; empty if it only has to wait."""
        return self.quarantined.get(task_id) or self.refused.get(task_id, "")

    def is_awaited(self, task_id: str) -> bool:
        """Whether it is listed as waiting on a task where nothing is recorded that counts."""
        return not self.erased or task_id in self.quarantined

    @property
    def is_unranked(self) -> bool:
        """Whether the entry is listed for comparison only: it has no place and takes none."""
        return self.host or self.baseline

    @property
    def shown(self) -> str:
        """`login/agent`."""
        return f"{self.login}/{self.agent}"


MEDAL_PLACES = 3


@dataclass(frozen=True, kw_only=True)
class RankedEntry:
    """An entry with its rank; its rank interval holds at 95 %, for this entry alone."""

    place: int
    """1 for the best; equal scores or ratings share a place."""
    rank_low: int
    """1 + entries significantly better."""
    rank_high: int
    """N − entries significantly worse."""
    with_leader: bool
    """Whether the rank interval begins at 1: not told apart from the leader."""
    tries: int = 1
    """Versions and draws that it was chosen from; with several its intervals are wider. 1 for final draws."""
    superseded_by: str | None = None
    """The version of its owner that holds the place in its stead, `login/agent`; only in final ranks."""
    entry: Entry

    @property
    def is_unranked(self) -> bool:
        """Whether the row has no place and takes none: it is for comparison only, or another version holds the place."""
        return self.entry.is_unranked or self.superseded_by is not None

    @property
    def has_medal(self) -> bool:
        """Whether its place is one of the first three; the page's scripts have it again: `site/assets/js/table-cells.js`."""
        return self.place <= MEDAL_PLACES and not self.is_unranked


# The page's scripts have it again: `site/assets/js/stats.js`.
CONFIDENCE = 0.95
INTERVAL_NAME = f"{100 * CONFIDENCE:g} % interval"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A score and its interval at `CONFIDENCE`. NaN means missing: no score, or an unknown spread."""

    score: float
    """In the unit of the metric that ranks."""
    low: float
    high: float

    @property
    def is_missing(self) -> bool:
        """Whether there is no score."""
        return math.isnan(self.score)


@dataclass(frozen=True, kw_only=True)
class Excluded:
    """An entry that moderation keeps off the leaderboard: listed with the reason, never ranked."""

    login: str
    agent: str
    exclusion: Exclusion
