"""Which tasks accept a version now: by phases and quotas, with what git knows of its age."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from evaluator.model.config.challenge import Challenge, Task
from leaderboard.core.entry import Entry
from leaderboard.planning.admission import AdmissionContext, phase_refusal, tasks_by_name
from leaderboard.planning.reasons import reason_in_words
from scripts.console import CommandError
from scripts.git.beacon import known_origins
from scripts.git.git_repository import GitRepository
from scripts.github.workflow.plan_context import admission_at
from scripts.repository.checkout import LOCAL, AgentFolder, Checkout
from scripts.repository.layout import EXAMPLE_AGENTS


def admission_context(checkout: Checkout, entries: Sequence[Entry], now: datetime) -> AdmissionContext:
    """What admission depends on, from this clone: git says when versions came to main; team members are not looked up."""
    challenge = checkout.challenge
    if not (challenge.phases or challenge.quota or challenge.people.one_team_each):
        return AdmissionContext(now=now)
    clone = GitRepository(checkout.root)
    try:
        main = clone.resolve("HEAD")
        digests = {entry.spelled_name: entry.digest for entry in entries}
        if main:
            return admission_at(now, known_origins(clone, main, digests, tasks_by_name(challenge, entries)))
    except CommandError:
        pass
    return AdmissionContext(now=now)  # Not a git clone: every version counts as arriving now.


def closed_tasks(challenge: Challenge, entry: AgentFolder, context: AdmissionContext) -> Iterator[tuple[Task, str]]:
    """Each task that does not accept a version, and why; one that is not on main counts as coming to main now."""
    if entry.path.parent.name == EXAMPLE_AGENTS or entry.baseline or challenge.people.is_host(entry.login):
        return
    for task in challenge.tasks:
        phase = challenge.phase_of(task.id)
        if phase and entry.login == LOCAL:  # Its owner is not known yet.
            phase = phase.model_copy(update={"allow": (), "teams": ()})
        if (
            phase
            and entry.folder.submission.plays(task)
            and (reason := phase_refusal(phase, entry.login, context.arrival(entry.entry(), task.id), None))
        ):
            yield task, reason_in_words(reason)


def closed_task_notes(checkout: Checkout, entry: AgentFolder) -> list[str]:
    """One line for each task that does not accept this version; one that is on main counts from its merge."""
    if not checkout.challenge.phases:
        return []
    context = admission_context(checkout, [entry.entry()], datetime.now(UTC))
    return [
        f"{entry.shown}: not on {task.id}: {reason}" for task, reason in closed_tasks(checkout.challenge, entry, context)
    ]
