"""`pullrank tournament`: plays all missing duels and rates the players."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.model.records.verdict import Verdict
from leaderboard.api.game_leaderboards import game_document
from scripts.console import OK, OUR_FAULT, print_json, say
from scripts.options import Jobs, JsonDocument, LocalSandbox
from scripts.repository.checkout import open_checkout
from scripts.runs.local_evaluator import open_evaluator
from scripts.runs.parallel_jobs import AUTO, parse_jobs
from scripts.runs.play_duels import DuelRunner, TournamentSummary, eligible_players, play_tournament
from scripts.standings.recorded_standings import recorded_standings
from scripts.terminal.standings_tables import game_tables


def run(
    game: Annotated[list[str] | None, typer.Option(help="Only this game; may be given again.")] = None,
    sandbox: LocalSandbox = "auto",
    jobs: Jobs = AUTO,
    as_json: JsonDocument = False,
) -> int:
    """Play the duels that are wanted and not recorded, validations first, and rate the players; a stop loses one duel."""
    checkout = open_checkout(Path.cwd())
    games, at_once = checkout.games(game), parse_jobs(jobs)
    runner = DuelRunner(evaluator=open_evaluator(checkout, sandbox))
    players, faults = eligible_players(checkout)
    for line in faults:
        say(line)
    runner.evaluator.check_owners(players)
    summary = play_tournament(runner, players, games, quiet=as_json, at_once=at_once)
    standings = recorded_standings(checkout, official=False, tasks=[task.id for task in games])
    if as_json:
        counts = {"held": len(summary.played), "recorded_before": summary.recorded, "failed": len(failures(summary))}
        print_json({**counts, "games": [game_document(game_standings) for game_standings in standings.games]})
    else:
        for game_standings in standings.games:
            game_tables(game_standings)
        say(f"\n{summary_line(summary)}")
    return OUR_FAULT if failures(summary) else OK


def failures(summary: TournamentSummary) -> list[str]:
    """The messages of duels that failed on our side."""
    return [duel.message for duel in summary.played if duel.verdict is not Verdict.OK]


def summary_line(summary: TournamentSummary) -> str:
    """The tournament in one line."""
    matches = sum(len(duel.matches) for duel in summary.played)
    failed = failures(summary)
    more = f" {len(failed)} failed on our side, the first with: {failed[0]}" if failed else ""
    return f"{len(summary.played)} duels of {matches:,} matches held, {summary.recorded} recorded before.{more}"
