"""Which tasks an agent enters, and whether it came with the repository."""

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.challenge import Task
from scripts.git.beacon import EXAMPLES
from scripts.repository.checkout import LOCAL, Found

_NO_SCRIPTS = "the task {task} takes no scripts; name a task that has 'script' rules in challenge.yml"
_FOR_SCRIPTS = "the task {task} is for scripts; write 'kind: script', or name another task"


def entered(found: Found, tasks: list[Task]) -> list[Task]:
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


def is_example(found: Found) -> bool:
    """Whether the agent came with the repository."""
    return found.login == LOCAL and EXAMPLES in found.path.parts
