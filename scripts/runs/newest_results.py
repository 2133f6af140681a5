"""The newest recorded result of an agent's version on each task, and the episodes in it that are worth a look."""

from collections.abc import Sequence
from pathlib import Path

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from leaderboard.pages.episode_replays import chosen_results
from scripts.console import SUBMISSION_AT_FAULT, USAGE, CommandError
from scripts.repository.checkout import AgentFolder, Checkout


def entry_in(checkout: Checkout, folder: Path) -> AgentFolder:
    """The agent in a folder.

    Raises:
        CommandError: it is none.
    """
    try:
        return checkout.find(folder)
    except LoadError as error:
        raise CommandError(SUBMISSION_AT_FAULT, *error.lines) from error


def newest_results(checkout: Checkout, entry: AgentFolder, tasks: list[str] | None) -> list[tuple[Task, Result]]:
    """The newest result of this version on each task that is played alone, in the challenge's order.

    Raises:
        CommandError: there is none.
    """
    results: list[tuple[Task, Result]] = []
    own = [each for each in checkout.results if each.submission_digest == entry.folder.digest and each.sealed is None]
    for task in checkout.tasks(tasks):
        of_task = [each for each in own if (each.task, each.task_digest) == (task.id, task.digest())]
        if of_task:
            results.append((task, max(of_task, key=lambda each: each.provenance.evaluated_at)))
    if not results:
        raise CommandError(
            SUBMISSION_AT_FAULT, f"{entry.shown}: nothing is recorded of this version; run 'pullrank evaluate {entry.shown}'"
        )
    return results


def episode_number(result: Result, task: Task, wanted: str) -> int:
    """The index of an episode: `best`, `median`, `worst`, or its number.

    Raises:
        CommandError: there is no such episode.
    """
    chosen = dict(chosen_results(result, task))
    if wanted in ("best", "median", "worst") and chosen:
        return chosen.get(wanted, chosen["best"])  # all are equal where one is missing
    if wanted.isdecimal() and int(wanted) < len(result.returns):
        return int(wanted)
    last = len(result.returns) - 1
    known = f"it is best, median, worst or a number from 0 to {last}" if last >= 0 else f"it ended with {result.verdict}"
    raise CommandError(USAGE, f"{task.id} has no episode {wanted[:20]!r}; {known}")


def marked_episodes(result: Result, task: Task, *, every: bool) -> Sequence[tuple[int, str]]:
    """Episodes to list, each with what it is: the best, the median and the worst, or all of them."""
    marks: dict[int, str] = {index: which for which, index in chosen_results(result, task)}
    return [(index, marks.get(index, "")) for index in (range(len(result.returns)) if every else sorted(marks))]
