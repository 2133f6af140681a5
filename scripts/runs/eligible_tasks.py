"""Which tasks an agent may enter: by its manifest, by phases and quotas; and what its manifest may not say."""

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from evaluator.host.loading.submission_folder import assemble
from evaluator.host.loading.yaml_loader import LoadError, nearest_line
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission import SubmissionFile
from evaluator.model.config.task import Task
from evaluator.model.validation_messages import did_you_mean
from leaderboard.core.entry import EXAMPLES_LOGIN, Entry
from leaderboard.core.owners import KeyPath, new_team_faults, participant_faults
from leaderboard.planning.admission_rules import AdmissionContext, phase_refusal
from leaderboard.planning.refusal_reasons import SubmissionsEnded, reason_in_words
from scripts.console import SUBMISSION_AT_FAULT, CommandError
from scripts.git.git_repository import GitRepository
from scripts.git.main_entries import read_entries
from scripts.git.season_commits import final_entries
from scripts.repository.checkout import AgentFolder, Checkout
from scripts.repository.layout import EXAMPLE_AGENTS
from scripts.standings.admission_context import admission_context

_SOLO_TASK = "the task {task} takes no scripts; name a task that has 'script' rules in challenge.yml"
_SCRIPT_TASK = "the task {task} is for scripts; write 'kind: script', or name another task"


def eligible_tasks(challenge: Challenge, entry: AgentFolder) -> list[Task]:
    """The tasks that an agent enters. An example agent may name tasks that this challenge does not have.

    Raises:
        LoadError: it names an unknown task, or a task for another kind of agent.
    """
    submission, tasks = entry.folder.submission, challenge.tasks
    task_ids = {task.id for task in tasks}
    if submission.tasks != "all" and not is_example(entry):
        faults: list[tuple[KeyPath, str]] = [
            (("tasks", index), f"there is no task {name!r}; {did_you_mean(name, sorted(task_ids), 'the tasks are')}")
            for index, name in enumerate(submission.tasks)
            if name not in task_ids
        ]
        if faults:
            raise LoadError(*_with_lines(entry, entry.shown, faults))
    named = [task for task in tasks if submission.tasks != "all" and submission.enters(task.id)]
    other = next((task for task in named if not submission.fits(task)), None)
    if other is not None:
        fault = (_SCRIPT_TASK if other.script else _SOLO_TASK).format(task=repr(other.id))
        raise LoadError(*_with_lines(entry, entry.shown, [(("tasks", submission.tasks.index(other.id)), fault)]))
    return [task for task in tasks if submission.plays(task)]


def find_entering(checkout: Checkout, folder: Path) -> tuple[AgentFolder, list[Task]]:
    """The agent in a folder, and the tasks that it enters.

    Raises:
        CommandError: the folder holds no agent, or one that names a task which it cannot enter.
    """
    try:
        entry = checkout.find(folder)
        return entry, eligible_tasks(checkout.challenge, entry)
    except LoadError as error:
        raise CommandError(SUBMISSION_AT_FAULT, *error.lines) from error


def find_chosen(checkout: Checkout, folder: Path, ids: list[str] | None) -> tuple[AgentFolder, list[Task]]:
    """As `find_entering`, with those of the tasks that have these ids, or all.

    Raises:
        CommandError: also if the agent enters none of them.
    """
    entry, tasks = find_entering(checkout, folder)
    chosen = {task.id for task in checkout.tasks(ids)}
    tasks = [task for task in tasks if task.id in chosen]
    if not tasks:
        raise CommandError(SUBMISSION_AT_FAULT, f"{folder}: enters none of these tasks; see 'tasks' in its submission.yml")
    return entry, tasks


def read_new_agent(
    checkout: Checkout, files: tuple[SubmissionFile, ...], folder: str, on_main: Collection[Entry]
) -> tuple[AgentFolder, list[Task]]:
    """A pull request's agent with the tasks that it enters. `folder`: `submissions/<login>/<agent>`.

    Raises:
        LoadError: it is no agent, or its manifest says what no new one may; each line begins with the folder.
    """
    login, agent = folder.split("/")[1:3]
    try:
        read = assemble(files, checkout.challenge.submissions)
        entry = AgentFolder(login=login, agent=agent, path=checkout.root / folder, folder=read)
        tasks = eligible_tasks(checkout.challenge, entry)
        if faults := (*wording_faults(entry, folder), *people_faults(checkout.challenge, entry, folder, on_main)):
            raise LoadError(*faults)
    except LoadError as error:
        raise LoadError(*(line if line.startswith(folder) else f"{folder}/{line}" for line in error.lines)) from error
    return entry, tasks


