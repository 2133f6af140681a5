"""What is wrong with the files that a host writes: challenge.yml, its tasks, played for a moment, and moderation.yml."""

from collections.abc import Iterator

from evaluator.host.loading.yaml_loader import MAX_CHALLENGE_BYTES, nearest_line, parse_yaml
from evaluator.model.config.challenge import Challenge
from evaluator.model.validation_messages import nearest
from leaderboard.core.owners import KeyPath
from leaderboard.text.urls import SITE_PAGES
from scripts.console import CommandError
from scripts.repository.checkout import Checkout
from scripts.repository.layout import EXAMPLE_AGENTS, SUBMISSIONS


def check_challenge(checkout: Checkout) -> tuple[list[str], list[str]]:
    """Lines for people about what a host wrote: faults and notes. A host's own code is imported and played."""
    challenge = checkout.challenge  # first, since it refuses a broken file in its own words
    path = checkout.root / "challenge.yml"
    document, lines = parse_yaml(path.read_bytes(), path.name, MAX_CHALLENGE_BYTES)
    notes: list[str] = []
    faults = [*_unknown_agents(checkout, document), *_missing_terms(checkout), *_task_faults(challenge, notes)]
    without = [task.id for task in challenge.solo_tasks if not (task.random and task.reference)]
    if without:
        notes.append(
            f"{path.name}: without both 'random' and 'reference', not part of the overall leaderboard: {', '.join(without)}."
        )
    wrong = [f"{path.name}:{nearest_line(lines, place)}: {fault}" for place, fault in faults]
    try:
        checkout.moderation  # noqa: B018  (official runs and builds of the site read it, and stop at a fault)
    except CommandError as error:
        wrong += str(error).splitlines()
    return wrong, notes


def _missing_terms(checkout: Checkout) -> Iterator[tuple[KeyPath, str]]:
    """Terms that are no web address and no file here: nobody could read what they accept."""
    terms = checkout.challenge.people.terms
    if terms is None or terms.startswith(("https://", "http://")) or (checkout.root / terms).is_file():
        return
    page = f"{SITE_PAGES}{terms}"
    meant = f"; did you mean '{page}'?" if (checkout.root / page).is_file() else "; add it, or write a web address"
    yield ("people", "terms"), f"there is no file {terms!r}{meant}"


def _unknown_agents(checkout: Checkout, document: dict[str, object]) -> Iterator[tuple[KeyPath, str]]:
    """Baselines and anchors that are no folder here; the default of 'baselines' need not be there."""
    challenge = checkout.challenge
    named: list[tuple[KeyPath, str]] = []
    if "baselines" in document:
        named += [(("baselines", index), name) for index, name in enumerate(challenge.baselines)]
    named += [(("tasks", index, "anchor"), task.anchor) for index, task in enumerate(challenge.tasks) if task.anchor]
    agents = {
        "/".join(path.parts[-1:] if path.parent.name == EXAMPLE_AGENTS else path.parts[-2:]).casefold()
        for path in checkout.folders
    }
    for place, name in named:
        if name.casefold() not in agents:
            folder = f"{SUBMISSIONS}/{name}" if "/" in name else f"{EXAMPLE_AGENTS}/{name}"
            near = nearest(name, agents)
            meant = f"did you mean '{near}'? Else " if near else ""
            yield place, f"there is no agent {name!r}; {meant}add {folder}, or remove the name"


def _task_faults(challenge: Challenge, notes: list[str]) -> Iterator[tuple[KeyPath, str]]:
    from evaluator.host.envs.check_task import task_faults  # imported late: gymnasium is slow

    for index, task in enumerate(challenge.tasks):
        try:
            for fault in task_faults(task):
                if fault.is_note:
                    notes.append(f"challenge.yml: task {task.id}: {fault.text}.")
                    continue
                named = fault.text.startswith((f"task {task.id}: ", f"task {task.id} "))
                key = (fault.key,) if fault.number is None else (fault.key, fault.number)
                yield ("tasks", index, *key), fault.text if named else f"task {task.id}: {fault.text}"
        except ModuleNotFoundError as error:
            notes.append(
                f"challenge.yml: task {task.id} was not played: {error} is not installed here; 'make {error}' installs it."
            )
