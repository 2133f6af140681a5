"""`pullrank bot report`: tells every open pull request what became of its preview; the hourly run does the same.

All are looked at together, so that a burst of pull requests costs few requests: a hundred in one, then two for each, its
artifact's and its status'.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TypeVar

from leaderboard.comments.comment_states import NoRunReason
from scripts.console import OK, OUR_FAULT, CommandError, say
from scripts.git.folder_history import last_changes
from scripts.git.pull_request_guard import GuardedPaths
from scripts.github.api.client import REPORTS_LEAVE_REQUESTS, GitHub, RequestLimit
from scripts.github.api.pull_snapshots import PULLS_PER_PAGE, PullSnapshot, recent_pulls
from scripts.github.api.responses import CommitStatus, PullRequest, WorkflowRun
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.deliver import (
    DELIVERED_AT_ONCE,
    Delivery,
    bot_status,
    collecting_defects,
    deliver_outcomes,
    judged_address,
    unsettled_line,
)
from scripts.github.pull_request.find_pull import (
    WORKFLOW_DISPATCH,
    NoPull,
    dispatched_pull,
    find_pull,
    latest_run,
    latest_run_among,
)
from scripts.github.pull_request.judge_preview import (
    PREVIEW_ARTIFACT,
    PreviewCase,
    guard_pull,
    outcome_without_scores,
    preview_outcome,
    scored_outcome,
)
from scripts.github.pull_request.label_and_status import (
    FINAL_STATES,
    OK_LABEL,
    REVIEW_LABEL,
    Outcome,
    StatusState,
    is_scored,
    no_run_outcome,
    refused_outcome,
)
from scripts.github.workflow.event import workflow_run_id
from scripts.repository.layout import MAIN_BRANCH, PREVIEW_WORKFLOW

# With fewer left, or more previews to look at, nobody is told that a preview has begun.
MANY_REQUESTS_LEFT, FEW_PREVIEWS = 900, 5
# This many requests of an hour are sent without waiting, and no report waits longer than this many seconds.
UNPACED_REQUESTS, LONGEST_PAUSE = 300, 240.0
# Runs and artifacts that are listed at once: the most of one request.
LISTED_AT_ONCE = 100
# The newest preview runs that a report looks at, and the open pull requests that it looks at in any case.
RUNS_LISTED, PULLS_LISTED = 1000, 500
HOUR_SECONDS = 3600.0
# A head can be made so that reading it lasts until git is stopped, for minutes. After this many seconds for the heads of one
# author everybody else's come first. After this many seconds in all a report reads no further ones, and tells what was
# read. The hourly run has less time, and more to do. Scoring takes turns, too, in what is left and half as long: all duels
# of a preview are replayed, and in a slow game the longest matches take minutes.
AUTHOR_SECONDS, READING_SECONDS, HOURLY_READING_SECONDS = 30.0, 1200.0, 150.0


PassedPull = tuple[PullRequest, CommitStatus]
"""A pull request whose commit was found good, and the status that says so."""


@dataclass(kw_only=True)
class Backlog:
    """The pull requests that are to be told something new."""

    ended: list[PreviewCase] = field(default_factory=list)
    """Their preview ended, or waits for an approval."""
    unstarted: list[PullRequest] = field(default_factory=list)
    """None of their preview runs is known."""
    passed: list[PassedPull] = field(default_factory=list)
    """They were found good, and main has changed files of their author's since; or another one at their commit was."""
    playing: int = 0


