"""Who takes part in a board, and what was recorded so that it counts."""

from collections.abc import Iterable
from dataclasses import dataclass

from evaluator.model.config.moderation import Exclusion, Moderation
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import PREVIEW_BEACON, Result, Tier
from leaderboard.core.entry import Entry

# The owner of the example agents: only those named as baselines are part of an official board.
LOCAL = "local"

Name = tuple[str, str]
"""Login without capitals, and the agent's folder."""


@dataclass(frozen=True, kw_only=True)
class EligibleEntries:
    """The entries on main, sorted out once for all tasks."""

    ranking: tuple[Entry, ...]
    """Those that take part."""
    excluded: tuple[tuple[Entry, Exclusion], ...]
    """Those that moderation keeps out."""
    names: frozenset[Name]
    """All of them, the examples too: whoever is not among them has no folder."""
    moderation: Moderation
    """Keeps out also those that have no folder."""


def eligible_entries(entries: Iterable[Entry], moderation: Moderation | None, *, official: bool) -> EligibleEntries:
    """Sort out who takes part."""
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
    """Whether it counts on an official board: whatever is called official, seeds that anybody knew do not make it so."""
    return record.tier is Tier.OFFICIAL and record.sandbox.is_official and record.beacon != PREVIEW_BEACON
