"""`pullrank duel A B`: two agents in a game, or one against itself as its validation."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.duels.rl_arena_format import rl_arena_document
from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Side
from scripts.console import SUBMISSION_AT_FAULT, USAGE, CommandError, print_json, say
from scripts.repository.checkout import Checkout, SubmissionEntry, open_checkout
from scripts.runs.evaluate_missing import open_evaluator
from scripts.runs.play_duels import DuelRunner, DuelRunOptions, code_of, find_player, play_or_recall
from scripts.tables.game_tables import duel_table


def run(
    one: Annotated[Path, typer.Argument(help="An agent's folder.", metavar="A")],
    other: Annotated[Path, typer.Argument(help="Its opponent's; the same folder again is its validation.", metavar="B")],
    game: Annotated[str | None, typer.Option(help="Which game; may be left out where there is one.")] = None,
    sandbox: Annotated[str, typer.Option(help="auto, docker, gvisor or process.")] = "auto",
    matches: Annotated[int | None, typer.Option(help="As many instead of the game's own; nothing is recorded then.")] = None,
    again: Annotated[bool, typer.Option(help="Play even what is recorded.")] = False,
    challenge: Annotated[Path | None, typer.Option(help="Games of another file than challenge.yml.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the JSON rl_arena_document that rl-arena has for a duel.")
    ] = False,
) -> int:
    """Play two agents against each other with the preview's public seeds."""
    board = open_checkout(Path.cwd(), challenge)
    task = _task(board, game)
    sides = find_player(board, one, task), find_player(board, other, task)
    _check_names(*sides)
    own = _with_matches(task, matches)
    hall = DuelRunner(bench=open_evaluator(board, sandbox))
    order = hall.order(*sides, own)
    store = board.store if own == task else None
    duel, fresh = play_or_recall(hall, order, DuelRunOptions(store=store, quiet=as_json, again=again))
    first: Side = 0 if duel.players[0].name == sides[0].name else 1
    if as_json:
        print_json(rl_arena_document(duel, order.game, first), indent=None)  # its states are rows of numbers
        return code_of([duel])
    if not fresh:
        say("Recorded before; --again plays it anew.")
    duel_table(duel, own, first)
    if store is not None:
        say(f"\nThe duel is in {board.store.duel_path_of(duel).relative_to(board.root)}.")
    return code_of([duel])


def _task(board: Checkout, game: str | None) -> Task:
    games = board.games([game] if game else None)
    if len(games) > 1:
        raise CommandError(USAGE, f"which game? Name one with --game: {', '.join(task.id for task in games)}")
    return games[0]


def _check_names(one: SubmissionEntry, other: SubmissionEntry) -> None:
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
