"""`pullrank tournament`: every wanted duel of the games here, then the ratings."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.model.records.verdict import Verdict
from leaderboard.api.standings_json import game_document
from scripts.console import OK, OUR_FAULT, print_json, say
from scripts.repository.checkout import open_checkout
from scripts.repository.recorded_standings import recorded_standings
from scripts.runs.evaluate_missing import open_evaluator
from scripts.runs.play_duels import DuelRunner, TournamentSummary, play_tournament, players
from scripts.tables.game_tables import game_tables


def run(
    game: Annotated[list[str] | None, typer.Option(help="Only this game; may be given again.")] = None,
    sandbox: Annotated[str, typer.Option(help="auto, docker, gvisor or process.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document.")] = False,
) -> int:
    """Hold the duels that are wanted and not recorded, validations first, and rate the players; a stop loses one duel."""
    board = open_checkout(Path.cwd())
    games = board.games(game)
    hall = DuelRunner(bench=open_evaluator(board, sandbox))
    held = play_tournament(hall, players(board, say), games, quiet=as_json)
    table = recorded_standings(board, official=False, tasks=[task.id for task in games])
    if as_json:
        counts = {"held": len(held.held), "recorded_before": held.recorded, "failed": len(failures(held))}
        print_json({**counts, "games": [game_document(found) for found in table.games]})
    else:
        for found in table.games:
            game_tables(found)
        say(f"\n{summary(held)}")
    return OUR_FAULT if failures(held) else OK


def failures(held: TournamentSummary) -> list[str]:
    """What failed on our side."""
    return [duel.message for duel in held.held if duel.verdict is not Verdict.OK]


def summary(held: TournamentSummary) -> str:
    """What a tournament came to, in a line."""
    matches = sum(len(duel.matches) for duel in held.held)
    failed = failures(held)
    more = f" {len(failed)} failed on our side, the first with: {failed[0]}" if failed else ""
    return f"{len(held.held)} duels of {matches:,} matches held, {held.recorded} recorded before.{more}"
