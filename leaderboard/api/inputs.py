"""What all documents are made of: the standings, what pages know besides, and everything recorded, by agent."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from evaluator.model.records.result import Result, Tier
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName
from leaderboard.core.standings import Row, Standings, TaskStandings
from leaderboard.core.versions import version_folders_of
from leaderboard.pages.page_context import PageContext

# A moment as pages show it.
_SHOWN_MOMENT = re.compile(r"^(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC$")


@dataclass(frozen=True, kw_only=True)
class ApiInputs:
    """Everything at hand."""

    standings: Standings
    """The board."""
    context: PageContext
    """What no standings know."""
    recorded: Mapping[AgentName, tuple[Result, ...]]
    """By agent: what counts on this board, of earlier versions too."""

    @property
    def generated_at(self) -> str:
        """When, as ISO 8601 where the moment is known."""
        now = self.context.now
        if now:
            return now.strftime("%Y-%m-%dT%H:%M:%SZ")
        return _SHOWN_MOMENT.sub(r"\1T\2:00Z", self.context.generated_at)

    @property
    def repository(self) -> str | None:
        """The address of the board's repository."""
        return self.context.repository or self.standings.challenge.repository

    @property
    def results(self) -> Iterator[Result]:
        """Everything that counts."""
        return (result for own in self.recorded.values() for result in own)

    def firsts(self, board: TaskStandings) -> list[str]:
        """When the version of the agent in each row was first recorded on the board's task, in UTC."""
        return [self._first(row) for row in board.rows]

    def _first(self, row: Row) -> str:
        result = row.result
        same = [
            one.provenance.evaluated_at
            for one in self.recorded.get(row.entry.name, ())
            if one.task == result.task and one.submission_digest == result.submission_digest
        ]
        return min(same, default=result.provenance.evaluated_at)


def api_inputs(standings: Standings, context: PageContext, names: Collection[AgentName] | None = None) -> ApiInputs:
    """Sort out once what is recorded; of these agents alone, where only they are asked for."""
    found: dict[AgentName, list[Result]] = {}
    at = version_folders_of(standings)
    for result in _counting(context.results or _ranked(standings), standings):
        name = at.of(result)
        if names is None or name in names:
            found.setdefault(name, []).append(result)
    return ApiInputs(standings=standings, context=context, recorded={name: tuple(own) for name, own in found.items()})


def _ranked(standings: Standings) -> Iterator[Result]:
    """What the boards themselves hold, where nothing else is at hand."""
    for board in standings.tasks:
        yield from (row.result for row in board.rows)
        yield from (failure.result for failure in board.failures)


def _counting(results: Iterable[Result], standings: Standings) -> Iterable[Result]:
    """Of this season; previews rank nowhere, and on an official board only official results do."""
    for result in results:
        counts = is_official(result) if standings.official else result.tier is not Tier.PREVIEW
        if counts and result.season == standings.challenge.season:
            yield result
