"""What is recorded of an agent's version: its newest results, its matches, and which of them are worth a look."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.pages.episode_replays import chosen_episodes
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


def newest_results(
    checkout: Checkout, entry: AgentFolder, tasks: list[str] | None, *, may_be_none: bool = False
) -> list[tuple[Task, Result]]:
    """The newest result of this version on each task that is played alone, in the challenge's order.

    Raises:
        CommandError: there is none.
    """
    results: list[tuple[Task, Result]] = []
    of_version = [each for each in checkout.results if each.submission_digest == entry.folder.digest and each.sealed is None]
    for task in checkout.tasks(tasks):
        of_task = [each for each in of_version if (each.task, each.task_digest) == (task.id, task.digest())]
        if of_task:
            results.append((task, max(of_task, key=lambda each: each.provenance.evaluated_at)))
    if not results and not may_be_none:
        raise CommandError(
            SUBMISSION_AT_FAULT, f"{entry.shown}: nothing is recorded of this version; run 'pullrank evaluate {entry.shown}'"
        )
    return results


def duels_of(checkout: Checkout, entry: AgentFolder, tasks: list[str] | None) -> list[Duel]:
    """The recorded duels of this version, also those that failed, in the challenge's order and the newest first."""
    games = [(task.id, task.digest()) for task in checkout.tasks(tasks) if task.game is not None]
    duels = [
        duel
        for duel in checkout.duels
        if (duel.task, duel.task_digest) in games
        and any((each.name, each.submission_digest) == (entry.name, entry.folder.digest) for each in duel.players)
    ]
    newest = sorted(duels, key=lambda duel: duel.provenance.evaluated_at, reverse=True)
    return sorted(newest, key=lambda duel: games.index((duel.task, duel.task_digest)))


def episode_number(result: Result, task: Task, choice: str) -> int:
    """The index of an episode: `best`, `median`, `worst`, or its number.

    Raises:
        CommandError: there is no such episode.
    """
    chosen = dict(chosen_episodes(result, task))
    if choice in ("best", "median", "worst") and chosen:
        return chosen.get(choice, chosen["best"])  # all are equal where one is missing
    if choice.isdecimal() and int(choice) < len(result.returns):
        return int(choice)
    last = len(result.returns) - 1
    choices = f"it is best, median, worst or a number from 0 to {last}" if last >= 0 else f"it ended with {result.verdict}"
    raise CommandError(USAGE, f"{task.id} has no episode {choice[:20]!r}; {choices}")


def marked_episodes(result: Result, task: Task, *, every: bool) -> Sequence[tuple[int, str]]:
    """Episodes to list, each with what it is: the best, the median and the worst, or all of them."""
    marks: dict[int, str] = {index: which for which, index in chosen_episodes(result, task)}
    return [(index, marks.get(index, "")) for index in (range(len(result.returns)) if every else sorted(marks))]


@dataclass(frozen=True, kw_only=True)
class OwnMatch:
    """A recorded match of an agent."""

    duel: Duel
    index: int
    points: float
    """1 for a win of the agent, 0.5 for a draw, 0 for a loss."""


def match_tasks(checkout: Checkout, entry: AgentFolder) -> list[Task]:
    """The games of which matches of this version are recorded."""
    return [task for task in checkout.challenge.games if _duels(checkout, entry, task)]


def choose_match(checkout: Checkout, entry: AgentFolder, task: Task, opponent: AgentFolder | None, choice: str) -> OwnMatch:
    """A match of this version: `best`, `median` or `worst` for it, or its number in the newest duel.

    Without an opponent the matches with all others are looked at, or those with itself where there are no others.

    Raises:
        CommandError: there is no such match.
    """
    duels = _duels(checkout, entry, task)
    if opponent is None:
        duels = [duel for duel in duels if not duel.is_validation] or duels
    else:
        pair = sorted([entry.name, opponent.name])
        duels = [duel for duel in duels if sorted(player.name for player in duel.players) == pair]
    if not duels:
        way = f"duel {entry.shown} {opponent.shown} --game {task.id}" if opponent else f"evaluate {entry.shown}"
        raise CommandError(
            SUBMISSION_AT_FAULT, f"{entry.shown}: no match of {task.id} is recorded of this version; run 'pullrank {way}'"
        )
    matches = [match for duel in duels for match in _own_matches(duel, entry)]
    by_points = sorted(matches, key=lambda match: match.points)
    named = {"worst": by_points[0], "median": by_points[len(by_points) // 2], "best": by_points[-1]}
    if choice in named:
        return next(match for match in matches if match.points == named[choice].points)
    count = len(duels[0].matches)
    if choice.isdecimal() and int(choice) < count:
        return matches[int(choice)]
    choices = f"it is best, median, worst or a number from 0 to {count - 1}"
    raise CommandError(USAGE, f"{task.id} has no match {choice[:20]!r}; {choices}")


def _duels(checkout: Checkout, entry: AgentFolder, task: Task) -> list[Duel]:
    """The duels of this version that were played to their end, the newest first."""
    return [duel for duel in duels_of(checkout, entry, [task.id]) if duel.verdict is Verdict.OK]


def _own_matches(duel: Duel, entry: AgentFolder) -> list[OwnMatch]:
    side = duel.side_of(entry.name)
    return [
        OwnMatch(
            duel=duel, index=index,
            points=float(match.winner == side) if match.winner is not None or match.offenders else 0.5,
        )
        for index, match in enumerate(duel.matches)
    ]  # fmt: skip
