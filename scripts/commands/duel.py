"""`pullrank duel A B`: plays two agents against each other, or validates one against itself."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.duels.rl_arena_format import rl_arena_document
from evaluator.model.config.task import Task
from scripts.console import SUBMISSION_AT_FAULT, USAGE, CommandError, print_json, say
from scripts.options import LocalSandbox, PlayAgain
from scripts.repository.checkout import AgentFolder, Checkout, open_checkout
from scripts.runs.local_evaluator import RunOptions, open_evaluator
from scripts.runs.play_duels import DuelRunner, exit_code, find_player, play_missing_duels
from scripts.terminal.evaluation_tables import duel_table


def run(
    one: Annotated[Path, typer.Argument(help="An agent's folder.", metavar="A")],
    other: Annotated[Path, typer.Argument(help="Its opponent's; the same folder again is its validation.", metavar="B")],
    game: Annotated[str | None, typer.Option(help="Which game, by id or title; may be left out where there is one.")] = None,
    sandbox: LocalSandbox = "auto",
    matches: Annotated[
        int | None, typer.Option(help="Number of matches, instead of the game's own; nothing is recorded then.")
    ] = None,
    again: PlayAgain = False,
    challenge: Annotated[Path | None, typer.Option(help="Games of another file than challenge.yml.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the JSON document that rl-arena has for a duel.")] = False,
) -> int:
    """Play two agents against each other with the preview's public seeds."""
    checkout = open_checkout(Path.cwd(), challenge)
    task = _task(checkout, game)
    sides = find_player(checkout, one, task), find_player(checkout, other, task)
    _check_names(*sides)
    changed_task = _with_matches(task, matches)
    runner = DuelRunner(evaluator=open_evaluator(checkout, sandbox))
    runner.evaluator.check_owners(sides)
    for side in sides:
        runner.evaluator.check_extras(side)
    request = runner.request(*sides, changed_task)
    store = checkout.store if changed_task == task else None
    [(duel, is_new)] = play_missing_duels(runner, [request], RunOptions(store=store, quiet=as_json, again=again))
    first = duel.side_of(sides[0].name)
    if as_json:
        print_json(rl_arena_document(duel, request.game, first), indent=None)  # its states are rows of numbers
        return exit_code([duel])
    if not is_new:
        say("Recorded before; --again plays it anew.")
    duel_table(duel, changed_task, first)
    if store is not None:
        say(f"\nThe duel is in {checkout.store.path_of(duel).relative_to(checkout.root)}.")
    return exit_code([duel])


def _task(checkout: Checkout, game: str | None) -> Task:
    games = checkout.games([game] if game else None)
    if len(games) > 1:
        raise CommandError(USAGE, f"which game? Name one with --game: {', '.join(task.id for task in games)}")
    return games[0]


def _check_names(one: AgentFolder, other: AgentFolder) -> None:
    if one.path.resolve() == other.path.resolve():
        say(f"{one.shown} is named twice: it plays itself, which is its validation.")
    elif one.name == other.name:
        fault = f"{one.shown} and {other.shown}: both are {one.login}/{one.agent}; rename one of the folders"
        raise CommandError(SUBMISSION_AT_FAULT, fault)


def _with_matches(task: Task, matches: int | None) -> Task:
    if matches is None:
        return task
    if matches < 2 or matches % 2 or matches > 10_000:
        raise CommandError(USAGE, f"--matches {matches}: it is an even number from 2 to 10000; each opening has two sides")
    return task.model_copy(update={"matches": matches})
