"""The games of a preview: each agent against itself, then against the baselines, then against who is nearest to it."""

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
from scripts.github.preview.preview_session import ChangedAgent, PreviewSession, who
from scripts.repository.checkout import LOCAL, PREVIEW_BEACON, SubmissionEntry
from scripts.runs.evaluate_missing import Evaluator
from scripts.runs.workflow_duels import WorkflowDuelOptions, duel_line, play_duel

# Of so many baselines a preview plays the first; the rest of its duels is for those who are nearest.
BASELINES = 3


@dataclass(kw_only=True)
class PreviewGames:
    """A preview's games under way."""

    session: PreviewSession
    """The preview."""
    bench: Evaluator
    """What plays."""
    recorded: RecordedResults
    """The official board as it is checked out."""
    standing: dict[AgentName, SubmissionEntry]
    """Who may be met: the agents of main that rank, the baselines included."""
    is_up: Callable[[], bool]
    """Whether nothing more may begin."""
    met: set[tuple[AgentName, str, AgentName]] = field(default_factory=set)
    """Who met whom in which game, whether or not there was room for it."""
    late: set[tuple[AgentName, str]] = field(default_factory=set)
    """Whose games had no time."""

    def play(self) -> None:
        """Validations come first; then everybody's first opponent in every game, then everybody's second."""
        for folder, own, task in self._entered():
            self._meet(folder, own, task, own)
        for _ in range(DUELS - 1):
            for folder, own, task in self._entered():
                if _may_enter(folder, task) and (rival := self._rival(folder, own, task)):
                    self._meet(folder, own, task, rival)

    def _entered(self) -> Iterator[tuple[ChangedAgent, SubmissionEntry, Task]]:
        for task in self.session.board.challenge.games:
            for folder in self.session.folders:
                if folder.found and task in folder.tasks:
                    yield folder, folder.found, task

    def _meet(self, folder: ChangedAgent, own: SubmissionEntry, task: Task, other: SubmissionEntry) -> None:
        if self.is_up():
            self._skip(own, task)
            return
        self.met.add((_name(own), task.id, _name(other)))
        ours = DuelPlayer(login=own.login, login_id=self.session.pull.author_id, agent=own.agent, folder=own.folder)
        theirs = DuelPlayer(login=other.login, login_id=None, agent=other.agent, folder=other.folder)
        sides = order_sides(ours, ours if other is own else theirs)
        session = self.session
        terms = WorkflowDuelOptions(
            tier=Tier.PREVIEW, beacon=PREVIEW_BEACON, commit=session.pull.head_sha, run_url=session.run_url
        )
        duel = play_duel(self.bench, task, sides, terms)
        say(duel_line(duel))
        folder.duels.append(duel)
        session.write()

    def _skip(self, own: SubmissionEntry, task: Task) -> None:
        if (_name(own), task.id) not in self.late:
            self.late.add((_name(own), task.id))
            name = who(own.login, own.agent, task.id)
            self.session.skip(f"{name}: the preview’s time was up; the official run plays the rest after the merge")

    def _rival(self, folder: ChangedAgent, own: SubmissionEntry, task: Task) -> SubmissionEntry | None:
        """The next opponent: a baseline, else who is rated nearest; None where everybody worth meeting was met."""
        board = next(board for board in self.recorded.now.games if board.task.id == task.id)
        gone = {_name(own)} | {other for name, game, other in self.met if (name, game) == (_name(own), task.id)}
        if named := [found for found in self._baselines(task, board) if _name(found) not in gone]:
            return named[0]
        # The official run has folders of one login or team not meet either.
        one_side = owner_groups((*self.recorded.entries, own.entry()), self.recorded.duels)
        others = (row for row in board.rows if not one_side.are_one(_name(own), row.entry.name))
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
        found = [
            found
            for named in challenge.baselines
            for name, found in self.standing.items()
            if name not in refused and found.folder.submission.plays(task) and _is_called(found, named)
        ]
        return found[:BASELINES]

    def _elo(self, folder: ChangedAgent, task: Task) -> float | None:
        """The rating that it would have by what was played so far."""
        preview = self.session.preview()
        own = tuple(agent for agent in preview.agents if (agent.login, agent.agent) == (folder.login, folder.agent))
        state = preview_state(preview.model_copy(update={"agents": own}), self.recorded, run_url=None)
        game = next((game for agent in state.agents for game in agent.games if game.task.id == task.id), None)
        return game.rating.elo if game and game.rating else None


def _name(found: SubmissionEntry) -> AgentName:
    return AgentName.folded(found.login, found.agent)


def _is_called(found: SubmissionEntry, named: str) -> bool:
    own = found.agent if found.login == LOCAL else f"{found.login}/{found.agent}"
    return own.casefold() == named.casefold()


def _may_enter(folder: ChangedAgent, task: Task) -> bool:
    """Whether its validation passed."""
    own = [duel for duel in folder.duels if duel.task == task.id and duel.is_validation]
    return any(duel.verdict is Verdict.OK and validation_fault(duel) is None for duel in own)
