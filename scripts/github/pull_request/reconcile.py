"""`pullrank bot reconcile`: settles what event-driven steps missed, retries our failures, and reports those that stay."""

from collections.abc import Callable
from dataclasses import replace

from leaderboard.comments.comment_states import NoRunReason, OurFailure
from leaderboard.core.parallel import run_in_background
from leaderboard.core.version_folders import version_folders
from leaderboard.planning.missing_work import INTERNAL_ERROR_LIMIT, given_up
from scripts.console import OK, say
from scripts.github.api.client import REPORTS_LEAVE_REQUESTS
from scripts.github.api.responses import PullRequest, WorkflowRun
from scripts.github.official import failure_issues
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.judge_preview import PreviewCase, guard_pull, restart_run
from scripts.github.pull_request.label_and_status import Outcome, no_agent_outcome, no_run_outcome, refused_outcome
from scripts.github.pull_request.report_previews import (
    HOURLY_READING_SECONDS,
    PreviewRuns,
    TimeBudget,
    collecting_faults,
    find_backlog,
    has_few_requests,
    outdated_outcomes,
    report_ended,
    tell_unstarted,
)
from scripts.repository.layout import MAIN_BRANCH, OFFICIAL_WORKFLOW
from scripts.runs.play_duels import player_names

# The newest preview runs; an older one costs a request of its own.
HOURLY_RUNS_LISTED = 2500


def reconcile_pulls(context: BotContext) -> int:
    """Settle every open pull request; then update the issue that lists what keeps failing.

    Outcomes that need no scores, such as refusals, are delivered before any preview is scored. Meanwhile a second process
    looks for retries, which takes a second on a board of 80,000 results.
    """
    with run_in_background(context.checkout.store.has_retries) as has_retries:
        return _reconcile(context, has_retries)


def _reconcile(context: BotContext, has_retries: Callable[[], bool]) -> int:
    faults: list[str] = []
    issues = failure_issues.open_failure_issues(context.github, context.workflow.bot)
    issue_url = next((issue.html_url for issue in issues if issue.title == failure_issues.FAILURE_ISSUE_TITLE), None)
    backlog = find_backlog(context, PreviewRuns(context, HOURLY_RUNS_LISTED), faults, is_complete=True)
    outcomes: list[tuple[PullRequest, Outcome]] = []
    budget = TimeBudget(HOURLY_READING_SECONDS)
    for pull in budget.turns(backlog.unstarted, lambda pull: pull):
        if has_few_requests(context, REPORTS_LEAVE_REQUESTS):
            break
        with collecting_faults(pull, faults):
            if outcome := _unstarted_outcome(context, pull):
                outcomes.append((pull, outcome))
    outcomes += outdated_outcomes(context, backlog, budget, faults)
    tell_unstarted(context, outcomes, faults)

    def with_issue(outcome: Outcome) -> Outcome:
        state = outcome.state
        return replace(outcome, state=replace(state, issue_url=issue_url)) if isinstance(state, OurFailure) else outcome

    for case, outcome in report_ended(context, backlog.ended, faults, budget, adjust=with_issue, is_last_word=True):
        with collecting_faults(case.pull, faults):
            faults += _retry_failed(context, case, outcome)
    ended = _ended_runs(context)
    # Without a retry nothing was given up, and no result is read. The board's own come first: anybody can break previews.
    faults = [*_workflow_failures(ended), *(_lost_records(context) if has_retries() else []), *faults]
    failure_issues.update_failure_issue(context.github, issues, faults)
    failure_issues.close_if_recovered(context.github, issues, ended)
    say(f"{len(faults)} things keep failing on our side.")
    return OK


def _retry_failed(context: BotContext, case: PreviewCase, outcome: Outcome) -> list[str]:
    """Rerun a preview that failed on our side; returns a line if it failed too often."""
    if not outcome.is_our_failure:
        return []
    tried = outcome.state.tried if isinstance(outcome.state, OurFailure) else context.github.attempts(case.run.id)
    if tried >= INTERNAL_ERROR_LIMIT:
        return [f"the preview of #{case.pull.number} failed {tried} times: {case.run.html_url}"]
    restart_run(context, case.pull, case.run)
    return []


def _unstarted_outcome(context: BotContext, pull: PullRequest) -> Outcome | None:
    """Why GitHub started no run; None while GitHub does not know whether the pull request can be merged."""
    now = pull if pull.mergeable is not None else context.github.pull(pull.number)
    if now.head_sha != pull.head_sha or now.state != "open" or now.mergeable is None:
        return None
    if now.mergeable is False:
        return no_run_outcome(pull, NoRunReason.CONFLICT)
    paths = guard_pull(context, pull)
    # A run would not change that, and the status becomes final. An author can keep GitHub from starting one by a word in the
    # commit's message; changes of the board alone, which are reviewed by people, have none in any case.
    if paths.faults or (paths.outside and paths.touches_agents):
        return refused_outcome(pull, paths)
    return no_run_outcome(pull, NoRunReason.NO_RUN) if paths.agents else no_agent_outcome(pull, paths)


def _lost_records(context: BotContext) -> list[str]:
    """Lines for official evaluations and duels of current versions that failed on our side in every run."""
    folders = version_folders(context.recorded.entries)
    current = {(entry.name, entry.digest) for entry in context.recorded.entries}
    lines = {
        f"{player_names(record)} on {record.task} has no official result"
        for record in given_up([*context.results, *context.duels], folders)
        if all((folders.of(side), side.submission_digest) in current for side in record.sides)
    }
    return sorted(lines)


def _ended_runs(context: BotContext) -> list[WorkflowRun]:
    """The last official runs that ended, newest first."""
    runs = context.github.runs_of_workflow(OFFICIAL_WORKFLOW, MAIN_BRANCH, 2 * INTERNAL_ERROR_LIMIT)
    return [run for run in runs if run.conclusion not in (None, "cancelled", "skipped")]


def _workflow_failures(ended: list[WorkflowRun]) -> list[str]:
    """A line if all of the last official runs failed."""
    last = ended[:INTERNAL_ERROR_LIMIT]
    if len(last) == INTERNAL_ERROR_LIMIT and all(run.conclusion != "success" for run in last):
        return [f"the last {INTERNAL_ERROR_LIMIT} official runs failed: {last[0].html_url}"]
    return []