class PreviewRuns:
    """The newest preview runs, a hundred in each request, as far as they are needed."""

    def __init__(self, context: BotContext, at_most: int) -> None:
        """Read the first hundred."""
        self._repository_id = context.workflow.repository_id
        self._left = context.github.runs_of_workflow(PREVIEW_WORKFLOW, None, at_most)
        self._by_head: dict[str, list[WorkflowRun]] = {}
        self._oldest: datetime | None = None
        self._read_page()

    def of(self, pull: PullRequest) -> WorkflowRun | None:
        """The latest run of the pull request's newest commit; None if it is not among them."""
        while True:
            if run := latest_run_among(self._by_head.get(pull.head_sha, ()), pull, self._repository_id):
                return run
            # GitHub runs nothing on a conflict: no older page has a run.
            if pull.mergeable is False or self.are_all_known(pull) or not self._read_page():
                return None

    def are_all_known(self, pull: PullRequest) -> bool:
        """Whether every run since the pull request was opened has been read: it has none that is older."""
        return self._oldest is not None and self._oldest < datetime.fromisoformat(pull.created_at)

    def _read_page(self) -> bool:
        page = list(islice(self._left, LISTED_AT_ONCE))
        for run in page:
            self._by_head.setdefault(run.head_sha, []).append(run)
        if page:
            self._oldest = datetime.fromisoformat(page[-1].created_at)
        return bool(page)


def wait_for_more(github: GitHub, now: float) -> int:
    """Wait while requests are sent faster than the hour allows, so that the next report has more to tell at once.

    Else the jobs of a burst would follow each other without a break, each with requests of its own, and the last quarter of
    the hour would have none.
    """
    limit = github.request_limits().get("core")
    if limit is not None and (seconds := pause_before(limit, now)) > 0:
        say(f"{limit.used} of {limit.most} requests of this hour are sent; the report waits for {seconds:.0f} s.")
        github.wait(seconds)
    return OK


def pause_before(limit: RequestLimit, now: float) -> float:
    """Seconds until that many requests are due, at an even pace after the first."""
    paced = max(1, limit.most - REPORTS_LEAVE_REQUESTS - UNPACED_REQUESTS)
    elapsed = HOUR_SECONDS - (limit.ends_at - now)
    return min(LONGEST_PAUSE, max(0.0, (limit.used - UNPACED_REQUESTS) / paced * HOUR_SECONDS - elapsed))


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


def report_recent(context: BotContext) -> int:
    """Report the previews that ended and conflicts; a run that has just begun is announced while requests last."""
    if context.workflow.event_name == WORKFLOW_DISPATCH:
        return report_preview(context)
    limit = context.github.request_limits().get("core")
    if limit is not None and limit.left <= REPORTS_LEAVE_REQUESTS:
        say("Previews are reported later: few of the hour's requests are left.")
        return OK
    runs = PreviewRuns(context, RUNS_LISTED)
    faults: list[str] = []
    backlog = find_backlog(context, runs, faults, is_complete=False)
    is_quiet = len(backlog.ended) + backlog.playing <= FEW_PREVIEWS and not has_few_requests(context, MANY_REQUESTS_LEFT)
    if context.workflow.event.get("action") == "in_progress" and is_quiet:
        report_preview(context)
    conflicts = [pull for pull in backlog.unstarted if pull.mergeable is False]
    outcomes = [(pull, no_run_outcome(pull, NoRunReason.CONFLICT)) for pull in conflicts]
    tell_unstarted(context, outcomes, faults)
    budget = TimeBudget(READING_SECONDS)
    report_ended(context, backlog.ended, faults, budget)
    tell_unstarted(context, outdated_outcomes(context, backlog, budget, faults), faults)
    if faults:
        raise CommandError(OUR_FAULT, *faults)
    return OK


def tell_unstarted(context: BotContext, outcomes: Sequence[tuple[PullRequest, Outcome]], faults: list[str]) -> None:
    """Tell pull requests that have no preview run why; adds a line to `faults` for each change that GitHub refused."""
    deliveries = [Delivery(pull=pull, run_id=0, outcome=outcome, is_last_word=True) for pull, outcome in outcomes]
    _tell_while_requests_last(context, deliveries, faults)


