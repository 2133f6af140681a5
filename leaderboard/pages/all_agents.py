"""The page of all agents: where each has a place. Its script reads `api/status.json` for filters and further rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from evaluator.model.config.challenge import Task
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.game_standings import GameStandings
from leaderboard.core.standings import Standings, TaskStandings

# Places that a row names; the agent's page has all of them.
NAMED_PLACES = 3


@dataclass(kw_only=True)
class AgentLine:
    """One agent."""

    entry: Entry
    places: list[tuple[int, Task]] = field(default_factory=list)
    """The best first."""
    tasks: int = 0
    """With a score or a rating, also without a place."""

    @property
    def named(self) -> list[tuple[int, Task]]:
        """The places that its row names."""
        return self.places[:NAMED_PLACES]


def agent_lines(standings: Standings) -> list[AgentLine]:
    """Every agent that is on the board or waits for it: the best place first, then the most places, then by name."""
    lines: dict[AgentName, AgentLine] = {}
    for entry, task, place, is_scored in _seen(standings):
        line = lines.setdefault(entry.name, AgentLine(entry=entry))
        line.tasks += is_scored
        if place is not None:
            line.places.append((place, task))
    for line in lines.values():
        line.places.sort(key=lambda one: one[0])
    return sorted(lines.values(), key=_order)


def _seen(standings: Standings) -> Iterator[tuple[Entry, Task, int | None, bool]]:
    boards: list[TaskStandings | GameStandings] = [*standings.tasks, *standings.games]
    for board in boards:
        for row in board.rows:
            yield row.entry, board.task, None if row.is_aside else row.place, True
        for failure in board.failures:
            yield failure.entry, board.task, None, False
        for entry in board.waiting:
            yield entry, board.task, None, False


def _order(line: AgentLine) -> tuple[float, int, str]:
    best = line.places[0][0] if line.places else float("inf")
    return best, -len(line.places), f"{line.entry.login}/{line.entry.agent}"