def is_example(entry: AgentFolder) -> bool:
    """Whether the agent is in example_agents/."""
    return entry.login == EXAMPLES_LOGIN and EXAMPLE_AGENTS in entry.path.parts


def people_faults(challenge: Challenge, entry: AgentFolder, folder: str, on_main: Collection[Entry] = ()) -> Iterator[str]:
    """Faults in what an agent's manifest says about its authors, each with its line. `on_main`: the agents there."""
    if not (entry.baseline or challenge.people.is_host(entry.login)):
        faults = [
            *participant_faults(challenge.people, entry.login, entry.folder.submission),
            *new_team_faults(challenge.people, entry.entry(), on_main),
        ]
        yield from _with_lines(entry, folder, ((fault.key_path, reason_in_words(fault)) for fault in faults))


def wording_faults(entry: AgentFolder, folder: str) -> Iterator[str]:
    """Names and texts of an agent's manifest that no new agent may have, each with its line."""
    return _with_lines(entry, folder, entry.folder.submission.wording_faults())


def _with_lines(entry: AgentFolder, folder: str, faults: Iterable[tuple[KeyPath, str]]) -> Iterator[str]:
    manifest = entry.folder.manifest
    lines = manifest.lines()
    for place, words in faults:
        yield f"{folder}/{manifest.file}:{nearest_line(lines, place)}: {words}"


def check_people(checkout: Checkout, entry: AgentFolder) -> None:
    """Check what an agent's manifest says about its authors; example agents have none.

    Raises:
        LoadError: the challenge does not accept it.
    """
    if not entry.path.resolve().is_relative_to(checkout.root.resolve() / EXAMPLE_AGENTS):
        faults = tuple(people_faults(checkout.challenge, entry, entry.shown))
        if faults:
            raise LoadError(*faults)


def closed_tasks(challenge: Challenge, entry: AgentFolder, context: AdmissionContext) -> Iterator[tuple[Task, str]]:
    """Each task that does not accept a version, and why; one that is not on main counts as coming to main now."""
    if entry.path.parent.name == EXAMPLE_AGENTS or entry.baseline or challenge.people.is_host(entry.login):
        return
    for task in challenge.tasks:
        phase = challenge.phase_of(task.id)
        if phase and entry.login == EXAMPLES_LOGIN:  # Its owner is not known yet.
            phase = phase.model_copy(update={"allow": (), "teams": ()})
        if (
            phase
            and entry.folder.submission.plays(task)
            and (reason := phase_refusal(phase, entry.login, context.arrival(entry.entry(), task.id), None))
        ):
            yield task, reason_in_words(reason)


def closed_here(checkout: Checkout, entry: AgentFolder) -> dict[str, str]:
    """Each task that this version enters and that does not accept it, and why; one that is on main counts from its merge."""
    challenge = checkout.challenge
    if checkout.has_ended and not _is_final_version(checkout, entry):
        reason = reason_in_words(SubmissionsEnded(challenge.season))
        return {task.id: reason for task in eligible_tasks(challenge, entry)}
    if not challenge.phases:
        return {}
    context = admission_context(checkout, [entry.entry()], datetime.now(UTC))
    return {task.id: reason for task, reason in closed_tasks(challenge, entry, context)}


def closed_task_notes(checkout: Checkout, entry: AgentFolder) -> list[str]:
    """One line for each task that does not accept this version, or one for all if submissions have ended."""
    closed = closed_here(checkout, entry)
    if checkout.has_ended:
        return [f"{entry.shown}: {reason}" for reason in dict.fromkeys(closed.values())]
    return [f"{entry.shown}: not on {task_id}: {reason}" for task_id, reason in closed.items()]


def _is_final_version(checkout: Checkout, entry: AgentFolder) -> bool:
    """Whether a version was on main when submissions ended, or is an example, which is nobody's submission."""
    if is_example(entry):
        return True
    head = GitRepository(checkout.root).resolve("HEAD")
    version = entry.login.casefold(), entry.folder.digest
    return head is not None and version in _final_versions(checkout.root, head, checkout.challenge.season)


@lru_cache(maxsize=1)
def _final_versions(root: Path, head: str, season: str) -> frozenset[tuple[str, str]]:
    """Login and digest of each version on the commit that ended a season's submissions, or on `head` if none is known."""
    checkout = Checkout(root)
    try:
        entries = final_entries(checkout).entries
    except CommandError:  # a shallow clone, or the end is not merged yet
        entries = tuple(read_entries(GitRepository(root), head, checkout.challenge)[0])
    return frozenset((entry.login.casefold(), entry.digest) for entry in entries)
