"""Which tasks an agent may enter by its manifest, and what its manifest may not say."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from evaluator.host.loading.yaml_loader import LoadError, nearest_line
from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.suggestion import did_you_mean
from leaderboard.core.owners import Place, participant_faults
from leaderboard.planning.reasons import reason_in_words
from scripts.console import SUBMISSION_AT_FAULT, CommandError
from scripts.repository.checkout import LOCAL, AgentFolder, Checkout
from scripts.repository.layout import EXAMPLE_AGENTS

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
        faults: list[tuple[Place, str]] = [
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
    wanted = {task.id for task in checkout.tasks(ids)}
    tasks = [task for task in tasks if task.id in wanted]
    if not tasks:
        raise CommandError(SUBMISSION_AT_FAULT, f"{folder}: enters none of these tasks; see 'tasks' in its submission.yml")
    return entry, tasks


def is_example(entry: AgentFolder) -> bool:
    """Whether the agent is in example_agents/."""
    return entry.login == LOCAL and EXAMPLE_AGENTS in entry.path.parts


def people_faults(challenge: Challenge, entry: AgentFolder, folder: str) -> Iterator[str]:
    """Faults in what an agent's manifest says about its authors, each with its line."""
    if not (entry.baseline or challenge.people.is_host(entry.login)):
        faults = participant_faults(challenge.people, entry.login, entry.folder.submission)
        yield from _with_lines(entry, folder, ((fault.place, reason_in_words(fault)) for fault in faults))


def wording_faults(entry: AgentFolder, folder: str) -> Iterator[str]:
    """Names and texts of an agent's manifest that no new agent may have, each with its line."""
    return _with_lines(entry, folder, entry.folder.submission.wording_faults())


def _with_lines(entry: AgentFolder, folder: str, faults: Iterable[tuple[Place, str]]) -> Iterator[str]:
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
