"""Which entries take part in a leaderboard, and which records count on an official one."""

from collections.abc import Iterable
from dataclasses import dataclass

from evaluator.model.config.moderation import Exclusion, Moderation
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import PREVIEW_BEACON, RANKING, Result, Tier
from leaderboard.core.entry import AgentName, Entry

# The owner of the example agents: only those named as baselines are part of an official leaderboard.
LOCAL = "local"


@dataclass(frozen=True, kw_only=True)
class EligibleEntries:
    """The entries on main, sorted once for all tasks."""

    ranking: tuple[Entry, ...]
    """Those that take part."""
    excluded: tuple[tuple[Entry, Exclusion], ...]
    names: frozenset[AgentName]
    """All of them, examples too: an agent whose name is missing here has no folder on main."""
    moderation: Moderation
    """Also excludes agents that have no folder any more."""


def eligible_entries(entries: Iterable[Entry], moderation: Moderation | None, *, official: bool) -> EligibleEntries:
    """Separate entries that take part from those that moderation excludes."""
    entries, moderation = tuple(entries), moderation or Moderation()
    ranking: list[Entry] = []
    excluded: list[tuple[Entry, Exclusion]] = []
    for entry in entries:
        if exclusion := moderation.of(entry.login, entry.agent):
            excluded.append((entry, exclusion))
        elif entry.login != LOCAL or entry.baseline or not official:
            ranking.append(entry)
    names = frozenset(entry.name for entry in entries)
    return EligibleEntries(ranking=tuple(ranking), excluded=tuple(excluded), names=names, moderation=moderation)


def is_official(record: Result | Duel) -> bool:
    """Whether a record counts on an official leaderboard.

    The tier alone is not enough: a record on seeds that were public beforehand never counts.
    """
    return record.tier is Tier.OFFICIAL and record.sandbox in RANKING and record.beacon != PREVIEW_BEACON
