"""`pullrank bot preview`: the untrusted tier. Plays a pull request's agents and writes down the results.

The evaluator is the checkout of main that this runs in; the head is only read, as git objects. The result is a claim: the
report trusts it only if the pull request changed nothing but its author's own agents.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from evaluator.host.loading.submission_folder import assemble
from evaluator.host.loading.yaml_loader import LoadError, parse_moderation
from evaluator.host.solo.evaluate_agent import EvaluationRequest
from evaluator.model.config.challenge import Task
from evaluator.model.config.moderation import Moderation
from evaluator.model.identifiers import AGENT, LOGIN
from evaluator.model.records.preview import AGENTS
from evaluator.model.records.result import Tier
from leaderboard.comments.render_comment import render_comment
from leaderboard.comments.states import Broken, CommentContext, CommentState, NoRun, RefusalReason, Refused, WithdrawnEntry
from leaderboard.core.entry import AgentName
from leaderboard.preview.hypothetical_standings import RecordedResults, preview_state
from scripts.console import OK, CommandError, say
from scripts.git.git_repository import GitRepository
from scripts.git.path_guard import GuardedPaths, PullAuthor, inspect_pull
from scripts.github.preview.artifact import LOG_FILE
from scripts.github.preview.preview_games import PreviewGames
from scripts.github.preview.preview_session import ChangedAgent, PreviewSession, evaluation_name
from scripts.github.workflow.event import WorkflowEnvironment, pull_event
from scripts.github.workflow.outputs import write_summary
from scripts.repository.checkout import Checkout, SubmissionEntry, open_checkout
from scripts.repository.layout import SUBMISSIONS
from scripts.runs.eligible_tasks import closed_tasks, eligible_tasks, people_faults
from scripts.runs.evaluate_missing import Evaluator, open_evaluator

# The workflow's job times out after 60 minutes; what was not started is left for the official run.
BUDGET_SECONDS = 40 * 60.0


def preview_pull_request(
    surroundings: WorkflowEnvironment,
    head: Path,
    out: Path,
    *,
    sandbox: str = "docker",
    budget: float = BUDGET_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Preview the pull request of the event; returns 0 once there is an outcome that explains itself.

    Args:
        surroundings: of a `pull_request` event.
        head: a clone that holds the pull request's head and main's commit; never executed, never imported.
        out: where preview.json and preview.log go.
        sandbox: docker or gvisor; `process` only for tests with trusted code.
        budget: seconds after which no evaluation starts.
        clock: a monotonic clock in seconds.

    Raises:
        CommandError: it failed on our side; the summary says so, and the results so far are written.
        KeyboardInterrupt: it was stopped; likewise.
    """
    pull = pull_event(surroundings)
    board = open_checkout(surroundings.workspace.resolve())
    session = PreviewSession(
        board=board, pull=pull, evaluator_sha=_commit(board.root), out=out, run_url=surroundings.run_url
    )
    session.write()
    try:
        state = _preview_state(
            session, GitRepository(head), lambda: open_evaluator(board, sandbox), _TimeBudget(clock, clock() + budget)
        )
    except CommandError as error:
        session.write()
        _summarise(surroundings, session, Broken(head_sha=pull.head_sha, reason=str(error), run_url=session.run_url))
        raise
    except KeyboardInterrupt:
        session.skip("everything else: the run was stopped before it came to that")
        _summarise(surroundings, session, _comment_state(session, GuardedPaths(agents=(), removed=(), faults=())))
        raise
    _summarise(surroundings, session, state)
    return OK


@dataclass(frozen=True)
class _TimeBudget:
    """The time until which evaluations may start."""

    clock: Callable[[], float]
    end: float

    def is_up(self) -> bool:
        """Whether nothing more may start."""
        return self.clock() >= self.end


def _commit(root: Path) -> str:
    """The evaluator's commit."""
    return GitRepository(root).run("rev-parse", "HEAD").decode().strip()


def _preview_state(
    session: PreviewSession, clone: GitRepository, bench: Callable[[], Evaluator], until: _TimeBudget
) -> CommentState:
    pull, limits = session.pull, session.board.challenge.submissions
    author = PullAuthor(login=pull.author, id=pull.author_id)
    guarded = inspect_pull(clone, _main_sha(clone, session), pull.head_sha, author, limits)
    if not guarded.is_clean:
        for line in (*guarded.outside, *guarded.faults):
            session.skip(line)
        session.write()
        return Refused(head_sha=pull.head_sha, outside=guarded.outside, faults=guarded.faults, run_url=session.run_url)
    if not guarded.agents:
        gone = WithdrawnEntry(agents=guarded.withdrawn, merged=False, head_sha=pull.head_sha)
        return gone if gone.agents else NoRun(head_sha=pull.head_sha, reason=RefusalReason.NOTHING)
    _read_agents(session, clone, guarded)
    session.write()
    if any(folder.tasks for folder in session.folders):
        opened = bench()
        _play_tasks(session, opened, until)
        _games(session, opened, until).play()
    return _comment_state(session, guarded)


