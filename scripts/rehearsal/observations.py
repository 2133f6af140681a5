"""What is there by now: each look asks GitHub, git or the site once, and believes nobody but the bot."""

import enum
import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from evaluator.model.canonical_json import parse_strict
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.text.serialise import agent_file
from scripts.console import SUBMISSION_AT_FAULT, CommandError
from scripts.github.api import posts
from scripts.github.api.client import GitHub
from scripts.github.api.find_pull_request import WORKFLOW, PullRequest, WorkflowRun
from scripts.github.pull_request.bot_context import BASE, CONTEXT
from scripts.github.pull_request.outcome import OFFICIAL_LABEL
from scripts.github.workflow.event import BOT
from scripts.rehearsal.working_copy import WorkingCopy

OFFICIAL = ".github/workflows/official.yml"
RUNS = 50
PAGE_BYTES = 8 << 20
SHOWN = 160
_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)*/?")
Fetch = Callable[[str, int], tuple[int, bytes]]


@enum.unique
class ObservedState(enum.Enum):
    """How a look came out."""

    SEEN = enum.auto()
    WAITING = enum.auto()
    WRONG = enum.auto()


@dataclass(frozen=True)
class Observation:
    """What one look saw."""

    state: ObservedState
    words: str
    """What was seen, as one printable line."""


def printable(text: str, limit: int = SHOWN) -> str:
    """One line that no terminal obeys and that hides nothing, at most so long."""
    line = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in " ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _seen(words: str) -> Observation:
    return Observation(ObservedState.SEEN, printable(words))


def _waiting(words: str) -> Observation:
    return Observation(ObservedState.WAITING, printable(words))


def _wrong(words: str) -> Observation:
    return Observation(ObservedState.WRONG, printable(words))


# Before the merge


def _preview_of(github: GitHub, pull: PullRequest) -> WorkflowRun | None:
    """The newest preview of a pull request's commit: of that workflow file, from that repository."""
    runs = [run for run in github.runs_of(pull.head_sha) if run.path.partition("@")[0] == WORKFLOW]
    own = [run for run in runs if run.event == "pull_request" and run.head_repository_id == pull.head_repository_id]
    return max(own, key=lambda run: run.id, default=None)


def preview_began(github: GitHub, pull: PullRequest) -> Observation:
    """Whether a preview of the pull request began, and does not wait for a click."""
    run = _preview_of(github, pull)
    if run is None:
        return _waiting("no run of the workflow preview")
    if run.conclusion == "action_required":
        return _waiting(f"it waits for approval, open it and approve: {run.html_url}")
    return _seen(run.html_url)


def preview_ended(github: GitHub, pull: PullRequest) -> Observation:
    """How the preview ended."""
    run = _preview_of(github, pull)
    if run is None or run.conclusion is None:
        return _waiting(f"it runs: {run.html_url}" if run else "no run of the workflow preview")
    if run.conclusion == "action_required":
        return _waiting(f"it waits for approval, open it and approve: {run.html_url}")
    return (_seen if run.conclusion == "success" else _wrong)(f"{run.conclusion}: {run.html_url}")


def _comment(github: GitHub, number: int) -> tuple[int, str, str]:
    """How many comments the bot keeps on a pull request, the headline of the only one, and its text."""
    own = posts.our_comments(github.comments(number), BOT)
    if len(own) != 1:
        return len(own), "", ""
    lines = own[0].body.splitlines()
    return 1, next((line.removeprefix("### ") for line in lines if line.startswith("### ")), ""), own[0].body


def previewed(github: GitHub, pull: PullRequest) -> Observation:
    """Whether the bot keeps one comment there, with a score and a place."""
    count, headline, text = _comment(github, pull.number)
    if count != 1:
        return _waiting(f"{count} comments of {BOT}")
    if headline.startswith("✅"):
        has_place = "would take place" in headline or "| Would place |" in text
        return _seen(headline if has_place else f"{headline} (without a place, as for a host's own entry)")
    return (_wrong if headline.startswith(("❌", "🚧", "🟡")) else _waiting)(headline)


def status_set(github: GitHub, pull: PullRequest) -> Observation:
    """What the bot says on the commit; what others say under its name is nothing."""
    own = (one for one in github.statuses(pull.head_sha) if one.context == CONTEXT and one.creator == BOT)
    status = next(own, None)
    if status is None:
        return _waiting(f"no status {CONTEXT} of {BOT}")
    state = {"success": ObservedState.SEEN, "failure": ObservedState.WRONG}.get(status.state, ObservedState.WAITING)
    return Observation(state, printable(f"{status.state}: {status.description}"))


# After a merge


def _officials(github: GitHub, sha: str) -> list[WorkflowRun]:
    """The official runs from a commit's own on, the oldest first: a newer one does what a replaced one was to do."""
    own = [run.id for run in github.runs_of(sha) if run.path.partition("@")[0] == OFFICIAL]
    if not own:
        return []
    runs = github.runs_of_workflow(OFFICIAL.rpartition("/")[2], BASE, RUNS)
    return sorted((run for run in runs if run.id >= min(own)), key=lambda run: run.id)


