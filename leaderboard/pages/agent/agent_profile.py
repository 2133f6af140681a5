"""The results of an agent on all tasks and games, as its page shows them."""

from dataclasses import dataclass

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import GameFailure, GameRow, GameStandings
from leaderboard.core.parallel import SINGLE_PARTITION, Partition
from leaderboard.core.standings import OverallRow, Standings, TaskFailure, TaskRow, listed_by_agent
from leaderboard.pages.game_page import Opponent, opponents_of


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """An agent on a task: a row, a failure, or neither while it waits."""

    task: Task
    row: TaskRow | None = None
    failure: TaskFailure | None = None
    quarantine: str = ""
    """What is said where its record is in quarantine."""

    @property
    def result(self) -> Result | None:
        """The recorded result; None while it waits."""
        source = self.row or self.failure
        return source.result if source else None

    @property
    def versions_tried(self) -> int:
        """Number of versions of this agent that were evaluated on this task."""
        source = self.row or self.failure
        return source.versions_tried if source else 0


@dataclass(frozen=True, kw_only=True)
class GameResult:
    """An agent in a game: a row, a failure, or neither while it waits."""

    board: GameStandings
    row: GameRow | None = None
    failure: GameFailure | None = None
    quarantine: str = ""
    """As in `TaskResult`."""
    opponents: tuple[Opponent, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AgentProfile:
    """An agent with all its results, in the order of challenge.yml."""

    entry: Entry
    overall: OverallRow | None
    """Its row of the overall leaderboard, if it has a score."""
    task_results: tuple[TaskResult, ...]
    game_results: tuple[GameResult, ...] = ()


def agent_profiles(standings: Standings, share: Partition = SINGLE_PARTITION) -> tuple[AgentProfile, ...]:
    """The profiles of a share of all agents, sorted by login and agent."""
    overall = {row.entry.name: row for row in standings.overall}
    profiles = []
    for name, boards in listed_by_agent(standings, share.of(sorted(standings.entries))).items():
        entry = standings.entries[name]
        task_results: list[TaskResult] = []
        game_results: list[GameResult] = []
        for board, listed in boards:
            waits = "" if listed else entry.waits_for(board.task.id)
            if isinstance(board, GameStandings):
                game_results.append(
                    GameResult(
                        board=board, row=listed if isinstance(listed, GameRow) else None,
                        failure=listed if isinstance(listed, GameFailure) else None, quarantine=waits,
                        opponents=tuple(opponents_of(board, name)) if isinstance(listed, GameRow) else (),
                    )
                )  # fmt: skip
            else:
                task_results.append(
                    TaskResult(
                        task=board.task, row=listed if isinstance(listed, TaskRow) else None,
                        failure=listed if isinstance(listed, TaskFailure) else None, quarantine=waits,
                    )
                )  # fmt: skip
        profiles.append(
            AgentProfile(
                entry=entry, overall=overall.get(name), task_results=tuple(task_results), game_results=tuple(game_results)
            )
        )
    return tuple(profiles)
