"""Which entries take part in a leaderboard, and which records count on an official one."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from evaluator.model.config.moderation import Exclusion, Moderation, Quarantine
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import Record
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import PREVIEW_BEACON, Tier
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName, Entry


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
        if exclusion := moderation.exclusion_of(entry.login, entry.agent, entry.digest):
            excluded.append((entry, exclusion))
        elif entry.login != EXAMPLES_LOGIN or entry.baseline or not official:
            ranking.append(entry)
    names = frozenset(entry.name for entry in entries)
    return EligibleEntries(ranking=tuple(ranking), excluded=tuple(excluded), names=names, moderation=moderation)


def without_excluded_teams(entries: Iterable[Entry], moderation: Moderation | None) -> list[Entry]:
    """The entries, of which the excluded ones name no authors: they make no team, as if they were not on main.

    The official run and comments leave them out, and must find the same teams.
    """
    if moderation is None or not moderation.exclusions:
        return list(entries)
    return [
        replace(entry, submission=entry.submission.model_copy(update={"authors": ()}))
        if moderation.exclusion_of(*entry.version)
        else entry
        for entry in entries
    ]


def is_official(record: Result | Duel) -> bool:
    """Whether a record counts on an official leaderboard.

    The tier alone is not enough: a record on seeds that were public beforehand never counts.
    """
    return record.tier is Tier.OFFICIAL and record.sandbox.is_official and record.beacon != PREVIEW_BEACON


def quarantine_of(record: Result | Duel, moderation: Moderation) -> Quarantine | None:
    """The quarantine that hides a record, if any; one without a replay comes first."""
    if not moderation.quarantines:
        return None
    logins = [side.login for side in record.sides]
    at = record.provenance.evaluated_at
    # Of a sealed result only the hour is public.
    latest = f"{at[:13]}:59:59Z" if isinstance(record, Result) and record.sealed is not None else at
    facts = logins, record.image_digest, (at, latest)
    covering = [quarantine for quarantine in moderation.quarantines if quarantine.covers(*facts)]
    return min(covering, key=lambda quarantine: quarantine.replay, default=None)


def without_quarantined(
    records: Iterable[Record], moderation: Moderation, *, keep_not_replayed: bool = False
) -> list[Record]:
    """The records that are not in quarantine; with `keep_not_replayed` also those whose quarantine asks for no replay."""
    if not moderation.quarantines:
        return list(records)
    hiding = ((record, quarantine_of(record, moderation)) for record in records)
    return [record for record, quarantine in hiding if quarantine is None or (keep_not_replayed and not quarantine.replay)]


def with_quarantines(
    entries: Iterable[Entry], records: Iterable[Result | Duel], moderation: Moderation
) -> tuple[Entry, ...]:
    """The entries, each with what is said of its present version where a record of it is in quarantine."""
    if not moderation.quarantines:
        return tuple(entries)
    words: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for record in records:
        if quarantine := quarantine_of(record, moderation):
            for side in record.sides:
                words[side.login.casefold(), side.submission_digest][record.task] = quarantine.in_words
    return tuple(replace(e, quarantined=own) if (own := words.get((e.name.login, e.digest))) else e for e in entries)
