"""Judges a preview run: its paths, its results, its outcome. The head is never checked out or run."""

from dataclasses import dataclass, replace

from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.envs.pettingzoo_game import cached_game
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.identifiers import LOGIN
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import MAX_AGENTS, MAX_FAULTS, NOTE_CHARACTERS, Preview
from evaluator.model.records.stored_record import PREVIEW_BEACON
from evaluator.model.records.verdict import Verdict
from leaderboard.comments.comment_standings import preview_state
from leaderboard.comments.comment_states import NoRunReason
from scripts.console import say
from scripts.git.git_repository import GitRepository, full_sha
from scripts.git.main_entries import read_entries
from scripts.git.pull_request_guard import GuardedPaths, PullAuthor, inspect_pull
from scripts.git.tree_diff import UnreadableError, fetch_head
from scripts.github.api.client import GitHubError
from scripts.github.api.responses import PullRequest, WorkflowRun
from scripts.github.preview.preview_artifact import ZIP_BYTES, ArtifactError, read_artifact
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.label_and_status import (
    Outcome,
    broken_outcome,
    no_agent_outcome,
    no_run_outcome,
    previewed_outcome,
    refused_outcome,
    running_outcome,
)
from scripts.github.pull_request.season_rule_notes import rules_before_merge
from scripts.repository.layout import SUBMISSIONS
from scripts.runs.eligible_tasks import read_new_agent

PREVIEW_ARTIFACT = "preview"
OTHER_ACCOUNT = "the preview run names an account that is not the author's"
# GitHub is asked about this many of the latest commits to a folder.
COMMITS_ASKED = 5


@dataclass(frozen=True, kw_only=True)
class PreviewCase:
    """A preview run and its pull request."""

    run: WorkflowRun
    pull: PullRequest
    trusted: bool
    """Whether the run is of main's own workflow, which no pull request can change."""


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
        pulls = context.merged_pulls_of(sha)
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
        faults = _unsaid_faults(context, case.pull.head_sha, paths, preview)
    except ArtifactError as error:
        return broken_outcome(case.run, str(error), context.github.attempts(case.run.id))
    if faults:
        return refused_outcome(case.pull, replace(paths, faults=faults), case.run.html_url)
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
    if any(result.login_id not in (None, case.pull.author_id) for result in results):
        raise ArtifactError(OTHER_ACCOUNT)
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


def _unsaid_faults(context: BotContext, head: str, paths: GuardedPaths, preview: Preview) -> tuple[str, ...]:
    """Why changed agents may not come in, of those in which the preview found no fault: whoever escaped there writes it.

    Raises:
        ArtifactError: it leaves out an agent for which it had room, or is about other files.
    """
    said = {f"{SUBMISSIONS}/{agent.login}/{agent.agent}": agent for agent in preview.agents}
    # A preview plays nobody whose login is none of GitHub's, such as a robot's.
    named = [path for path in paths.agents if LOGIN.fullmatch(path.split("/")[1])]
    if len(said) < min(len(named), MAX_AGENTS):
        raise ArtifactError("the preview run left out an agent that this pull request changes")
    faults: list[str] = []
    for path in named:
        if len(faults) >= MAX_FAULTS:
            break
        played = said.get(path)
        if played and played.faults:
            continue
        try:
            entry, _ = read_new_agent(context.checkout, context.clone.blobs(head, path), path, context.entries)
        except LoadError as error:
            faults += error.lines
            continue
        if played and played.submission_digest != entry.folder.digest:
            raise ArtifactError("the preview run played other files than the commit has")
    return tuple(line[:NOTE_CHARACTERS] for line in faults[:MAX_FAULTS])


def preview_duel_fault(context: BotContext, preview: Preview, author_id: int) -> str | None:
    """Why a preview's duels are not accepted; None if they are.

    A pull request's agents may play themselves and agents on main. Every move is replayed on the game, so an impossible
    result never reaches a comment. No replay can tell who chose the moves: a preview stays a claim.
    """
    duels = [(agent, duel) for agent in preview.agents for duel in agent.duels]
    if not duels:
        return None
    on_main = _versions_on_main(context, preview)
    for agent, duel in duels:
        changed = (agent.login, agent.agent, agent.submission_digest or "")
        task = context.checkout.challenge.task(duel.task)
        if task is None or task.game is None:
            return "the preview run played a game that the board does not have"
        for player in duel.players:
            if player.version != changed and player.version not in on_main:
                return "the preview run played against an agent that does not stand on main"
            if player.login_id not in (None, author_id) or (player.version != changed and player.login_id is not None):
                return OTHER_ACCOUNT
        if fault := _duel_fault(context.checkout.challenge, task, duel):
            return fault
    return None


def _versions_on_main(context: BotContext, preview: Preview) -> set[tuple[str, str, str]]:
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
