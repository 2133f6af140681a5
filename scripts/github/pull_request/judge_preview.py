"""Judges a preview run: its pull request, its paths, its outcome. The head is never checked out or run."""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.envs.pettingzoo_game import cached_game
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import Preview
from evaluator.model.records.verdict import Verdict
from leaderboard.comments.comment_standings import preview_state
from leaderboard.comments.states import NoRunReason
from scripts.console import OK, OUR_FAULT, USAGE, CommandError, say
from scripts.git.git_repository import GitRepository, full_sha
from scripts.git.main_entries import read_entries
from scripts.git.path_guard import GuardedPaths, PullAuthor, inspect_pull
from scripts.git.tree_diff import UnreadableError, fetch_head
from scripts.github.api.client import GitHub, GitHubError
from scripts.github.api.responses import PullRequest, WorkflowRun
from scripts.github.preview.preview_artifact import ZIP_BYTES, ArtifactError, read_artifact
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.deliver import Delivery, deliver_outcomes
from scripts.github.pull_request.label_and_status import (
    Outcome,
    broken_outcome,
    no_agent_outcome,
    no_run_outcome,
    previewed_outcome,
    refused_outcome,
    running_outcome,
)
from scripts.github.pull_request.season_rules import rules_before_merge
from scripts.github.workflow.event import WorkflowEnvironment, as_pull_event, dispatched_commit, workflow_run_id
from scripts.repository.checkout import PREVIEW_BEACON
from scripts.repository.layout import MAIN_BRANCH, SUBMISSIONS

WORKFLOW_DISPATCH = "workflow_dispatch"
PREVIEW_WORKFLOW = ".github/workflows/preview.yml"
PREVIEW_ARTIFACT = "preview"
# GitHub is asked about this many of the latest commits to a folder.
COMMITS_ASKED = 5


@enum.unique
class NoPullReason(enum.Enum):
    """Why a run belongs to no pull request that may be written to."""

    OTHER_REPOSITORY = "the run belongs to another repository"
    OTHER_EVENT = "the run was started by {}, not by a pull request"
    OTHER_WORKFLOW = f"the run is of another workflow than {PREVIEW_WORKFLOW}"
    FORK_DELETED = "the run's fork was deleted"
    NO_BRANCH = "no pull request comes from the run's repository and branch"
    NEWER_COMMIT = "the pull request has a newer commit; the newer commit's run will speak"
    OTHER_BASE = f"the pull request is not into {MAIN_BRANCH}, whose workflow alone is trusted to have run"
    CLOSED = "the pull request is closed"
    AMBIGUOUS = "more than one pull request fits the run"
    MOVED_ON = "{} is not open at that commit any more"


@dataclass(frozen=True)
class NoPull:
    """No pull request: then nothing is written anywhere."""

    reason: NoPullReason
    about: str = ""
    """The event or pull request that the reason names."""

    @property
    def words(self) -> str:
        """The reason in words."""
        return self.reason.value.format(self.about)


def find_pull(run: WorkflowRun, candidates: Sequence[PullRequest], repository_id: int) -> PullRequest | NoPull:
    """The pull request of a preview run, found by fields that GitHub's servers wrote, and by nothing from the artifact."""
    if refused := _run_refusal(run, repository_id):
        return refused
    here = [p for p in candidates if p.base_repository_id == repository_id]
    ours = [p for p in here if p.head_repository_id == run.head_repository_id]
    if not ours:
        return NoPull(NoPullReason.NO_BRANCH)
    unmoved = [p for p in ours if p.head_sha == run.head_sha]
    if not unmoved:
        return NoPull(NoPullReason.NEWER_COMMIT)
    into_main = [p for p in unmoved if p.base_ref == MAIN_BRANCH]
    if not into_main:
        return NoPull(NoPullReason.OTHER_BASE)
    living = [p for p in into_main if p.state == "open"]
    if not living:
        return NoPull(NoPullReason.CLOSED)
    return living[0] if len(living) == 1 else NoPull(NoPullReason.AMBIGUOUS)