def find_backlog(context: BotContext, runs: PreviewRuns, faults: list[str], *, is_complete: bool) -> Backlog:
    """The pull requests that are to be told something new.

    Adds a line to `faults` for each pull request that could not be looked at. `is_complete`: look at every open one, those
    that failed on our side included; else only at the ones that changed last, up to a hundred without anything to be told.
    """
    own_run = context.workflow.event.get("workflow_run")
    own_run = own_run if isinstance(own_run, dict) else {}
    own_head, is_rerun = own_run.get("head_sha"), own_run.get("run_attempt", 1) > 1
    backlog = Backlog()
    passed: list[PassedPull] = []
    for number, page in enumerate(recent_pulls(context.github, MAIN_BRANCH), 1):
        is_any_waiting = False
        for snapshot in page:
            pull = snapshot.pull
            with collecting_faults(pull, faults):
                status = _own_status(context, snapshot)
                if is_complete and OK_LABEL in pull.labels and not (status is not None and is_scored(status)):
                    # Its author went back to a commit that had been told: label and comment are of the better one between.
                    status = None
                elif status is not None and status.state == StatusState.SUCCESS:
                    passed.append((pull, status))
                # What failed on our side is told again by whoever makes it run again.
                is_failed = status is not None and status.state == StatusState.ERROR
                is_looked_at = is_complete or not is_failed or pull.head_sha == own_head
                # A person started it again, and nobody may have been told that it began.
                is_again = (
                    is_rerun and pull.head_sha == own_head and status is not None and status.state == StatusState.FAILURE
                )
                if is_again or (is_looked_at and (status is None or status.state not in FINAL_STATES)):
                    is_any_waiting |= _add_to_backlog(context, pull, status, runs, backlog, is_complete=is_complete)
        # What was just told changed last, and may hide what waits.
        if not is_any_waiting and not is_complete and number * PULLS_PER_PAGE >= PULLS_LISTED:
            break
    backlog.passed = _to_be_judged_again(context, passed)
    return backlog


def _to_be_judged_again(context: BotContext, passed: Sequence[PassedPull]) -> list[PassedPull]:
    """Of pull requests with a good status, those whose author's files main has changed since, and those it was not said of.

    By main's order: what time a commit names, its author chooses.
    """
    if not passed:
        return []
    commits = list(context.parents)  # Newest first.
    age = {sha: position for position, sha in enumerate(commits)}
    judged = [(pull, status, age.get(status.main or "", len(commits))) for pull, status in passed]
    oldest = max(at for _, _, at in judged)
    changed = last_changes(context.clone, context.main, commits[oldest] if oldest < len(commits) else None)
    authors = {pull.number: pull.author for pull, _ in passed}

    def is_of_another(pull: PullRequest, status: CommitStatus) -> bool:
        if status.description == no_run_outcome(pull, NoRunReason.NOTHING).status_text:
            return False  # It is the same whoever proposes it; two accounts would pass the status on for ever.
        is_own = status.pull in (None, pull.number) or authors.get(status.pull or 0) == pull.author
        if is_own and not status.is_of_queue:
            return False
        return REVIEW_LABEL not in pull.labels  # Else it was told already.

    return [
        (pull, status)
        for pull, status, at in judged
        if is_of_another(pull, status) or ((sha := changed.get(pull.author.casefold())) and age[sha] < at)
    ]


def outdated_outcomes(
    context: BotContext, backlog: Backlog, budget: "TimeBudget", faults: list[str]
) -> list[tuple[PullRequest, Outcome]]:
    """Refusals of pull requests with a good status that is of another, or whose merge could change another file by now.

    The status of the others names the commit of main by which they were judged: a later run does not fetch them again.
    """
    outcomes = []
    for pull, status in budget.turns(backlog.passed, lambda passed: passed[0]):
        with collecting_faults(pull, faults):
            paths = guard_pull(context, pull)
            if paths.faults or (paths.outside and paths.touches_agents):
                outcomes.append((pull, refused_outcome(pull, paths)))
            elif not has_few_requests(context, REPORTS_LEAVE_REQUESTS) and _own_status_now(context, pull) == status:
                context.github.set_status(pull.head_sha, status.state, status.description, judged_address(context, pull))
    return outcomes


