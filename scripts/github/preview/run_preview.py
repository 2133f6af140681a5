"""`pullrank bot preview`: the untrusted preview. Plays a pull request's agents and writes down the results.

The evaluator is the checkout of main that this runs in; the head is only read, as git objects. The result is a claim: the
report trusts it only if the pull request changed nothing but its author's own agents.
"""

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.host.progress import ignore_progress
from evaluator.model.config.task import Task
from evaluator.model.identifiers import AGENT, LOGIN
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import (
    MAX_AGENTS,
    MAX_DUELS,
    MAX_FAULTS,
    MAX_SKIPPED,
    NOTE_CHARACTERS,
    Preview,
    PreviewedAgent,
)
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier
from evaluator.model.records.trace import TraceLeaf
from evaluator.model.records.verdict import Verdict
from leaderboard.build_standings import RecordedLeaderboard
from leaderboard.comments.comment_standings import preview_state
from leaderboard.comments.comment_states import (
    CommentContext,
    CommentState,
    NoRun,
    NoRunReason,
    OurFailure,
    Refused,
    Withdrawn,
)
from leaderboard.comments.log_excerpt import LogTail, write_preview_log
from leaderboard.comments.render_comment import render_comment
from leaderboard.core.eligibility import without_quarantined
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName, Entry
from leaderboard.core.game_standings import GameStandings
from leaderboard.core.owners import owner_groups
from leaderboard.core.store import write_atomically
from leaderboard.planning.admission_rules import AdmissionContext
from leaderboard.ratings.rated_duels import validation_fault
from leaderboard.visibility import hidden_tasks, is_anonymous
from scripts.console import OK, CommandError, say
from scripts.git.git_repository import GitRepository
from scripts.git.pull_request_guard import GuardedPaths, PullAuthor, inspect_pull
from scripts.git.season_commits import final_entries
from scripts.github.preview.preview_artifact import LOG_FILE, PREVIEW_BYTES, PREVIEW_FILE
from scripts.github.workflow.event import PullEvent, WorkflowEnvironment, pull_event
from scripts.github.workflow.outputs import write_summary
from scripts.repository.checkout import AgentFolder, Checkout, open_checkout
from scripts.repository.layout import SUBMISSIONS
from scripts.runs.eligible_tasks import closed_tasks, read_new_agent
from scripts.runs.local_evaluator import Evaluator, open_evaluator
from scripts.runs.play_duels import DuelRunner, log_line, player_names
from scripts.standings.recorded_standings import erased_entries, with_stay_beacons


@dataclass(kw_only=True)
class ChangedAgent:
    """A changed folder and its results so far."""

    login: str
    agent: str
    entry: AgentFolder | None = None
    """None if the folder cannot be used."""
    tasks: tuple[Task, ...] = ()
    faults: tuple[str, ...] = ()
    results: list[Result] = field(default_factory=list)
    duels: list[Duel] = field(default_factory=list)

    def document(self) -> PreviewedAgent:
        """Its part of preview.json."""
        if self.entry is None:
            return PreviewedAgent(
                login=self.login, agent=self.agent, faults=tuple(line[:NOTE_CHARACTERS] for line in self.faults[:MAX_FAULTS])
            )
        folder = self.entry.folder
        results = tuple(_without_log(result) for result in self.results)
        return PreviewedAgent(
            login=self.login, agent=self.agent, submission_digest=folder.digest, name=folder.submission.name,
            results=results, duels=tuple(_without_log_and_times(duel) for duel in self.duels),
        )  # fmt: skip

    def drop(self, *, tells_opponents: bool) -> str | None:
        """Remove what was played last; returns a line about it, or None if there is nothing."""
        if self.duels:
            duel = self.duels.pop()
            played = log_line(duel) if tells_opponents else f"{evaluation_name(self.login, self.agent, duel.task)}: a duel"
            return f"{played}; there is no room for its matches in a preview"
        if self.results:
            dropped = self.results.pop()
            name = evaluation_name(dropped.login, dropped.agent, dropped.task)
            return f"{name}: played, but its episodes do not fit a preview"
        return None