def official_began(github: GitHub, sha: str) -> Observation:
    """Whether the official run of a commit began."""
    runs = _officials(github, sha)
    return _seen(runs[0].html_url) if runs else _waiting("no run of the workflow official for the merge commit")


def official_ended(github: GitHub, sha: str) -> Observation:
    """Whether an official run from that commit's own on succeeded."""
    runs = _officials(github, sha)
    if good := next((run for run in runs if run.conclusion == "success"), None):
        return _seen(f"success: {good.html_url}")
    if live := next((run for run in reversed(runs) if run.conclusion is None), None):
        return _waiting(f"it runs: {live.html_url}")
    # What GitHub cancelled in favour of a newer run that has not been listed yet is no failure.
    bad = next((run for run in reversed(runs) if run.conclusion not in ("cancelled", "skipped")), None)
    return _wrong(f"{bad.conclusion}: {bad.html_url}") if bad else _waiting("no official run that went on to its end")


def recorded(workplace: WorkingCopy, task: str, name: tuple[str, str], digest: str, runs_page: str) -> Observation:
    """Whether the results branch holds what an official run of this repository measured of exactly this version."""
    tip, records = workplace.records(task, *name)
    own = [(one, verdict) for one in records if (verdict := _verdict(one, name, digest)) is not None]
    if not own:
        return _waiting(f"the branch results holds {len(records)} records of {'/'.join(name)}, none of this version")
    record, verdict = own[-1]
    if not (record.provenance.run_url or "").startswith(f"{runs_page}/"):
        return _wrong(f"{record.path()} names no run of this repository")
    words = f"{record.path()}.json at {tip[:12]}, verdict {verdict.value}"
    if verdict is Verdict.INTERNAL_ERROR:
        return _waiting(words)
    return (_seen if verdict is Verdict.OK else _wrong)(words)


def _verdict(record: Result | Duel, name: tuple[str, str], digest: str) -> Verdict | None:
    """How a version came out in an official record; None where the record is of something else."""
    if record.tier is not Tier.OFFICIAL:
        return None
    sides = (record,) if isinstance(record, Result) else record.players
    own = (one for one in sides if (one.login.casefold(), one.agent) == (name[0].casefold(), name[1]))
    return next((one.verdict for one in own if one.submission_digest == digest), None)


def site_address(github: GitHub) -> str:
    """Where GitHub Pages serves the board, with a `/` at its end.

    Raises:
        CommandError: Pages is off, or serves it without encryption.
    """
    pages = github.setting("/pages") or {}
    address = str(pages.get("html_url") or "")
    if not _ADDRESS.fullmatch(address):
        line = f"Pages names {printable(address) or 'no address'}; an https address is needed: Settings › Pages"
        raise CommandError(SUBMISSION_AT_FAULT, line)
    return address.rstrip("/") + "/"


def _document(fetch: Fetch, site: str, name: tuple[str, str], asked: str) -> tuple[str, dict[str, object]]:
    """What the site's API says of an agent; in words where it says nothing. `asked` passes by what caches keep."""
    address = f"{site}{agent_file(*name)}"
    try:
        status, content = fetch(f"{address}?rehearsal={asked}", PAGE_BYTES)
        document = parse_strict(content) if status == 200 else None
    except CommandError as error:
        return f"{address}: {error}", {}
    except (ValueError, json.JSONDecodeError):
        return f"{address} is no JSON", {}
    return (address, document) if isinstance(document, dict) else (f"{address} answers {status}", {})


def shown(fetch: Fetch, site: str, name: tuple[str, str], digest: str, task: str, asked: str) -> Observation:
    """Whether the deployed site ranks exactly this version."""
    words, document = _document(fetch, site, name, asked)
    tasks = document.get("tasks")
    listed = tasks if isinstance(tasks, list) else []
    own = next((one for one in listed if isinstance(one, dict) and one.get("task") == task), {})
    if document.get("state") != "entered" or document.get("digest") != digest:
        return _waiting(words if not document else f"{words} shows another version")
    if own.get("state") not in ("ranked", "failed"):
        return _waiting(f"{words} shows it without a score")
    place = own.get("place")
    words = f"{words}, {own['state']}" + (f", place {place}" if type(place) is int else "")
    return (_seen if own["state"] == "ranked" else _wrong)(words)


def gone(fetch: Fetch, site: str, name: tuple[str, str], asked: str, *, is_game: bool) -> Observation:
    """Whether the deployed site has it no more, and calls what was recorded a rehearsal."""
    words, document = _document(fetch, site, name, asked)
    if document.get("state") == "withdrawn" and document.get("rehearsal") is True:
        return _seen(f"{words}: withdrawn, a rehearsal")
    # Players that left have no document of their own.
    return (_seen if is_game and words.endswith("answers 404") else _waiting)(words if not document else f"{words}: not yet")


def announced(github: GitHub, number: int, beginning: str) -> Observation:
    """Whether the bot's one comment is the last one: its headline holds this word, and the label says that it is done."""
    count, headline, _ = _comment(github, number)
    if count != 1:
        return _waiting(f"{count} comments of {BOT}")
    has_label = OFFICIAL_LABEL in github.labels(number)
    return (_seen if beginning in headline and has_label else _waiting)(headline if has_label else f"{headline} (no label)")