def _run_refusal(run: WorkflowRun, repository_id: int) -> NoPull | None:
    if run.repository_id != repository_id:
        return NoPull(NoPullReason.OTHER_REPOSITORY)
    if run.event != "pull_request":
        return NoPull(NoPullReason.OTHER_EVENT, repr(run.event[:40]))
    if run.path.partition("@")[0] != PREVIEW_WORKFLOW:
        return NoPull(NoPullReason.OTHER_WORKFLOW)
    if run.head_repository_id is None:
        return NoPull(NoPullReason.FORK_DELETED)
    return None


def dispatched_pull(workflow: WorkflowEnvironment, github: GitHub) -> PullRequest | NoPull:
    """The pull request that the inputs of a `workflow_dispatch` event name.

    Raises:
        CommandError: the inputs are not a pull request's number and a commit.
    """
    number, sha = dispatched_commit(workflow)
    pull = github.pull(number)
    if pull.state != "open" or pull.head_sha != sha or pull.base_ref != MAIN_BRANCH:
        return NoPull(NoPullReason.MOVED_ON, f"#{number}")
    return pull


def dispatched_pull_event(workflow: WorkflowEnvironment, github: GitHub) -> WorkflowEnvironment:
    """A `workflow_dispatch` run with the event that a push to the pull request would have.

    Raises:
        CommandError: the pull request is closed or at another commit.
    """
    pull = dispatched_pull(workflow, github)
    if isinstance(pull, NoPull):
        raise CommandError(USAGE, f"{pull.words}; ask for its newest commit")
    return as_pull_event(workflow, pull)


@dataclass(frozen=True, kw_only=True)
class PreviewCase:
    """A preview run and its pull request."""

    run: WorkflowRun
    pull: PullRequest
    trusted: bool
    """Whether the run is of main's own workflow, which no pull request can change."""


def report_preview(context: BotContext) -> int:
    """Report the run that triggered this one to its pull request, if it belongs to one."""
    case = _dispatched_case(context) if context.workflow.event_name == WORKFLOW_DISPATCH else _triggering_case(context)
    if isinstance(case, NoPull):
        say(f"Nobody is told: {case.words}.")
        return OK
    outcome = preview_outcome(context, case)
    if refused := deliver_outcomes(context, [Delivery(pull=case.pull, run_id=case.run.id, outcome=outcome)]):
        raise CommandError(OUR_FAULT, *refused)
    return OK


def _triggering_case(context: BotContext) -> PreviewCase | NoPull:
    """The case of a `workflow_run` event; or why there is none."""
    preview_run = context.github.run(workflow_run_id(context.workflow))
    head = f"{preview_run.head_owner}:{preview_run.head_branch}"
    candidates = context.github.open_pulls(head=head) if preview_run.head_owner else []
    pull = find_pull(preview_run, candidates, context.workflow.repository_id)
    return pull if isinstance(pull, NoPull) else PreviewCase(run=preview_run, pull=pull, trusted=False)


def _dispatched_case(context: BotContext) -> PreviewCase | NoPull:
    """The case of a `workflow_dispatch` event: a maintainer named the pull request and the commit."""
    pull = dispatched_pull(context.workflow, context.github)
    if isinstance(pull, NoPull):
        return pull
    return PreviewCase(run=context.github.run(context.workflow.run_id), pull=pull, trusted=True)


def latest_run(context: BotContext, pull: PullRequest) -> WorkflowRun | None:
    """The latest preview run of the pull request's newest commit."""
    return latest_run_among(context.github.runs_of(pull.head_sha), pull, context.workflow.repository_id)


def latest_run_among(runs: Iterable[WorkflowRun], pull: PullRequest, repository_id: int) -> WorkflowRun | None:
    """The latest of some runs that is a preview of the pull request's newest commit."""
    previews = [run for run in runs if isinstance(find_pull(run, [pull], repository_id), PullRequest)]
    return max(previews, key=lambda run: run.id, default=None)