@dataclass(kw_only=True)
class PreviewSession:
    """One preview under way."""

    checkout: Checkout
    pull: PullEvent
    evaluator_sha: str
    out: Path
    run_url: str
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    agents: list[ChangedAgent] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """A line for everything that is not played, with the reason."""

    def entered(self, tasks: Iterable[Task]) -> Iterator[tuple[ChangedAgent, AgentFolder, Task]]:
        """Who plays, task by task."""
        for task in tasks:
            for changed in self.agents:
                if changed.entry and task in changed.tasks:
                    yield changed, changed.entry, task

    def skip(self, line: str) -> None:
        """Note what is not played, and why."""
        if len(self.skipped) < MAX_SKIPPED:
            self.skipped.append(line[:NOTE_CHARACTERS])

    def preview(self) -> Preview:
        """The content of preview.json so far."""
        return Preview(
            schema=1, head_sha=self.pull.head_sha, evaluator_sha=self.evaluator_sha, skipped=tuple(self.skipped),
            agents=tuple(changed.document() for changed in self.agents),
        )  # fmt: skip

    def log(self) -> bytes:
        """The ends of the agents' logs; of a duel only the changed agent's."""
        return write_preview_log(tail for changed in self.agents for tail in _log_tails(changed))

    def write(self) -> Preview:
        """Write both files for the upload."""
        preview = self._fitting()
        write_atomically(self.out / LOG_FILE, self.log())
        write_atomically(self.out / PREVIEW_FILE, serialised_preview(preview))
        return preview

    def _fitting(self) -> Preview:
        """The preview without results that do not fit its size limit."""
        challenge = self.checkout.challenge
        tells_opponents = not (is_anonymous(challenge, self.now) or hidden_tasks(challenge, self.now))
        while len(serialised_preview(preview := self.preview())) > PREVIEW_BYTES:
            fullest = max(self.agents, key=lambda changed: (len(changed.duels), len(changed.results)))
            line = fullest.drop(tells_opponents=tells_opponents)
            assert line is not None
            self.skip(line)
        return preview


def _log_tails(changed: ChangedAgent) -> Iterator[LogTail]:
    for result in changed.results:
        yield LogTail(
            who=evaluation_name(result.login, result.agent, result.task), verdict=result.verdict, text=result.log_tail
        )
    for duel in changed.duels:
        player = duel.players[duel.side_of((changed.login.casefold(), changed.agent))]
        if duel.is_validation or player.verdict is not Verdict.OK:
            yield LogTail(who=f"{player_names(duel)} on {duel.task}", verdict=player.verdict, text=player.log_tail)