def _own_status(context: BotContext, snapshot: PullSnapshot) -> CommitStatus | None:
    """The bot's latest status; a status that another account set under our name does not count.

    Nor does what was said of another pull request at the same commit, unless it was good: its author may be somebody who
    must not change these folders.
    """
    status = snapshot.status
    if not snapshot.is_status_read or (status is not None and status.creator != context.workflow.bot):
        status = _own_status_now(context, snapshot.pull)
    if status is not None and status.pull not in (None, snapshot.pull.number) and status.state != StatusState.SUCCESS:
        return None
    return status


def _own_status_now(context: BotContext, pull: PullRequest) -> CommitStatus | None:
    """The bot's latest status as it is now: another job may have said something meanwhile."""
    return bot_status(context.github, pull.head_sha, context.workflow.bot)


def _add_to_backlog(
    context: BotContext,
    pull: PullRequest,
    status: CommitStatus | None,
    runs: PreviewRuns,
    backlog: Backlog,
    *,
    is_complete: bool,
) -> bool:
    """Note a pull request that is to be told something; returns whether there may be more such around it."""
    words = status.description if status else ""
    if pull.mergeable is False and words == no_run_outcome(pull, NoRunReason.CONFLICT).status_text:
        return False
    run = runs.of(pull)
    if run is None and is_complete and not runs.are_all_known(pull):
        run = latest_run(context, pull)
    if run is None:
        backlog.unstarted.append(pull)
        return True
    if run.conclusion == "action_required" and words == no_run_outcome(pull, NoRunReason.WAITING).status_text:
        return False
    if run.conclusion is None:
        backlog.playing += 1
    else:
        backlog.ended.append(PreviewCase(run=run, pull=pull, trusted=False))
    return True


def has_few_requests(context: BotContext, reserved: int) -> bool:
    """Whether fewer of the hour's requests are left."""
    left = context.github.requests_left
    return left is not None and left < reserved


_Item = TypeVar("_Item")


