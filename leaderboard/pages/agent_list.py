"""The list of all agents, with their places."""

from dataclasses import dataclass, field

from evaluator.model.config.task import Task
from leaderboard.core.entry import AgentName, Entry, RankedEntry
from leaderboard.core.standings import Standings, listed_entries

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
    for board in standings.boards:
        for entry, listed in listed_entries(board):
            line = lines.setdefault(entry.name, AgentLine(entry=entry))
            if isinstance(listed, RankedEntry):
                line.tasks += 1
                line.places += [] if listed.is_unranked else [(listed.place, board.task)]
    for line in lines.values():
        line.places.sort(key=lambda step: step[0])
    return sorted(lines.values(), key=_order)


def _order(line: AgentLine) -> tuple[float, int, str]:
    best = line.places[0][0] if line.places else float("inf")
    return best, -len(line.places), line.entry.shown