def serialised_preview(preview: Preview) -> bytes:
    """The bytes of preview.json."""
    return json.dumps(preview.document(), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def evaluation_name(login: str, agent: str, task: str) -> str:
    """The name of one evaluation: the same in the log, where the comment looks for it."""
    return f"{login}/{agent} on {task}"


def _without_log(result: Result) -> Result:
    """The result for preview.json: logs have a file of their own."""
    return Result.with_self_hash({**result.document(), "log_tail": ""}) if result.log_tail else result


def _without_log_and_times(duel: Duel) -> Duel:
    """The duel for preview.json: logs have a file of their own, and times are not needed to rate it."""
    document = duel.document()
    players = [{**player, "log_tail": ""} for player in document["players"]]
    plies = sum(match.plies for match in duel.matches)
    times = TraceLeaf.of(np.zeros(plies, np.int64)) if duel.milliseconds else None
    return Duel.with_self_hash({**document, "players": players, "milliseconds": times})


# The workflow's job times out after 60 minutes; what was not started is left for the official run.
BUDGET_SECONDS = 40 * 60.0
# A preview plays this many baselines at most; its other opponents are those of the nearest rating.
BASELINES_MET = 3


def preview_pull_request(
    workflow: WorkflowEnvironment,
    head: Path,
    out: Path,
    *,
    sandbox: str | None = None,
    budget: float = BUDGET_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Preview the pull request of the event; returns 0 once there is an outcome that explains itself.

    Args:
        workflow: of a `pull_request` event.
        head: a clone that holds the pull request's head and main's commit; never executed, never imported.
        out: where preview.json and preview.log go.
        sandbox: None for the one that challenge.yml names; `process` only for tests with trusted code.
        budget: seconds after which no evaluation starts.
        clock: a monotonic clock in seconds.

    Raises:
        CommandError: it failed on our side; the summary says so, and the results so far are written.
        KeyboardInterrupt: it was stopped; likewise.
    """
    pull = pull_event(workflow)
    checkout = open_checkout(workflow.workspace.resolve())
    evaluator_sha = GitRepository(checkout.root).run("rev-parse", "HEAD").decode().strip()
    session = PreviewSession(checkout=checkout, pull=pull, evaluator_sha=evaluator_sha, out=out, run_url=workflow.run_url)
    session.write()
    try:
        chosen, end = sandbox or checkout.challenge.runners.sandbox, clock() + budget
        state = _preview_state(session, GitRepository(head), chosen, lambda: clock() >= end)
    except CommandError as error:
        session.write()
        _summarise(workflow, session, OurFailure(head_sha=pull.head_sha, reason=str(error), run_url=session.run_url))
        raise
    except KeyboardInterrupt:
        session.skip("everything else: the run was stopped before it came to that")
        _summarise(workflow, session, _comment_state(session, GuardedPaths(agents=(), removed=(), faults=())))
        raise
    _summarise(workflow, session, state)
    return OK


def _preview_state(session: PreviewSession, clone: GitRepository, sandbox: str, is_over: Callable[[], bool]) -> CommentState:
    pull, limits = session.pull, session.checkout.challenge.submissions
    author = PullAuthor(login=pull.author, id=pull.author_id)
    guarded = inspect_pull(clone, _main_sha(clone, session), pull.head_sha, author, limits)
    if not guarded.is_clean:
        for line in (*guarded.outside, *guarded.faults):
            session.skip(line)
        session.write()
        return Refused(head_sha=pull.head_sha, outside=guarded.outside, faults=guarded.faults, run_url=session.run_url)
    if not guarded.agents:
        gone = Withdrawn(agents=guarded.withdrawn, merged=False, head_sha=pull.head_sha)
        return gone if gone.agents else NoRun(head_sha=pull.head_sha, reason=NoRunReason.NOTHING)
    _read_agents(session, clone, guarded)
    session.write()
    if any(changed.tasks for changed in session.agents):
        evaluator = open_evaluator(session.checkout, sandbox)
        _play_tasks(session, evaluator, is_over)
        recorded, opponents = _official_board(session.checkout)
        games = PreviewGames(
            session=session, runner=DuelRunner(evaluator=evaluator), recorded=recorded, opponents=opponents, is_over=is_over
        )
        games.play()
    return _comment_state(session, guarded)


def _main_sha(clone: GitRepository, session: PreviewSession) -> str:
    """Main's commit for the path guard: the evaluator's, fetched from its checkout if that is another clone.

    A shallow checkout cannot give it; then it is the commit that the event names.
    """
    if clone.resolve(session.evaluator_sha) is None and not GitRepository(session.checkout.root).is_shallow():
        clone.fetch(session.evaluator_sha, source=str(session.checkout.root))
    return clone.resolve(session.evaluator_sha) or session.pull.base_sha


def _read_agents(session: PreviewSession, clone: GitRepository, guarded: GuardedPaths) -> None:
    """Read the changed folders from git objects; a fault of the manifest is an outcome too.

    All are read, though few are played: a faulty one takes the place of a good one, or it would be merged unseen.
    """
    challenge = session.checkout.challenge
    on_main = [entry.entry() for entry in session.checkout.read_all()[0]] if challenge.people.one_team_each else []
    for path in guarded.agents:
        login, agent = path.split("/")[1:3]
        if not LOGIN.fullmatch(login) or not AGENT.fullmatch(agent):
            session.skip(f"{path}: is not named submissions/<login>/<agent>, so it cannot be played")
            continue
        session.agents.append(_read_agent(session, clone, path, on_main))
        if len(session.agents) > MAX_AGENTS:
            good = [index for index, changed in enumerate(session.agents) if not changed.faults]
            waiting = session.agents.pop(good[-1] if good else -1)
            session.skip(
                f"{waiting.login}/{waiting.agent}: a preview plays {MAX_AGENTS} agents; this one waits for the merge"
            )
    at_merge = AdmissionContext(now=session.now)
    for changed in session.agents:
        shut = {task.id: why for task, why in closed_tasks(challenge, changed.entry, at_merge)} if changed.entry else {}
        for task_id, why in shut.items():
            session.skip(f"{evaluation_name(changed.login, changed.agent, task_id)}: {why}")
        changed.tasks = tuple(task for task in changed.tasks if task.id not in shut)


def _read_agent(session: PreviewSession, clone: GitRepository, path: str, on_main: Collection[Entry]) -> ChangedAgent:
    """One changed folder, with the tasks that it enters."""
    login, agent = path.split("/")[1:3]
    try:
        entry, tasks = read_new_agent(session.checkout, clone.blobs(session.pull.head_sha, path), path, on_main)
    except LoadError as error:
        return ChangedAgent(login=login, agent=agent, faults=error.lines)
    return ChangedAgent(login=login, agent=agent, entry=entry, tasks=tuple(tasks))


def _play_tasks(session: PreviewSession, evaluator: Evaluator, is_over: Callable[[], bool]) -> None:
    """Play every agent, task by task, so that a slow agent does not keep the others from being played."""
    for changed, entry, task in session.entered(session.checkout.challenge.solo_tasks):
        name = evaluation_name(changed.login, changed.agent, task.id)
        if is_over():
            session.skip(f"{name}: the preview’s time was up; the official run plays it after the merge")
            continue
        request = replace(
            evaluator.request(entry, task), tier=Tier.PREVIEW, login_id=session.pull.author_id,
            commit=session.pull.head_sha, run_url=session.run_url,
        )  # fmt: skip
        result, _ = evaluator.run(request, ignore_progress)
        say(f"{name}: {result.verdict}")
        changed.results.append(result)
        session.write()


def _comment_state(session: PreviewSession, guarded: GuardedPaths) -> CommentState:
    """The comment's state, by the results that are checked out at results/."""
    preview = session.write()
    recorded, _ = _official_board(session.checkout)
    log = (session.out / LOG_FILE).read_text(encoding="utf-8")
    return preview_state(preview, recorded, run_url=session.run_url, removed=guarded.withdrawn, log=log)


def _official_board(checkout: Checkout) -> tuple[RecordedLeaderboard, dict[AgentName, AgentFolder]]:
    """The official board as it is checked out, and its agents without their files: of all they may not fit into memory."""
    results = without_quarantined(checkout.recorded[0], checkout.moderation)
    duels = checkout.duels
    ranking = {
        entry.name: entry
        for entry in replace(checkout, is_lean=True).read_all()[0]
        if (entry.path.is_relative_to(checkout.root / SUBMISSIONS) or entry.baseline)
        and checkout.moderation.exclusion_of(entry.login, entry.agent, entry.folder.digest) is None
    }
    final = final_entries(checkout) if checkout.has_ended else None
    on_main = [entry.entry() for entry in ranking.values()]
    clone = GitRepository(checkout.root)
    entries = final.entries if final else with_stay_beacons(clone, "HEAD", checkout.challenge, on_main)
    shown = tuple(entry for entry in entries if checkout.moderation.exclusion_of(*entry.version) is None)
    return RecordedLeaderboard(
        challenge=checkout.challenge,
        entries=shown,
        results=tuple(results),
        duels=tuple(duels),
        at=datetime.now(UTC),
        final=final.draws if final else None,
        erased=tuple(erased_entries(checkout.moderation)),
    ), ranking


def _summarise(workflow: WorkflowEnvironment, session: PreviewSession, state: CommentState) -> None:
    """Write the comment's text as the step's summary: the untrusted preview may not write comments."""
    repository = f"{workflow.server_url}/{workflow.repository}"
    context = CommentContext(run_id=workflow.run_id, repository=repository)
    write_summary(workflow.summary_path, render_comment(state, context))


@dataclass(kw_only=True)
class PreviewGames:
    """The duels of one preview."""

    session: PreviewSession
    runner: DuelRunner
    recorded: RecordedLeaderboard
    opponents: dict[AgentName, AgentFolder]
    """Possible opponents: the agents of main that rank, and the baselines."""
    is_over: Callable[[], bool]
    played: set[tuple[AgentName, str, AgentName]] = field(default_factory=set)
    """Played pairs by game, also those whose duel did not fit into the preview."""
    late: set[tuple[AgentName, str]] = field(default_factory=set)

    def play(self) -> None:
        """Play validations first; then each agent's first opponent in each game, then the second."""
        for changed, entry, task in self.session.entered(self.session.checkout.challenge.games):
            self._play_duel(changed, entry, task, entry)
        for _ in range(MAX_DUELS - 1):
            for changed, entry, task in self.session.entered(self.session.checkout.challenge.games):
                if _is_validated(changed, task) and (opponent := self._opponent(changed, entry, task)):
                    self._play_duel(changed, entry, task, opponent)

    def _play_duel(self, changed: ChangedAgent, entry: AgentFolder, task: Task, other: AgentFolder) -> None:
        if self.is_over():
            self._skip(entry, task)
            return
        self.played.add((entry.name, task.id, other.name))
        session = self.session
        if other is not entry:
            other = session.checkout.find(other.path)
        request = self.runner.request(entry, other, task)
        first, second = (
            replace(player, login_id=session.pull.author_id) if player.folder is entry.folder else player
            for player in request.contenders
        )
        request = replace(
            request, contenders=(first, second), tier=Tier.PREVIEW, commit=session.pull.head_sha, run_url=session.run_url
        )
        duel = self.runner.play(request, ignore_progress)
        say(log_line(duel))
        changed.duels.append(duel)
        session.write()

    def _skip(self, entry: AgentFolder, task: Task) -> None:
        if (entry.name, task.id) not in self.late:
            self.late.add((entry.name, task.id))
            name = evaluation_name(entry.login, entry.agent, task.id)
            self.session.skip(f"{name}: the preview’s time was up; the official run plays the rest after the merge")

    def _opponent(self, changed: ChangedAgent, entry: AgentFolder, task: Task) -> AgentFolder | None:
        """The next opponent: a baseline, else the one with the nearest rating; None if none is left."""
        board = next(board for board in self.recorded.standings.games if board.task.id == task.id)
        gone = {entry.name} | {other for name, game, other in self.played if (name, game) == (entry.name, task.id)}
        if named := [baseline for baseline in self._baselines(task, board) if baseline.name not in gone]:
            return named[0]
        # As in the official run, agents of one login or team do not meet.
        one_side = owner_groups((*self.recorded.entries, entry.entry()), self.recorded.duels)
        others = (row for row in board.rows if not one_side.are_same_owner(entry.name, row.entry.name))
        rated = [row for row in others if row.entry.name in self.opponents and row.entry.name not in gone]
        if not rated:
            return None
        elo = self._elo(changed, task)
        nearest = min(rated, key=lambda row: (0.0 if elo is None else abs(row.rating.elo - elo), row.place, row.entry.name))
        return self.opponents[nearest.entry.name]

    def _baselines(self, task: Task, board: GameStandings) -> list[AgentFolder]:
        """The baselines that play this game, in the order of challenge.yml."""
        refused = {failure.entry.name for failure in board.failures}
        challenge = self.session.checkout.challenge
        baselines = [
            entry
            for named in challenge.baselines
            for name, entry in self.opponents.items()
            if name not in refused and entry.folder.submission.plays(task) and _is_named(entry, named)
        ]
        return baselines[:BASELINES_MET]

    def _elo(self, changed: ChangedAgent, task: Task) -> float | None:
        """The rating by the duels played so far."""
        preview = self.session.preview()
        agents = tuple(agent for agent in preview.agents if (agent.login, agent.agent) == (changed.login, changed.agent))
        state = preview_state(preview.model_copy(update={"agents": agents}), self.recorded, run_url=None)
        game = next((game for agent in state.agents for game in agent.games if game.task.id == task.id), None)
        return game.estimate.score if game and game.estimate else None


def _is_named(entry: AgentFolder, named: str) -> bool:
    name = entry.agent if entry.login == EXAMPLES_LOGIN else f"{entry.login}/{entry.agent}"
    return name.casefold() == named.casefold()


def _is_validated(changed: ChangedAgent, task: Task) -> bool:
    """Whether its validation passed."""
    validations = [duel for duel in changed.duels if duel.task == task.id and duel.is_validation]
    return any(duel.verdict is Verdict.OK and validation_fault(duel) is None for duel in validations)
