"""What an official run would do now, so that a quiet hour ends after one job and a part that has nothing to do is left out.

Nothing is remembered for it but what the deployed site was built from: whatever else is due is found by comparing what is
there with what should be. Where something cannot be told it is due.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from leaderboard.planning.missing import TRIES
from scripts.console import OK, CommandError, say
from scripts.github.api.find_pull_request import WorkflowRun
from scripts.github.official import shard_jobs
from scripts.github.official.workload import OfficialRun
from scripts.github.pull_request import announce
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.reconcile import OFFICIAL
from scripts.repository.layout import MAIN_BRANCH
from scripts.static_site.deployed_commit import built_now, read_note

# Runs that are looked at, and so the longest wait: 2 to the power of this less 2, in hours.
RUNS_LOOKED_AT = 2 * TRIES
# A schedule strikes some minutes early or late.
SCHEDULE_SLACK = timedelta(minutes=30)


def run(context: BotContext, work: OfficialRun, address: str) -> int:
    """Begin an official run if it has something to do, and none is under way that would do it."""
    runs = context.github.runs_of_workflow(OFFICIAL, MAIN_BRANCH, RUNS_LOOKED_AT)
    if any(run_.conclusion is None for run_ in runs):
        say("An official run is under way; the next hour looks again.")
        return OK
    reasons = [
        line for line in (_evaluation_reason(work), is_site_due(context, address), is_announcement_due(context)) if line
    ]
    for line in reasons:
        say(f"Due: {line}.")
    if not reasons:
        say("Nothing is due.")
    elif wait := failure_pause(runs, context.now):
        say(f"The last official runs failed; another one begins in {wait}, or with the next push.")
    else:
        context.github.dispatch(OFFICIAL, MAIN_BRANCH, {})
        say("An official run begins.")
    return OK


def is_site_due(context: BotContext, address: str) -> str:
    """Why the site is to be built; empty where the deployed one was built from all that is there now."""

    def asked() -> str:
        note = read_note(context.clone)
        now = built_now(context.clone, context.board.challenge, address, context.now)
        if note is None:
            return "nothing was deployed yet"
        names = [name for name in type(now).model_fields if getattr(now, name) != getattr(note, name)]
        return f"the deployed site is of another state ({', '.join(names)})" if names else ""

    return _reason_or_doubt(asked)


def is_announcement_due(context: BotContext) -> str:
    """Why announcements are to be made; empty where every merged pull request was told all there is to tell."""

    def asked() -> str:
        number = next(announce.pulls_with_news(context), None)
        return "" if number is None else f"#{number}, which was merged, is to be told something"

    return _reason_or_doubt(asked)


def _evaluation_reason(work: OfficialRun) -> str:
    """Why something is to be evaluated or recorded.

    Who is in a team only the official run's own token can see, so that everybody is taken for a member here.
    """

    def asked() -> str:
        planned = shard_jobs.plan(replace(work, is_member=lambda *_: True))
        if planned.count:
            return f"{planned.count} evaluations are wanted and not recorded"
        return f"GitHub is to be asked about {planned.unasked} results" if planned.unasked else ""

    return _reason_or_doubt(asked)


def _reason_or_doubt(find_reason: Callable[[], str]) -> str:
    """An answer; where there is none that is a reason to look closer."""
    try:
        return find_reason()
    except CommandError as error:
        return f"it cannot be told whether something is ({error})"
    # Nothing may stay undone for a defect of the look at it. The text of one may quote what a stranger wrote.
    except Exception as error:  # noqa: BLE001
        return f"it cannot be told whether something is ({type(error).__name__}, a defect of the bot; report it)"


def failure_pause(runs: Sequence[WorkflowRun], now: datetime) -> timedelta:
    """How long what keeps failing waits: an hour at first, after `TRIES` failures twice as long each time.

    Args:
        runs: the latest official runs, the latest first, all of them ended.
        now: the moment.
    """
    ended = [run for run in runs if run.conclusion not in ("cancelled", "skipped")]
    failures = next((i for i, run in enumerate(ended) if run.conclusion == "success"), len(ended))
    if failures < TRIES:
        return timedelta()
    since = now - datetime.fromisoformat(ended[0].created_at).astimezone(UTC)
    left = timedelta(hours=2 ** (failures - 2)) - SCHEDULE_SLACK - since
    return max(left, timedelta())
