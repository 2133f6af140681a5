"""The note that nothing is missing, so that planning an idle board need not read it whole.

A plan follows from two commits and the evaluator. Publish, which alone may write records, notes these three when it finds
that nothing is left to do; a plan of the same three then has nothing to do. The note is believed for the rest of the day in
which it was written, so that one that is wrong, however it came about, hides work until midnight (UTC) or the next merge at
most.
"""

from datetime import date, datetime

from pydantic import Field

from evaluator.model.base import Frozen
from evaluator.model.config.challenge import Challenge
from evaluator.model.identifiers import Digest
from evaluator.model.records.preview import Sha
from scripts.console import say
from scripts.git.data_branches import read_note, replace_note
from scripts.git.git_repository import GitError
from scripts.github.official.workload import OfficialRun, Workload

PLANNED_BRANCH = "planned"


class NothingMissing(Frozen):
    """planned.json: what a plan that found nothing to do was made from."""

    form: int = Field(default=1, ge=1, le=1)
    """Version of this format."""
    main: Sha
    """The commit of main: agents, rules, history, and the software that plans."""
    results: Sha | None
    """The commit of the results branch; null before the first one."""
    runtime: Digest
    """The evaluator: its runtime digest."""
    day: date
    """When it was planned, in UTC."""


def is_noted(official: OfficialRun, challenge: Challenge, sha: str, results_sha: str) -> bool:
    """Whether nothing was missing at these commits today. Where a phase is for teams, members can change: then never."""
    if _depends_on_members(challenge):
        return False
    note = read_note(official.clone, PLANNED_BRANCH, NothingMissing, "everything is planned")
    return note == _note(official, sha, results_sha, official.plan_context.now)


def note_nothing_missing(official: OfficialRun, work: Workload, results_sha: str, now: datetime) -> bool:
    """Note that nothing is missing, if nothing is: wanted, held back, or still to be asked about. Returns whether it was."""
    if work.items or work.deferred or work.unasked or _depends_on_members(work.challenge):
        return False
    note = _note(official, work.sha, results_sha, now)
    try:
        replace_note(official.clone, PLANNED_BRANCH, note, "plan: nothing is missing", now)
    except GitError as error:  # Records are safe without it, and the next plan takes longer.
        say(f"The branch {PLANNED_BRANCH} was not written: {error}")
        return False
    return True


def _note(official: OfficialRun, sha: str, results_sha: str, now: datetime) -> NothingMissing:
    return NothingMissing(main=sha, results=results_sha or None, runtime=official.runtime_digest, day=now.date())


def _depends_on_members(challenge: Challenge) -> bool:
    return any(phase.teams for phase in challenge.phases)
