"""Who was on the board and is not any more: nothing that was measured disappears without a word."""

from collections.abc import Iterable
from dataclasses import dataclass

from evaluator.model.config.moderation import Exclusion, Moderation
from evaluator.model.records.result import Result, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.standings import Entry
from leaderboard.core.versions import version_folders


@dataclass(frozen=True, kw_only=True)
class FormerEntry:
    """An entry that no longer ranks."""

    login: str
    """Whose."""
    agent: str
    """Its folder."""
    exclusion: Exclusion | None
    """Who excluded it, since when and why; None if its author withdrew it."""
    results: tuple[Result, ...]
    """What was measured of it this season, the newest first."""
    rehearsed: frozenset[str] = frozenset()
    """Digests of its versions that were rehearsals of the host's."""

    @property
    def is_rehearsal(self) -> bool:
        """Whether everything that was measured of it was a rehearsal."""
        return bool(self.results) and all(result.submission_digest in self.rehearsed for result in self.results)


def former_entries(
    entries: Iterable[Entry], results: Iterable[Result], moderation: Moderation, season: str
) -> tuple[FormerEntry, ...]:
    """By login and agent: what stands on main and is excluded, and what was measured officially and stands no more."""
    entries = list(entries)
    at = version_folders(entries)
    standing = {entry.name: entry.login for entry in entries}
    names = {name: login for name, login in standing.items() if moderation.of(login, name[1])}
    staying = standing.keys() - names.keys()
    measured: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        name = at.of(result)
        if name in staying:
            continue
        if result.tier is Tier.OFFICIAL and result.season == season and result.verdict is not Verdict.INTERNAL_ERROR:
            names.setdefault(name, result.login)
            measured.setdefault(name, []).append(result)
    found = []
    for (folded, agent), login in sorted(names.items()):
        exclusion = moderation.of(login, agent)
        own = sorted(measured.get((folded, agent), []), key=lambda r: r.provenance.evaluated_at, reverse=True)
        rehearsed = moderation.rehearsed(login, agent)
        found.append(FormerEntry(login=login, agent=agent, exclusion=exclusion, results=tuple(own), rehearsed=rehearsed))
    return tuple(found)
