"""A board at a moment, as it lies on this disk: when versions came to main, and what the rules make of them."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from evaluator.host.loading.yaml_loader import MAX_BYTES, LoadError, parse_yaml
from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.config.submission import MANIFEST_NAME
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import participant_faults
from leaderboard.planning.admission import AdmissionContext, phase_refusal
from leaderboard.planning.reasons import reason_in_words
from scripts.console import CommandError
from scripts.git.beacon import EXAMPLES, arrived
from scripts.git.git_repository import GitRepository
from scripts.github.workflow.run_context import merge_times
from scripts.repository.checkout import LOCAL, Checkout, SubmissionEntry

_NO_SCRIPTS = "the task {task} takes no scripts; name a task that has 'script' rules in challenge.yml"
_FOR_SCRIPTS = "the task {task} is for scripts; write 'kind: script', or name another task"


def entered(found: SubmissionEntry, tasks: list[Task]) -> list[Task]:
    """The tasks that the agent enters. An example need not enter any: a board has other tasks than the one it came with.

    Raises:
        LoadError: it names a task that there is not, or one that measures another kind of agent.
    """
    submission = found.folder.submission
    known = {task.id for task in tasks}
    if (
        submission.tasks != "all"
        and not is_example(found)
        and (unknown := next((t for t in submission.tasks if t not in known), None))
    ):
        raise LoadError(
            f"{found.shown}/submission.yml: there is no task {unknown!r}; the tasks are {', '.join(sorted(known))}"
        )
    named = [task for task in tasks if submission.tasks != "all" and submission.enters(task.id)]
    other = next((task for task in named if not submission.fits(task)), None)
    if other is not None:
        fault = _FOR_SCRIPTS if other.script else _NO_SCRIPTS
        raise LoadError(f"{found.shown}/submission.yml: {fault.format(task=repr(other.id))}")
    return [task for task in tasks if submission.plays(task)]


def is_example(found: SubmissionEntry) -> bool:
    """Whether the agent came with the repository."""
    return found.login == LOCAL and EXAMPLES in found.path.parts


def gate_of(board: Checkout, entries: Sequence[Entry], now: datetime) -> AdmissionContext:
    """A moment here: git is asked when versions came to main, GitHub is not asked who is a member of what."""
    challenge = board.challenge
    if not (challenge.phases or challenge.quota or challenge.people.one_team_each):
        return AdmissionContext(now=now)
    clone = GitRepository(board.root)
    try:
        main = clone.resolve("HEAD")
        found = (
            arrived(clone, main, {AgentName(entry.login, entry.agent): entry.digest for entry in entries}) if main else {}
        )
    except CommandError:  # No clone: whatever is here comes now.
        found = {}
    return AdmissionContext(now=now, arrived=merge_times(entries, found))


def people_faults(challenge: Challenge, found: SubmissionEntry, folder: str) -> Iterator[str]:
    """What an agent's manifest says of its people that the challenge does not take, each with its line."""
    if found.baseline or challenge.people.is_host(found.login):
        return
    manifest = next(blob.content for blob in found.folder.blobs if blob.path == MANIFEST_NAME)
    _, where = parse_yaml(manifest, MANIFEST_NAME, MAX_BYTES)
    for fault in participant_faults(challenge.people, found.login, found.folder.submission):
        place = fault.place
        while place and place not in where:
            place = place[:-1]
        yield f"{folder}/{MANIFEST_NAME}:{where.get(place, 1)}: {reason_in_words(fault)}"


def refuse_people(board: Checkout, found: SubmissionEntry) -> None:
    """Whether the people of an agent are taken; the examples of the repository have none.

    Raises:
        LoadError: they are not.
    """
    if not found.path.resolve().is_relative_to(board.root.resolve() / EXAMPLES):
        lines = tuple(people_faults(board.challenge, found, found.shown))
        if lines:
            raise LoadError(*lines)


def closed(challenge: Challenge, found: SubmissionEntry, at: datetime) -> Iterator[tuple[Task, str]]:
    """Each task on which a version that came to main at that moment would not count, and why."""
    if found.path.parent.name == EXAMPLES or found.baseline or challenge.people.is_host(found.login):
        return
    for task in challenge.tasks:
        phase = challenge.phase_of(task.id)
        if phase and found.login == LOCAL:  # Nobody knows yet whose it will be.
            phase = phase.model_copy(update={"allow": (), "teams": ()})
        if phase and found.folder.submission.plays(task) and (why := phase_refusal(phase, found.login, at, None)):
            yield task, reason_in_words(why)


def closed_lines(board: Checkout, found: SubmissionEntry, now: datetime | None = None) -> list[str]:
    """The same of a folder on this disk, in words; a version that stands on main came when that says."""
    if not board.challenge.phases:
        return []
    gate = gate_of(board, [found.entry()], now or datetime.now(UTC))
    return [
        f"{found.shown}: not on {task.id}: {why}"
        for task, why in closed(board.challenge, found, gate.arrival(found.entry()))
    ]
