"""Observations of a rehearsal: each reads GitHub, the results branch or the site once; of comments only the bot's count."""

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass

from evaluator.model.canonical_json import parse_strict
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier
from evaluator.model.records.verdict import Verdict
from evaluator.model.visible_text import one_line, without_commands
from leaderboard.text.urls import agent_file
from scripts.console import SUBMISSION_AT_FAULT, CommandError
from scripts.github.api.client import STATUS_CONTEXT, GitHub
from scripts.github.api.responses import PullRequest, WorkflowRun
from scripts.github.pull_request.deliver import bot_status, our_comments
from scripts.github.pull_request.label_and_status import OFFICIAL_LABEL
from scripts.github.workflow.event import BOT_LOGIN
from scripts.rehearsal.working_copy import WorkingCopy
from scripts.repository.layout import MAIN_BRANCH, OFFICIAL_WORKFLOW, PREVIEW_WORKFLOW

MAX_RUNS = 50
SITE_FILE_BYTES = 8 << 20
MAX_CHARACTERS = 160
_SITE_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)*/?")
FetchPage = Callable[[str, int], tuple[int, bytes]]


@enum.unique
class ObservedState(enum.Enum):
    """Whether an observation is as expected, may still become so, or cannot."""

    SEEN = enum.auto()
    WAITING = enum.auto()
    WRONG = enum.auto()


@dataclass(frozen=True)
class Observation:
    """What was observed."""

    state: ObservedState
    text: str
    """One printable line."""


def printable(text: str) -> str:
    """One line of at most MAX_CHARACTERS, without control or invisible characters."""
    line = without_commands(one_line(text))
    return line if len(line) <= MAX_CHARACTERS else f"{line[: MAX_CHARACTERS - 1]}…"


def _seen(text: str) -> Observation:
    return Observation(ObservedState.SEEN, printable(text))


def _waiting(text: str) -> Observation:
    return Observation(ObservedState.WAITING, printable(text))


def _wrong(text: str) -> Observation:
    return Observation(ObservedState.WRONG, printable(text))


# Before the merge


def _preview_of(github: GitHub, pull: PullRequest) -> WorkflowRun | None:
    """The newest preview run of a pull request's commit and repository."""
    runs = [run for run in github.runs_of(pull.head_sha) if run.is_of(PREVIEW_WORKFLOW)]
    previews = [run for run in runs if run.event == "pull_request" and run.head_repository_id == pull.head_repository_id]
    return max(previews, key=lambda run: run.id, default=None)


def _waiting_for_preview(run: WorkflowRun | None) -> Observation:
    if run is None:
        return _waiting("no run of the workflow preview")
    state = "it waits for approval, open it and approve" if run.conclusion else "it runs"
    return _waiting(f"{state}: {run.html_url}")


def preview_began(github: GitHub, pull: PullRequest) -> Observation:
    """Whether a preview of the pull request began, and does not wait for approval."""
    run = _preview_of(github, pull)
    if run is None or run.conclusion == "action_required":
        return _waiting_for_preview(run)
    return _seen(run.html_url)


def preview_ended(github: GitHub, pull: PullRequest) -> Observation:
    """Whether the preview succeeded."""
    run = _preview_of(github, pull)
    if run is None or run.conclusion in (None, "action_required"):
        return _waiting_for_preview(run)
    return (_seen if run.conclusion == "success" else _wrong)(f"{run.conclusion}: {run.html_url}")


def _comment(github: GitHub, number: int) -> tuple[int, str, str]:
    """How many comments the bot has on a pull request; with exactly one, also its headline and text."""
    comments = our_comments(github.comments(number), BOT_LOGIN)
    if len(comments) != 1:
        return len(comments), "", ""
    lines = comments[0].body.splitlines()
    return 1, next((line.removeprefix("### ") for line in lines if line.startswith("### ")), ""), comments[0].body


def preview_commented(github: GitHub, pull: PullRequest) -> Observation:
    """Whether the bot has one comment there, with a score and a place."""
    count, headline, text = _comment(github, pull.number)
    if count != 1:
        return _waiting(f"{count} comments of {BOT_LOGIN}")
    if headline.startswith("✅"):
        has_place = "would take place" in headline or "| Would place |" in text
        return _seen(headline if has_place else f"{headline} (without a place, as for a host's own entry)")
    return (_wrong if headline.startswith(("❌", "🚧", "🟡")) else _waiting)(headline)


def status_set(github: GitHub, pull: PullRequest) -> Observation:
    """The bot's status on the commit; statuses of the same name by others are ignored."""
    status = bot_status(github, pull.head_sha, BOT_LOGIN)
    if status is None:
        return _waiting(f"no status {STATUS_CONTEXT} of {BOT_LOGIN}")
    state = {"success": ObservedState.SEEN, "failure": ObservedState.WRONG}.get(status.state, ObservedState.WAITING)
    return Observation(state, printable(f"{status.state}: {status.description}"))


# After a merge


def _official_runs(github: GitHub, sha: str) -> list[WorkflowRun]:
    """The official runs since the commit's own, the oldest first: a newer run does the work of one it replaced."""
    run_ids = [run.id for run in github.runs_of(sha) if run.is_of(OFFICIAL_WORKFLOW)]
    if not run_ids:
        return []
    runs = github.runs_of_workflow(OFFICIAL_WORKFLOW, MAIN_BRANCH, MAX_RUNS)
    return sorted((run for run in runs if run.id >= min(run_ids)), key=lambda run: run.id)


