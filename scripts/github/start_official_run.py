"""Starts an official run if it has something to do, so that an idle hour costs one job; and what is due in one that runs.

Only what the deployed site was built from is stored; everything else is found by comparing what is there with what should
be there. If a check fails, the part counts as due.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ParamSpec

from leaderboard.planning.missing_work import INTERNAL_ERROR_LIMIT
from scripts.console import OK, CommandError, say
from scripts.github.api.responses import WorkflowRun
from scripts.github.official import plan_shards
from scripts.github.official.round_work import OfficialRun
from scripts.github.pull_request import announce_official_scores
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.workflow.outputs import write_output
from scripts.repository.layout import MAIN_BRANCH, OFFICIAL_WORKFLOW
from scripts.static_site.deployed_site import current_site_inputs, read_deployed

# Latest runs to read; they limit the longest pause, 2 ** (RUNS_LOOKED_AT - 2) hours.
RUNS_LOOKED_AT = 2 * INTERNAL_ERROR_LIMIT
# Schedules start some minutes early or late.
SCHEDULE_SLACK = timedelta(minutes=30)
_Arguments = ParamSpec("_Arguments")


def start_official_run_if_due(context: BotContext, work: OfficialRun, address: str) -> int:
    """Start an official run if it has something to do and none is under way."""
    runs = list(context.github.runs_of_workflow(OFFICIAL_WORKFLOW, MAIN_BRANCH, RUNS_LOOKED_AT))
    if any(run_.conclusion is None for run_ in runs):
        say("An official run is under way; the next hour looks again.")
        return OK
    reasons = [
        line for line in (_evaluation_reason(work), site_reason(context, address), announcement_reason(context)) if line
    ]
    for line in reasons:
        say(f"Due: {line}.")
    if not reasons:
        say("Nothing is due.")
    elif wait := failure_pause(runs, context.now):
        say(f"The last official runs failed; another one begins in {wait}, or with the next push.")
    else:
        context.github.dispatch(OFFICIAL_WORKFLOW, MAIN_BRANCH, {})
        say("An official run begins.")
    return OK


def _failure_is_a_reason(find_reason: Callable[_Arguments, str]) -> Callable[_Arguments, str]:
    """The function, with any failure of it as the reason."""

    @functools.wraps(find_reason)
    def find(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> str:
        try:
            return find_reason(*args, **kwargs)
        except CommandError as error:
            return f"it cannot be told whether something is ({error})"
        # A defect of a check must not leave work undone. The message is not logged: it may quote untrusted text.
        except Exception as error:  # noqa: BLE001
            return f"it cannot be told whether something is ({type(error).__name__}, a defect of the bot; report it)"

    return find


@_failure_is_a_reason
def site_reason(context: BotContext, address: str) -> str:
    """Why the site has to be built; empty if the deployed one is up to date."""
    note = read_deployed(context.clone)
    now = current_site_inputs(context.clone, context.checkout.challenge, address, context.now)
    if note is None:
        return "nothing was deployed yet"
    names = [name for name in type(now).model_fields if getattr(now, name) != getattr(note, name)]
    return f"the deployed site is of another state ({', '.join(names)})" if names else ""


@_failure_is_a_reason
def announcement_reason(context: BotContext) -> str:
    """Why merged pull requests have to be commented; empty if all are done."""
    number = next(announce_official_scores.pulls_with_news(context), None)
    return "" if number is None else f"#{number}, which was merged, is to be told something"


@_failure_is_a_reason
def _evaluation_reason(work: OfficialRun) -> str:
    """Why something has to be evaluated or recorded; empty if nothing has to be.

    Only the official run's token sees the members of teams, so everybody counts as a member here.
    """
    planned = plan_shards.plan_shards(replace(work, is_member=lambda *_: True))
    if planned.count:
        return f"{planned.count} evaluations are wanted and not recorded"
    return f"GitHub is to be asked about {planned.unasked} results" if planned.unasked else ""


def output_what_is_due(context: BotContext, planned: plan_shards.PlannedShards, address: str) -> None:
    """Output whether the site is to be built and comments to be written; both always after something is recorded."""
    records = bool(planned.count or planned.unasked)
    site = records or site_reason(context, address)
    announcements = records or announcement_reason(context)
    for name, reason in (("site", site), ("announce", announcements)):
        write_output(context.workflow.output_path, name, bool(reason))
        if isinstance(reason, str):
            say(f"{name}: {reason or 'nothing is due'}.")


def failure_pause(runs: Sequence[WorkflowRun], now: datetime) -> timedelta:
    """How long to wait: nothing below `INTERNAL_ERROR_LIMIT` failures, then an hour, doubled by each further failure.

    `runs`: the latest official runs, newest first, all of them ended.
    """
    ended = [run for run in runs if run.conclusion not in ("cancelled", "skipped")]
    failures = next((i for i, run in enumerate(ended) if run.conclusion == "success"), len(ended))
    if failures < INTERNAL_ERROR_LIMIT:
        return timedelta()
    since = now - datetime.fromisoformat(ended[0].created_at).astimezone(UTC)
    left = timedelta(hours=2 ** (failures - 2)) - SCHEDULE_SLACK - since
    return max(left, timedelta())
