"""The official leaderboard as it is recorded: what its standings are built from, and what of them is hidden now."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.moderation import Moderation
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import Entry
from leaderboard.core.standings import Standings
from leaderboard.planning.evaluation_quota import QuotaAccounts
from leaderboard.visibility import hidden_tasks, with_host_flags


@dataclass(frozen=True, kw_only=True)
class OfficialLeaderboard:
    """The official leaderboard as it is recorded on main and on the branch `results`: whole, and asked for what is shown."""

    challenge: Challenge
    entries: tuple[Entry, ...]
    """Those on main, less those that moderation excludes."""
    results: tuple[Result, ...]
    duels: tuple[Duel, ...] = ()
    every_record: tuple[Result | Duel, ...] = ()
    """With those in quarantine, which quotas are charged for, and which are tries."""
    at: datetime | None = None
    """The moment that decides what is hidden or not named; everything is shown if left out."""
    final_beacon: str | None = None
    """As in `build_standings`; then the entries are those of that commit."""

    @cached_property
    def now(self) -> Standings:
        """The official standings now, as comments need them: without interquartile means."""
        entries = with_host_flags(self.entries, self.challenge, Moderation())
        return build_standings(
            self.challenge, entries, self.results, official=True, duels=self.duels,
            uncounted=self.every_record, final_beacon=self.final_beacon, with_iqm=False,
        )  # fmt: skip

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The tasks whose leaderboards are not shown."""
        return frozenset(task.id for task in hidden_tasks(self.challenge, self.at)) if self.at else frozenset()

    @cached_property
    def accounts(self) -> QuotaAccounts:
        """What of the quotas is used, by every record."""
        return QuotaAccounts(self.challenge, self.entries, self.every_record)