def official_began(github: GitHub, sha: str) -> Observation:
    """Whether the official run of a commit began."""
    runs = _official_runs(github, sha)
    return _seen(runs[0].html_url) if runs else _waiting("no run of the workflow official for the merge commit")


def official_ended(github: GitHub, sha: str) -> Observation:
    """Whether the commit's official run, or a newer one, succeeded."""
    runs = _official_runs(github, sha)
    if succeeded := next((run for run in runs if run.conclusion == "success"), None):
        return _seen(f"success: {succeeded.html_url}")
    if running := next((run for run in reversed(runs) if run.conclusion is None), None):
        return _waiting(f"it runs: {running.html_url}")
    # A run that GitHub cancelled is no failure: the newer run that replaced it may not be listed yet.
    failed = next((run for run in reversed(runs) if run.conclusion not in ("cancelled", "skipped")), None)
    return (
        _wrong(f"{failed.conclusion}: {failed.html_url}") if failed else _waiting("no official run that went on to its end")
    )


def result_recorded(working_copy: WorkingCopy, task: str, name: tuple[str, str], digest: str, runs_page: str) -> Observation:
    """Whether the results branch has a record of exactly this version, made by an official run of this repository."""
    tip, records = working_copy.records(task, *name)
    verdicts = [(each, verdict) for each in records if (verdict := _verdict(each, name, digest)) is not None]
    if not verdicts:
        return _waiting(f"the branch results holds {len(records)} records of {'/'.join(name)}, none of this version")
    record, verdict = verdicts[-1]
    if not (record.provenance.run_url or "").startswith(f"{runs_page}/"):
        return _wrong(f"{record.path()} names no run of this repository")
    text = f"{record.path()}.json at {tip[:12]}, verdict {verdict.value}"
    if verdict is Verdict.INTERNAL_ERROR:
        return _waiting(text)
    return (_seen if verdict is Verdict.OK else _wrong)(text)


def _verdict(record: Result | Duel, name: tuple[str, str], digest: str) -> Verdict | None:
    """The version's verdict in an official record; None if the record is of something else."""
    if record.tier is not Tier.OFFICIAL:
        return None
    agent_sides = (side for side in record.sides if (side.login.casefold(), side.agent) == (name[0].casefold(), name[1]))
    return next((side.verdict for side in agent_sides if side.submission_digest == digest), None)


def site_address(github: GitHub) -> str:
    """The site's address on GitHub Pages, with a `/` at its end.

    Raises:
        CommandError: Pages is off, or serves the site without https.
    """
    pages = github.setting("/pages") or {}
    address = str(pages.get("html_url") or "")
    if not _SITE_ADDRESS.fullmatch(address):
        line = f"Pages names {printable(address) or 'no address'}; an https address is needed: Settings › Pages"
        raise CommandError(SUBMISSION_AT_FAULT, line)
    return address.rstrip("/") + "/"


def _document(fetch: FetchPage, site: str, name: tuple[str, str], token: str) -> tuple[str, dict[str, object]]:
    """An agent's document in the site's API, and its address or what failed. `token` makes the URL new, to bypass caches."""
    address = f"{site}{agent_file(*name)}"
    try:
        status, content = fetch(f"{address}?rehearsal={token}", SITE_FILE_BYTES)
        document = parse_strict(content) if status == 200 else None
    except CommandError as error:
        return f"{address}: {error}", {}
    except ValueError:
        return f"{address} is no JSON", {}
    return (address, document) if isinstance(document, dict) else (f"{address} answers {status}", {})


def shown_on_site(fetch: FetchPage, site: str, name: tuple[str, str], digest: str, task: str, token: str) -> Observation:
    """Whether the deployed site ranks exactly this version."""
    text, document = _document(fetch, site, name, token)
    tasks = document.get("tasks")
    listed = tasks if isinstance(tasks, list) else []
    row = next((each for each in listed if isinstance(each, dict) and each.get("task") == task), {})
    if document.get("state") != "entered" or document.get("digest") != digest:
        return _waiting(text if not document else f"{text} shows another version")
    if row.get("state") not in ("ranked", "failed"):
        return _waiting(f"{text} shows it without a score")
    place = row.get("place")
    text = f"{text}, {row['state']}" + (f", place {place}" if type(place) is int else "")
    return (_seen if row["state"] == "ranked" else _wrong)(text)


def gone_from_site(fetch: FetchPage, site: str, name: tuple[str, str], token: str, *, is_game: bool) -> Observation:
    """Whether the deployed site shows the agent as withdrawn, and its record as a rehearsal."""
    text, document = _document(fetch, site, name, token)
    if document.get("state") == "withdrawn" and document.get("rehearsal") is True:
        return _seen(f"{text}: withdrawn, a rehearsal")
    # Withdrawn players of games have no document.
    return (_seen if is_game and text.endswith("answers 404") else _waiting)(text if not document else f"{text}: not yet")


def result_announced(github: GitHub, number: int, beginning: str) -> Observation:
    """Whether the bot's comment is the final one: `beginning` is in its headline, and the label is set."""
    count, headline, _ = _comment(github, number)
    if count != 1:
        return _waiting(f"{count} comments of {BOT_LOGIN}")
    has_label = OFFICIAL_LABEL in github.labels(number)
    return (_seen if beginning in headline and has_label else _waiting)(headline if has_label else f"{headline} (no label)")
