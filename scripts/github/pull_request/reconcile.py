"""`pullrank bot reconcile`: whatever was missed is found and said; what failed on our side is tried again, then reported."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from evaluator.model.records.verdict import Verdict
from leaderboard.comments.states import Broken, RefusalReason
from leaderboard.core.versions import version_folders
from leaderboard.planning.missing import TRIES, given_up, given_up_duels, mark_of
from scripts.console import OK, CommandError, say
from scripts.git.path_guard import GuardedPaths
from scripts.github.api import posts
from scripts.github.api.client import GitHubError
from scripts.github.api.find_pull_request import PullRequest, WorkflowRun
from scripts.github.api.posts import open_failure_issues, update_issue
from scripts.github.official.empty_rounds import close_once_mended
from scripts.github.pull_request.bot_context import BASE, BotContext, bot_status, deliver_outcome, guard_pull
from scripts.github.pull_request.outcome import FINAL_STATES, Outcome, no_agent_outcome, no_run_outcome, refused_outcome
from scripts.github.pull_request.report import PreviewCase, latest_run, outcome_without_scores, scored_outcome
from scripts.runs.workflow_duels import between

FAILURE_ISSUE_TITLE = "Something of the board itself keeps failing"
OFFICIAL = "official.yml"
INTRODUCTION = (
    "Each line failed on our side as often as it is tried by itself. Nothing of it is held against an entrant. "
    "This issue is kept by the bot, and it closes it once all is mended.\n"
)


def run(context: BotContext) -> int:
    """Settle every open pull request, then report or withdraw what keeps failing.

    What can be told by a look at the commit, such as that it is refused, is told before any preview is scored.
    """
    trouble: list[str] = []
    opened = open_failure_issues(context.github, context.surroundings.bot)
    issues = [issue for issue in opened if issue.title == FAILURE_ISSUE_TITLE]
    waiting: list[tuple[PreviewCase, GuardedPaths]] = []
    address = issues[0].html_url if issues else None
    for pull in context.github.open_pulls(base=BASE):
        with _isolated(pull, trouble):
            trouble += _settle_pull(context, pull, address, waiting)
    for case, guarded_paths in waiting:
        with _isolated(case.pull, trouble):
            trouble += _deliver_or_retry(context, case, scored_outcome(context, case, guarded_paths), address)
    ended = _ended_runs(context)
    trouble += _lost_results(context) + _workflow_failures(ended)
    body = INTRODUCTION + "".join(f"\n- {line}" for line in trouble[:100])
    update_issue(context.github, opened, FAILURE_ISSUE_TITLE, body if trouble else "")
    close_once_mended(context.github, opened, ended)
    say(f"{len(trouble)} things keep failing on our side.")
    return OK


@contextmanager
def _isolated(pull: PullRequest, trouble: list[str]) -> Iterator[None]:
    """Whatever fails for one pull request is noted, and keeps none of the others waiting."""
    try:
        yield
    except CommandError as error:
        say(f"#{pull.number}: {error}")
    # A head, an artifact and a comment are a stranger's: what they bring about is never foreseen as a whole.
    except Exception as error:  # noqa: BLE001
        # Its text may quote what a stranger wrote.
        say(f"#{pull.number}: {type(error).__name__}, which is a defect of the bot; report it")
    else:
        return
    trouble.append(f"#{pull.number} could not be settled; the log of the run says why")


def _settle_pull(
    context: BotContext, pull: PullRequest, issue_url: str | None, waiting: list[tuple[PreviewCase, GuardedPaths]]
) -> list[str]:
    """Bring one pull request to a terminal, explained comment, or put it among those whose preview is to be scored.

    Returns a line if it keeps failing on our side.
    """
    status = bot_status(context, pull.head_sha)
    if status is not None and status.state in FINAL_STATES:
        return []
    run = latest_run(context, pull)
    if run is None:
        if outcome := _unstarted_outcome(context, pull):
            deliver_outcome(context, pull, _commented_run(context, pull), outcome)
        return []
    if run.conclusion is None:
        return []
    case = PreviewCase(run=run, pull=pull, trusted=False)
    judged = outcome_without_scores(context, case)
    if isinstance(judged, Outcome):
        return _deliver_or_retry(context, case, judged, issue_url)
    waiting.append((case, judged))
    return []


def _deliver_or_retry(context: BotContext, case: PreviewCase, outcome: Outcome, issue_url: str | None) -> list[str]:
    """Tell what was decided, and try again what failed on our side; a line if that keeps failing."""
    if not outcome.ours:
        return _deliver(context, case.pull, case.run, outcome)
    if isinstance(outcome.state, Broken):
        outcome = replace(outcome, state=replace(outcome.state, issue_url=issue_url))
    return _retry(context, case.pull, case.run, outcome)


def _deliver(context: BotContext, pull: PullRequest, run: WorkflowRun, outcome: Outcome) -> list[str]:
    deliver_outcome(context, pull, max(run.id, _commented_run(context, pull)), outcome)
    return []


def _commented_run(context: BotContext, pull: PullRequest) -> int:
    """The run that the comment speaks for: what is said without a run takes its place, and any later run takes ours."""
    return posts.newest_run(posts.our_comments(context.github.comments(pull.number), context.surroundings.bot))


def _unstarted_outcome(context: BotContext, pull: PullRequest) -> Outcome | None:
    """Why GitHub started no run; None while it has not made up its mind."""
    now = context.github.pull(pull.number)
    if now.head_sha != pull.head_sha or now.state != "open" or now.mergeable is None:
        return None
    if now.mergeable is False:
        return no_run_outcome(pull, RefusalReason.CONFLICT)
    guarded_paths = guard_pull(context, pull)
    if guarded_paths.faults:  # No run would change that, and it is not looked at again.
        return refused_outcome(pull, guarded_paths)
    if not guarded_paths.agents:
        return no_agent_outcome(pull, guarded_paths)
    return no_run_outcome(pull, RefusalReason.NO_RUN)


def _retry(context: BotContext, pull: PullRequest, run: WorkflowRun, outcome: Outcome) -> list[str]:
    """Try once more what failed on our side, or say that somebody has to look."""
    tried = outcome.state.tried if isinstance(outcome.state, Broken) else context.github.attempts(run.id)
    _deliver(context, pull, run, outcome)
    if tried >= TRIES:
        return [f"the preview of #{pull.number} failed {tried} times: {run.html_url}"]
    try:
        context.github.rerun(run.id)
    except GitHubError as error:
        if error.status not in (403, 404, 409):  # It runs already, or is too old to be run again.
            raise
        say(f"#{pull.number}: {error}")
    return []


def _lost_results(context: BotContext) -> list[str]:
    """Official evaluations of the present versions that failed on our side as often as we try."""
    at = version_folders(context.entries)
    marks = given_up(context.results, at)
    current = {(*entry.name, entry.digest) for entry in context.entries}
    measured = {mark_of(result, at) for result in context.results if result.verdict is not Verdict.INTERNAL_ERROR}
    lost = {
        f"{result.login}/{result.agent} on {result.task} has no official result"
        for result in context.results
        if result.verdict is Verdict.INTERNAL_ERROR
        and mark_of(result, at) in marks
        and (*at.of(result), result.submission_digest) in current
        and mark_of(result, at) not in measured
    }
    return sorted(lost | _lost_duels(context))


def _lost_duels(context: BotContext) -> set[str]:
    """The same of duels between versions that stand now."""
    at = version_folders(context.entries)
    marks = given_up_duels(context.duels, at)
    current = {(*entry.name, entry.digest) for entry in context.entries}
    measured = {duel.path() for duel in context.duels if duel.verdict is Verdict.OK}
    return {
        f"{between(duel)} on {duel.task} has no official result"
        for duel in context.duels
        if duel.verdict is Verdict.INTERNAL_ERROR
        and (at.of(duel.players[0]), at.of(duel.players[1]), duel.key) in marks
        and all((*at.of(player), player.submission_digest) in current for player in duel.players)
        and duel.path() not in measured
    }


def _ended_runs(context: BotContext) -> list[WorkflowRun]:
    """The last official runs that came to an end, the latest first."""
    runs = context.github.runs_of_workflow(OFFICIAL, BASE, 2 * TRIES)
    return [run for run in runs if run.conclusion not in (None, "cancelled", "skipped")]


def _workflow_failures(ended: list[WorkflowRun]) -> list[str]:
    """Whether the official workflow itself failed its last runs."""
    last = ended[:TRIES]
    if len(last) == TRIES and all(run.conclusion != "success" for run in last):
        return [f"the last {TRIES} official runs failed: {last[0].html_url}"]
    return []
