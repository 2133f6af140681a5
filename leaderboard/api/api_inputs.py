"""What all documents are built from: the standings, the context of pages, and all recorded results by agent."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName
from leaderboard.core.standings import Standings, results_of
from leaderboard.core.version_folders import version_folders
from leaderboard.site_context import SiteContext

# A moment as pages show it.
_SHOWN_MOMENT = re.compile(r"^(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC$")


@dataclass(frozen=True, kw_only=True)
class ApiInputs:
    """What documents are built from."""

    standings: Standings
    context: SiteContext
    recorded: Mapping[AgentName, tuple[Result, ...]]
    """By agent: the results that count on this leaderboard, earlier versions included."""

    @property
    def generated_at(self) -> str:
        """The moment of the build, as ISO 8601 where it is known."""
        now = self.context.now
        if now:
            return now.strftime("%Y-%m-%dT%H:%M:%SZ")
        return _SHOWN_MOMENT.sub(r"\1T\2:00Z", self.context.generated_at)

    @property
    def repository(self) -> str | None:
        """The address of the board's repository."""
        return self.context.repository or self.standings.challenge.repository

    @cached_property
    def task_digests(self) -> Mapping[str, str]:
        """The digest of each solo task; cached, since the history of every result needs one."""
        return {board.task.id: board.task.digest() for board in self.standings.tasks}

    @property
    def results(self) -> Iterator[Result]:
        """All results that count."""
        return (result for results in self.recorded.values() for result in results)


def api_inputs(standings: Standings, context: SiteContext) -> ApiInputs:
    """Group the results that count by agent."""
    recorded: dict[AgentName, list[Result]] = {}
    folders = version_folders(standings.entries.values())
    for result in _counting(context.results or results_of(standings), standings):
        recorded.setdefault(folders.of(result), []).append(result)
    by_agent = {name: tuple(results) for name, results in recorded.items()}
    return ApiInputs(standings=standings, context=context, recorded=by_agent)


def _counting(results: Iterable[Result], standings: Standings) -> Iterable[Result]:
    """Results of this season, without previews; on an official leaderboard only official ones."""
    for result in results:
        counts = is_official(result) if standings.official else result.tier is not Tier.PREVIEW
        if counts and result.season == standings.challenge.season:
            yield result