def _main_sha(clone: GitRepository, session: PreviewSession) -> str:
    """Main's commit for the path guard: the evaluator's, fetched from its checkout if that is another clone.

    A shallow checkout cannot give it; then it is the commit that the event names.
    """
    if clone.resolve(session.evaluator_sha) is None and not GitRepository(session.board.root).is_shallow():
        clone.fetch(session.evaluator_sha, source=str(session.board.root))
    return clone.resolve(session.evaluator_sha) or session.pull.base_sha


def _read_agents(session: PreviewSession, clone: GitRepository, guarded: GuardedPaths) -> None:
    """Read the changed folders from git objects; a fault of the manifest is an outcome too."""
    for path in guarded.agents:
        login, agent = path.split("/")[1:3]
        if not LOGIN.fullmatch(login) or not AGENT.fullmatch(agent):
            session.skip(f"{path}: is not named submissions/<login>/<agent>, so it cannot be played")
            continue
        if len(session.folders) == AGENTS:
            session.skip(f"{login}/{agent}: a preview plays {AGENTS} agents; this one waits for the merge")
            continue
        folder = ChangedAgent(login=login, agent=agent)
        session.folders.append(folder)
        try:
            read = assemble(clone.blobs(session.pull.head_sha, path), session.board.challenge.submissions)
            submission = SubmissionEntry(login=login, agent=agent, path=session.board.root / path, folder=read)
            tasks = eligible_tasks(submission, list(session.board.challenge.tasks))
            if people := tuple(people_faults(session.board.challenge, submission, path)):
                raise LoadError(*people)
            shut = {task.id: why for task, why in closed_tasks(session.board.challenge, submission, session.now)}
            for task_id, why in shut.items():
                session.skip(f"{evaluation_name(login, agent, task_id)}: {why}")
            folder.tasks = tuple(task for task in tasks if task.id not in shut)
            folder.entry = submission
        except LoadError as error:
            folder.faults = tuple(line if line.startswith(path) else f"{path}/{line}" for line in error.lines)


def _play_tasks(session: PreviewSession, bench: Evaluator, until: _TimeBudget) -> None:
    """Play every agent, task by task, so that a slow agent does not keep the others from being played."""
    for folder, submission, task in _agent_tasks(session):
        name = evaluation_name(folder.login, folder.agent, task.id)
        if until.is_up():
            session.skip(f"{name}: the preview’s time was up; the official run plays it after the merge")
            continue
        result, _ = bench.run(_evaluation_request(session, bench, submission, task), quiet=True)
        say(f"{name}: {result.verdict}")
        folder.results.append(result)
        session.write()


def _agent_tasks(session: PreviewSession) -> Iterator[tuple[ChangedAgent, SubmissionEntry, Task]]:
    for task in session.board.challenge.solo_tasks:
        for folder in session.folders:
            if folder.entry and task in folder.tasks:
                yield folder, folder.entry, task


def _games(session: PreviewSession, bench: Evaluator, until: _TimeBudget) -> PreviewGames:
    recorded, standing = _official_board(session.board)
    return PreviewGames(session=session, bench=bench, recorded=recorded, standing=standing, is_up=until.is_up)


def _evaluation_request(
    session: PreviewSession, bench: Evaluator, submission: SubmissionEntry, task: Task
) -> EvaluationRequest:
    return replace(
        bench.order(submission, task), tier=Tier.PREVIEW, login_id=session.pull.author_id, commit=session.pull.head_sha,
        run_url=session.run_url,
    )  # fmt: skip


def _comment_state(session: PreviewSession, guarded: GuardedPaths) -> CommentState:
    """The comment's state, by the results that are checked out at results/."""
    preview = session.write()
    recorded, _ = _official_board(session.board)
    log = (session.out / LOG_FILE).read_text(encoding="utf-8")
    return preview_state(preview, recorded, run_url=session.run_url, removed=guarded.withdrawn, log=log)


def _official_board(board: Checkout) -> tuple[RecordedResults, dict[AgentName, SubmissionEntry]]:
    """The official board as it is checked out, and its agents."""
    path = board.root / "moderation.yml"
    moderation = parse_moderation(path.read_bytes()) if path.exists() else Moderation()
    results, _ = board.recorded
    duels, _ = board.store.read_duels()
    ranking = {
        submission.name: submission
        for submission in board.read_all()[0]
        if (submission.path.is_relative_to(board.root / SUBMISSIONS) or submission.baseline)
        and moderation.of(submission.login, submission.agent) is None
    }
    entries = tuple(submission.entry() for submission in ranking.values())
    return RecordedResults(
        challenge=board.challenge, entries=entries, results=tuple(results), duels=tuple(duels), at=datetime.now(UTC)
    ), ranking


def _summarise(surroundings: WorkflowEnvironment, session: PreviewSession, state: CommentState) -> None:
    """Write the comment's text as the step's summary: this tier may not write comments."""
    repository = f"{surroundings.server_url}/{surroundings.repository}"
    context = CommentContext(run_id=surroundings.run_id, repository=repository, pull=session.pull.number)
    write_summary(surroundings.summary_path, render_comment(state, context))
