"""`pullrank bot report`: a preview run has moved, and its pull request is told. The head is never checked out or run."""

import io
import zipfile
from dataclasses import dataclass, replace

from leaderboard.comments.states import Reason
from leaderboard.preview.hypothetical_standings import preview_state
from scripts.bot.artifact import BROKEN, LOG, LOG_BYTES, ZIP_BYTES, ArtifactError, read_artifact
from scripts.bot.desk import BASE, Desk, deliver, guarded
from scripts.bot.duel_claims import duel_fault
from scripts.bot.event import workflow_run_id
from scripts.bot.mapping import Pull, Run, find_pull
from scripts.bot.outcomes import Outcome, broken, no_run, previewed, refused, running, without_agent
from scripts.bot.season_words import outlook
from scripts.bot.verified import DISPATCH, asked_pull
from scripts.console import OK, say
from scripts.git.path_guard import Guarded

ARTIFACT = "preview"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run and the pull request that it speaks for."""

    run: Run
    """The preview's run."""
    pull: Pull
    """The pull request, at the commit that was played."""
    trusted: bool
    """Whether the run is of main's own workflow, which no pull request can change."""


def run(desk: Desk) -> int:
    """Tell the pull request of the run that triggered this one; nobody, if it speaks for none."""
    case = _dispatched(desk) if desk.surroundings.event_name == DISPATCH else _triggered(desk)
    if isinstance(case, str):
        say(f"Nobody is told: {case}.")
        return OK
    deliver(desk, case.pull, case.run.id, decide(desk, case))
    return OK


def _triggered(desk: Desk) -> Case | str:
    """The case of a `workflow_run` event: by fields that GitHub's servers wrote."""
    found = desk.github.run(workflow_run_id(desk.surroundings))
    candidates = desk.github.open_pulls(head=f"{found.head_owner}:{found.head_branch}") if found.head_owner else []
    pull = find_pull(found, candidates, desk.surroundings.repository_id, BASE)
    return pull if isinstance(pull, str) else Case(run=found, pull=pull, trusted=False)


def _dispatched(desk: Desk) -> Case | str:
    """The case of a verified run: whoever may dispatch main's workflow named the pull request and the commit."""
    pull = asked_pull(desk.surroundings, desk.github, BASE)
    return pull if isinstance(pull, str) else Case(run=desk.github.run(desk.surroundings.run_id), pull=pull, trusted=True)


def latest_run(desk: Desk, pull: Pull) -> Run | None:
    """The latest preview run on the pull request's newest commit."""
    ours = desk.surroundings.repository_id
    fitting = [run for run in desk.github.runs_of(pull.head_sha) if isinstance(find_pull(run, [pull], ours, BASE), Pull)]
    return max(fitting, key=lambda run: run.id, default=None)


def decide(desk: Desk, case: Case) -> Outcome:
    """What the pull request is told of a run on its newest commit."""
    judged = judge(desk, case)
    return judged if isinstance(judged, Outcome) else scored(desk, case, judged)


def judge(desk: Desk, case: Case) -> Outcome | Guarded:
    """What can be told without the preview's results, which is cheap; else what the commit may count as."""
    if case.run.conclusion is None and not case.trusted:
        return running(case.run)
    if case.run.conclusion == "action_required":
        return no_run(case.pull, Reason.WAITING, case.run.html_url)
    found = guarded(desk, case.pull)
    if not found.is_clean:
        return refused(case.pull, found, case.run.html_url)
    if not found.agents:
        return without_agent(case.pull, found)
    if case.run.conclusion != "success" and not case.trusted:
        return _broken(desk, case, f"the preview run ended as '{case.run.conclusion}'")
    return found


def scored(desk: Desk, case: Case, found: Guarded) -> Outcome:
    """What the preview's results say of a commit that may be believed."""
    content = desk.github.artifact(case.run.id, ARTIFACT, ZIP_BYTES)
    if content is None:
        return _broken(desk, case, "the preview run left no artifact")
    try:
        preview = read_artifact(content)
    except ArtifactError as error:
        return _broken(desk, case, str(error))
    if preview.head_sha != case.pull.head_sha:
        return _broken(desk, case, "the preview run played another commit")
    if {f"submissions/{agent.login}/{agent.agent}" for agent in preview.agents} - set(found.agents):
        return _broken(desk, case, "the preview run played an agent that this pull request does not change")
    known = {task.id for task in desk.board.challenge.solo_tasks}
    if any(result.task not in known for agent in preview.agents for result in agent.results):
        return _broken(desk, case, "the preview run played a task that the board does not have")
    if fault := duel_fault(desk, preview, case.pull.author_id):
        return _broken(desk, case, fault)
    removed = tuple(path.removeprefix("submissions/") for path in found.removed)
    state = preview_state(preview, desk.recorded, run_url=case.run.html_url, removed=removed, log=_log(content))
    logins = [agent.login for agent in preview.agents]
    return previewed(replace(state, rules=outlook(desk.recorded, logins, desk.now, desk.is_member)))


def _broken(desk: Desk, case: Case, reason: str) -> Outcome:
    return broken(case.run, reason, desk.github.attempts(case.run.id))


def _log(content: bytes) -> str:
    """The text of preview.log in an artifact that was found sound; a log that cannot be read is no reason to say nothing."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if LOG not in archive.namelist():
                return ""
            with archive.open(LOG) as file:
                return file.read(LOG_BYTES).decode("utf-8", "replace")
    except BROKEN:
        return ""
