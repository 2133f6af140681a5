"""Entries that were on the leaderboard this season and are not any more: excluded by the hosts, or withdrawn."""

from collections.abc import Iterable
from dataclasses import dataclass

from evaluator.model.config.moderation import Exclusion, Moderation
from evaluator.model.records.result import Result, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.versions import version_folders


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
    logins = {name: login for name, login in on_main.items() if moderation.of(login, name.agent)}
    ranking = on_main.keys() - logins.keys()
    measured: dict[AgentName, list[Result]] = {}
    for result in results:
        name = folders.of(result)
        if name in ranking:
            continue
        if result.tier is Tier.OFFICIAL and result.season == season and result.verdict is not Verdict.INTERNAL_ERROR:
            logins.setdefault(name, result.login)
            measured.setdefault(name, []).append(result)
    return tuple(
        FormerEntry(
            login=login,
            agent=name.agent,
            exclusion=moderation.of(login, name.agent),
            results=tuple(sorted(measured.get(name, []), key=lambda r: r.provenance.evaluated_at, reverse=True)),
            rehearsed=moderation.rehearsed(login, name.agent),
        )
        for name, login in sorted(logins.items())
    )