class TimeBudget:
    """The time for reading heads, or for scoring previews, shared by the authors of pull requests."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, time.monotonic() + seconds
        self._used: Counter[int] = Counter()

    def for_scoring(self) -> "TimeBudget":
        """The time for what follows: what is left, and half as long as there was."""
        return TimeBudget(max(0.0, self._end - time.monotonic()) + self._seconds / 2)

    def turns(self, items: Iterable[_Item], pull_of: Callable[[_Item], PullRequest]) -> Iterator[_Item]:
        """The items that there is time for, in order; last those of authors who took more than their share."""
        waiting = list(items)
        while waiting and time.monotonic() < self._end:
            light = (item for item in waiting if self._used[pull_of(item).author_id] < AUTHOR_SECONDS)
            item = next(light, waiting[0])
            waiting.remove(item)
            begun = time.monotonic()
            yield item
            self._used[pull_of(item).author_id] += math.ceil(time.monotonic() - begun)


DecidedCase = tuple[PreviewCase, Outcome]
"""A preview, and what its pull request was told."""


def report_ended(
    context: BotContext,
    cases: Sequence[PreviewCase],
    faults: list[str],
    budget: TimeBudget,
    *,
    adjust: Callable[[Outcome], Outcome] = lambda outcome: outcome,
    is_last_word: bool = False,
) -> list[DecidedCase]:
    """Tell the outcomes of ended previews while requests last; returns those that were told.

    Outcomes that need no scores, such as refusals, are told first, and of each kind the oldest preview: who waits longest is
    not overtaken for as long as new ones come.

    Adds a line to `faults` for each that could not be settled. `is_last_word`: whether a comment that names a later run is
    replaced.
    """
    # Before the heads are read, which takes a while and tells nobody.
    if cases and has_few_requests(context, REPORTS_LEAVE_REQUESTS):
        say(f"{len(cases)} previews are reported by a later run: few of the hour's requests are left.")
        return []
    scored, decided = list[tuple[PreviewCase, GuardedPaths]](), list[DecidedCase]()
    for case in budget.turns(sorted(cases, key=lambda case: case.run.id), lambda case: case.pull):
        with collecting_faults(case.pull, faults):
            decision = outcome_without_scores(context, case)
            if isinstance(decision, Outcome):
                decided.append((case, adjust(decision)))
            else:
                scored.append((case, decision))
    delivered = _tell_decided(context, decided, faults, is_last_word=is_last_word)
    if len(scored) > 1 and not has_few_requests(context, REPORTS_LEAVE_REQUESTS):
        left = context.github.requests_left
        told_now = scored if left is None else scored[: max(1, (left - REPORTS_LEAVE_REQUESTS) // 2)]
        context.github.list_artifacts(PREVIEW_ARTIFACT, [case.run.id for case, _ in told_now])
    turns, waiting = budget.for_scoring().turns(scored, lambda pending: pending[0].pull), len(scored)
    while (size := min(DELIVERED_AT_ONCE, waiting)) and not has_few_requests(context, REPORTS_LEAVE_REQUESTS + 2 * size):
        ready: list[DecidedCase] = []
        looked_at = 0
        for case, paths in islice(turns, size):
            looked_at += 1
            with collecting_faults(case.pull, faults):
                ready.append((case, adjust(scored_outcome(context, case, paths))))
        delivered += _tell_decided(context, ready, faults, is_last_word=is_last_word)
        waiting -= looked_at or waiting  # Without a further turn the time is up.
    if (left := len(cases) - len(delivered)) > 0:
        say(f"{left} previews are reported by a later run.")
    return delivered


def _tell_decided(
    context: BotContext, decided: Sequence[DecidedCase], faults: list[str], *, is_last_word: bool
) -> list[DecidedCase]:
    """Tell the outcomes of ended previews while requests last; returns those that were told."""
    deliveries = [
        Delivery(pull=case.pull, run_id=case.run.id, outcome=outcome, is_last_word=is_last_word) for case, outcome in decided
    ]
    told = _tell_while_requests_last(context, deliveries, faults)
    return [decision for decision, delivery in zip(decided, deliveries, strict=True) if delivery.pull.number in told]


def _tell_while_requests_last(context: BotContext, deliveries: Sequence[Delivery], faults: list[str]) -> set[int]:
    """Returns the numbers of the pull requests that were told."""
    told: set[int] = set()
    for begin in range(0, len(deliveries), DELIVERED_AT_ONCE):
        part = deliveries[begin : begin + DELIVERED_AT_ONCE]
        if has_few_requests(context, REPORTS_LEAVE_REQUESTS):
            break
        try:
            faults += deliver_outcomes(context, part)
        except CommandError as error:  # Such as the limit of texts in an hour: further requests would be refused, too.
            say(f"{len(deliveries) - begin} pull requests could not be told: {error}")
            faults.append(f"{len(deliveries) - begin} pull requests could not be told; the log of the run says why")
            break
        except Exception as error:  # noqa: BLE001  # as in `collecting_defects`
            say(f"{len(part)} pull requests: {type(error).__name__}, which is a defect of the bot; report it")
            faults.append(f"{len(part)} pull requests could not be told; the log of the run says why")
            continue
        told |= {delivery.pull.number for delivery in part}
    return told


@contextmanager
def collecting_faults(pull: PullRequest, faults: list[str]) -> Iterator[None]:
    """Log and note a failure of one pull request, so that the others are still settled."""
    with collecting_defects(pull, faults):
        try:
            yield
        except CommandError as error:
            say(f"#{pull.number}: {error}")
            faults.append(unsettled_line(pull))