def restart_run(context: BotContext, pull: PullRequest, run: WorkflowRun) -> bool:
    """Start a run again; False if GitHub refuses, because it is under way or too old."""
    try:
        context.github.rerun(run.id)
    except GitHubError as error:
        if error.status not in (403, 404, 409):
            raise
        say(f"#{pull.number}: {error}")
        return False
    return True


def preview_outcome(context: BotContext, case: PreviewCase) -> Outcome:
    """The outcome of a preview run."""
    decision = outcome_without_scores(context, case)
    return decision if isinstance(decision, Outcome) else scored_outcome(context, case, decision)


def outcome_without_scores(context: BotContext, case: PreviewCase) -> Outcome | GuardedPaths:
    """The outcome, if it can be decided without the preview's results; else the paths that the results may be about."""
    if case.run.conclusion is None and not case.trusted:
        return running_outcome(case.run)
    if case.run.conclusion == "action_required":
        return no_run_outcome(case.pull, NoRunReason.WAITING, case.run.html_url)
    paths = guard_pull(context, case.pull)
    if not paths.is_clean:
        return refused_outcome(case.pull, paths, case.run.html_url)
    if not paths.agents:
        return no_agent_outcome(case.pull, paths)
    if case.run.conclusion != "success" and not case.trusted:
        reason = f"the preview run ended as '{case.run.conclusion}'"
        return broken_outcome(case.run, reason, context.github.attempts(case.run.id))
    return paths


def guard_pull(context: BotContext, pull: PullRequest) -> GuardedPaths:
    """What the head changes, by its path guard; the head is fetched as objects and never checked out."""
    try:
        fetch_head(context.clone, pull.head_sha)
    except UnreadableError as error:
        return GuardedPaths(agents=(), removed=(), faults=(error.reason,))
    author = PullAuthor(login=pull.author, id=pull.author_id, known_ids=_known_account_ids(context, pull))
    return inspect_pull(context.clone, context.main, pull.head_sha, author, context.checkout.challenge.submissions)


def _known_account_ids(context: BotContext, pull: PullRequest) -> frozenset[int]:
    """Ids of the accounts that had this login: as recorded, or before any record as merged."""
    sides = (side for record in context.records for side in record.sides)
    numbers = (side.login_id for side in sides if side.login.casefold() == pull.author.casefold())
    recorded = frozenset(number for number in numbers if number is not None)
    return recorded or _merged_author_ids(context, pull)


def _merged_author_ids(context: BotContext, pull: PullRequest) -> frozenset[int]:
    """Ids of the accounts whose merged pull requests made the author's folder on main.

    An id stays with its account when the login is given up and registered by somebody else, who thereby is not taken for the
    folder's owner. Requests stop at the first pull request of the author's own account. Empty if no pull request brought the
    folder, for example after a maintainer's push.
    """
    ids: set[int] = set()
    for sha in _folder_commits(context.clone, context.main, pull.author):
        pulls = [merged for merged in context.github.pulls_of_commit(sha) if merged.merged]
        exact = [merged for merged in pulls if merged.merge_commit_sha == sha]
        ids |= {merged.author_id for merged in exact or pulls}
        if pull.author_id in ids:
            break
    return frozenset(ids)


def _folder_commits(clone: GitRepository, main: str, login: str) -> list[str]:
    """The latest commits of main that changed a login's folder, in any spelling; newest first."""
    spelled = [name for name in clone.logins(main) if name.casefold() == login.casefold()]
    if not spelled:
        return []
    form = ("--first-parent", "--format=%H", f"--max-count={COMMITS_ASKED}")
    return clone.run("log", *form, full_sha(main), "--", *(f"{SUBMISSIONS}/{name}" for name in spelled)).decode().split()


def scored_outcome(context: BotContext, case: PreviewCase, paths: GuardedPaths) -> Outcome:
    """The outcome of a clean commit, from the preview's results."""
    try:
        preview, log = _read_preview(context, case, paths)
    except ArtifactError as error:
        return broken_outcome(case.run, str(error), context.github.attempts(case.run.id))
    state = preview_state(preview, context.recorded, run_url=case.run.html_url, removed=paths.withdrawn, log=log)
    logins = [agent.login for agent in preview.agents]
    rules = rules_before_merge(context.recorded, logins, context.now, context.is_member)
    return previewed_outcome(replace(state, rules=rules))


