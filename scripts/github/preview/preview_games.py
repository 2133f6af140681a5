"""The duels of a preview: each agent against itself, then against baselines, then against agents of similar rating."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from evaluator.host.duels.evaluate_duel import DuelPlayer, order_sides
from evaluator.model.config.challenge import Task
from evaluator.model.records.preview import DUELS
from evaluator.model.records.result import Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import AgentName
from leaderboard.core.game_standings import GameStandings
from leaderboard.core.owners import owner_groups
from leaderboard.preview.hypothetical_standings import RecordedResults, preview_state
from leaderboard.ratings.duel_results import validation_fault
from scripts.console import say
from scripts.github.preview.preview_session import ChangedAgent, PreviewSession, evaluation_name
from scripts.repository.checkout import PREVIEW_BEACON, SubmissionEntry
from scripts.repository.layout import LOCAL
from scripts.runs.evaluate_missing import Evaluator
from scripts.runs.workflow_duels import WorkflowDuelOptions, duel_line, play_duel

# A preview plays so many baselines at most; its other opponents are those of the nearest rating.
BASELINES_MET = 3


@dataclass(kw_only=True)
class PreviewGames:
    """The duels of one preview."""

    session: PreviewSession
    bench: Evaluator
    recorded: RecordedResults
    """The official board as it is checked out."""
    standing: dict[AgentName, SubmissionEntry]
    """Possible opponents: the agents of main that rank, and the baselines."""
    is_up: Callable[[], bool]
    met: set[tuple[AgentName, str, AgentName]] = field(default_factory=set)
    """Played pairs by game, also those whose duel did not fit into the preview."""
    late: set[tuple[AgentName, str]] = field(default_factory=set)
    """Agents and games that there was no time for."""

    def play(self) -> None:
        """Play validations first; then each agent's first opponent in each game, then the second."""
        for folder, submission, task in self._entered():
            self._meet(folder, submission, task, submission)
        for _ in range(DUELS - 1):
            for folder, submission, task in self._entered():
                if _is_validated(folder, task) and (rival := self._rival(folder, submission, task)):
                    self._meet(folder, submission, task, rival)

    def _entered(self) -> Iterator[tuple[ChangedAgent, SubmissionEntry, Task]]:
        for task in self.session.board.challenge.games:
            for folder in self.session.folders:
                if folder.entry and task in folder.tasks:
                    yield folder, folder.entry, task

    def _meet(self, folder: ChangedAgent, submission: SubmissionEntry, task: Task, other: SubmissionEntry) -> None:
        if self.is_up():
            self._skip(submission, task)
            return
        self.met.add((_agent_name(submission), task.id, _agent_name(other)))
        ours = DuelPlayer(
            login=submission.login, login_id=self.session.pull.author_id, agent=submission.agent, folder=submission.folder
        )
        theirs = DuelPlayer(login=other.login, login_id=None, agent=other.agent, folder=other.folder)
        sides = order_sides(ours, ours if other is submission else theirs)
        session = self.session
        terms = WorkflowDuelOptions(
            tier=Tier.PREVIEW, beacon=PREVIEW_BEACON, commit=session.pull.head_sha, run_url=session.run_url
        )
        duel = play_duel(self.bench, task, sides, terms)
        say(duel_line(duel))
        folder.duels.append(duel)
        session.write()

    def _skip(self, submission: SubmissionEntry, task: Task) -> None:
        if (_agent_name(submission), task.id) not in self.late:
            self.late.add((_agent_name(submission), task.id))
            name = evaluation_name(submission.login, submission.agent, task.id)
            self.session.skip(f"{name}: the preview’s time was up; the official run plays the rest after the merge")

    def _rival(self, folder: ChangedAgent, submission: SubmissionEntry, task: Task) -> SubmissionEntry | None:
        """The next opponent: a baseline, else the one with the nearest rating; None if none is left."""
        board = next(board for board in self.recorded.now.games if board.task.id == task.id)
        gone = {_agent_name(submission)} | {
            other for name, game, other in self.met if (name, game) == (_agent_name(submission), task.id)
        }
        if named := [baseline for baseline in self._baselines(task, board) if _agent_name(baseline) not in gone]:
            return named[0]
        # As in the official run, agents of one login or team do not meet.
        one_side = owner_groups((*self.recorded.entries, submission.entry()), self.recorded.duels)
        others = (row for row in board.rows if not one_side.are_one(_agent_name(submission), row.entry.name))
        rated = [row for row in others if row.entry.name in self.standing and row.entry.name not in gone]
        if not rated:
            return None
        elo = self._elo(folder, task)
        nearest = min(rated, key=lambda row: (0.0 if elo is None else abs(row.rating.elo - elo), row.place, row.entry.name))
        return self.standing[nearest.entry.name]

    def _baselines(self, task: Task, board: GameStandings) -> list[SubmissionEntry]:
        """The baselines that play this game, in the order of challenge.yml."""
        refused = {failure.entry.name for failure in board.failures}
        challenge = self.session.board.challenge
        submission = [
            submission
            for named in challenge.baselines
            for name, submission in self.standing.items()
            if name not in refused and submission.folder.submission.plays(task) and _is_named(submission, named)
        ]
        return submission[:BASELINES_MET]

    def _elo(self, folder: ChangedAgent, task: Task) -> float | None:
        """The rating by the duels played so far."""
        preview = self.session.preview()
        agents = tuple(agent for agent in preview.agents if (agent.login, agent.agent) == (folder.login, folder.agent))
        state = preview_state(preview.model_copy(update={"agents": agents}), self.recorded, run_url=None)
        game = next((game for agent in state.agents for game in agent.games if game.task.id == task.id), None)
        return game.rating.elo if game and game.rating else None


def _agent_name(submission: SubmissionEntry) -> AgentName:
    return AgentName.folded(submission.login, submission.agent)


def _is_named(submission: SubmissionEntry, named: str) -> bool:
    name = submission.agent if submission.login == LOCAL else f"{submission.login}/{submission.agent}"
    return name.casefold() == named.casefold()


def _is_validated(folder: ChangedAgent, task: Task) -> bool:
    """Whether its validation passed."""
    validations = [duel for duel in folder.duels if duel.task == task.id and duel.is_validation]
    return any(duel.verdict is Verdict.OK and validation_fault(duel) is None for duel in validations)