def _read_preview(context: BotContext, case: PreviewCase, paths: GuardedPaths) -> tuple[Preview, str]:
    """The preview of a run and its log.

    Raises:
        ArtifactError: there is none, or it is not about this commit, its agents and the board's tasks.
    """
    content = context.github.artifact(case.run.id, PREVIEW_ARTIFACT, ZIP_BYTES)
    if content is None:
        raise ArtifactError("the preview run left no artifact")
    preview, log = read_artifact(content)
    if preview.head_sha != case.pull.head_sha:
        raise ArtifactError("the preview run played another commit")
    if {f"{SUBMISSIONS}/{agent.login}/{agent.agent}" for agent in preview.agents} - set(paths.agents):
        raise ArtifactError("the preview run played an agent that this pull request does not change")
    tasks = {task.id: task for task in context.checkout.challenge.solo_tasks}
    results = [result for agent in preview.agents for result in agent.results]
    if any(result.task not in tasks for result in results):
        raise ArtifactError("the preview run played a task that the board does not have")
    # Resampling thousands of episodes takes seconds and hundreds of megabytes.
    if any(len(result.returns) > tasks[result.task].counted for result in results):
        raise ArtifactError("the preview run counted more episodes than the task has")
    sandbox = context.checkout.challenge.runners.sandbox
    played = {result.sandbox.value for result in results}
    played |= {duel.sandbox.value for agent in preview.agents for duel in agent.duels}
    if others := sorted(played - {sandbox}):
        raise ArtifactError(f"the preview run played in {others[0]}, and this leaderboard evaluates in {sandbox}")
    if fault := preview_duel_fault(context, preview, case.pull.author_id):
        raise ArtifactError(fault)
    return preview, log


def preview_duel_fault(context: BotContext, preview: Preview, author_id: int) -> str | None:
    """Why a preview's duels are not accepted; None if they are.

    A pull request's agents may play themselves and agents on main. Every move is replayed on the game, so an impossible
    result never reaches a comment. No replay can tell who chose the moves: a preview stays a claim.
    """
    duels = [(agent, duel) for agent in preview.agents for duel in agent.duels]
    if not duels:
        return None
    standing = _standing_versions(context, preview)
    for agent, duel in duels:
        changed = (agent.login, agent.agent, agent.submission_digest or "")
        task = context.checkout.challenge.task(duel.task)
        if task is None or task.game is None:
            return "the preview run played a game that the board does not have"
        for player in duel.players:
            if player.version != changed and player.version not in standing:
                return "the preview run played against an agent that does not stand on main"
            if player.login_id not in (None, author_id) or (player.version != changed and player.login_id is not None):
                return "the preview run names an account that is not the author's"
        if fault := _duel_fault(context.checkout.challenge, task, duel):
            return fault
    return None


def _standing_versions(context: BotContext, preview: Preview) -> set[tuple[str, str, str]]:
    """Login, folder and digest of the versions on main now, and on main when the preview began."""
    entries = list(context.entries)
    if preview.evaluator_sha in context.parents and preview.evaluator_sha != context.main:
        entries += read_entries(context.clone, preview.evaluator_sha, context.checkout.challenge, context.known_folders)[0]
    return {entry.version for entry in entries}


def _duel_fault(challenge: Challenge, task: Task, duel: Duel) -> str | None:
    if (duel.season, duel.beacon, duel.beacon_verified) != (challenge.season, PREVIEW_BEACON, False):
        return "the preview run played other seeds than a preview’s"
    if duel.task_digest != task.digest():
        return None  # Main's rules changed meanwhile: the duel is not shown, and the next run plays again.
    if duel.verdict is not Verdict.OK:
        return None
    finding = verify_duel("preview", duel.serialised(), cached_game(task))
    if finding.status is VerificationStatus.VERIFIED:
        return None
    return "the moves of a duel in the preview do not give what it says"
