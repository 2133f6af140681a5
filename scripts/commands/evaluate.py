"""`pullrank evaluate DIR`: play an agent here as its pull request will be played."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from scripts.console import OK, OUR_FAULT, SUBMISSION_AT_FAULT, CommandError, print_json, say
from scripts.repository.checkout import SubmissionEntry, open_checkout
from scripts.runs.eligible_tasks import entered
from scripts.runs.evaluate_missing import Evaluator, evaluate_or_recall, open_evaluator
from scripts.runs.play_duels import DuelRunner, DuelRunOptions, code_of, meet_baselines
from scripts.tables.game_tables import meetings_table
from scripts.tables.standings_tables import evaluation_table


def run(
    folder: Annotated[Path, typer.Argument(help="The agent's folder.", metavar="DIR")],
    task: Annotated[list[str] | None, typer.Option(help="Only this task; may be given again.")] = None,
    sandbox: Annotated[str, typer.Option(help="auto, docker, gvisor or process.")] = "auto",
    out: Annotated[Path | None, typer.Option(help="Where results go; traces go to traces/ beside it.")] = None,
    again: Annotated[bool, typer.Option(help="Play even what is recorded.")] = False,
    challenge: Annotated[Path | None, typer.Option(help="Tasks of another file than challenge.yml.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of results and duels.")] = False,
) -> int:
    """Play an agent with the preview's public seeds: its tasks alone, games against itself and the baselines."""
    board = open_checkout(Path.cwd(), challenge)
    try:
        found = board.find(folder)
        tasks = entered(found, board.tasks(None))
    except LoadError as error:
        raise CommandError(SUBMISSION_AT_FAULT, *error.lines) from error
    if task:
        wanted = {t.id for t in board.tasks(task)}
        tasks = [t for t in tasks if t.id in wanted]
    if not tasks:
        raise CommandError(SUBMISSION_AT_FAULT, f"{folder}: enters none of these tasks; see 'tasks' in its submission.yml")
    store = board.store if out is None else board.store_at(out.resolve())
    bench = open_evaluator(board, sandbox)

    def tell(result: Result, fresh: bool) -> None:
        if not fresh and not as_json:
            say(f"{result.task}: recorded before; --again plays it anew")
        if fresh and result.first_attempt and not as_json:
            why = result.first_attempt.message
            say(f"{result.task}: second attempt, because the first ended before the agent was shown anything: {why}")

    solo = [t for t in tasks if t.game is None]
    results = evaluate_or_recall(bench, found, solo, store, tell, quiet=as_json, again=again)
    games = [t for t in tasks if t.game is not None]
    duels = _play(bench, found, games, DuelRunOptions(store=store, quiet=as_json, again=again))
    if as_json:
        print_json([*(result.document() for result in results), *(duel.document() for duel in duels)])
    if results and not as_json:
        evaluation_table(board.challenge, results)
    if duels and not as_json:
        meetings_table(found, duels, games)
    return max(_code(results), code_of(duels, found))


def _play(bench: Evaluator, found: SubmissionEntry, games: list[Task], terms: DuelRunOptions) -> list[Duel]:
    """The agent's validation in each game, and its duels with the baselines."""
    hall = DuelRunner(bench=bench)
    duels = []
    for task in games:
        for duel, fresh in meet_baselines(hall, found, task, terms):
            duels.append(duel)
            if not fresh and not terms.quiet:
                sides = " – ".join(player.agent for player in duel.players)
                say(f"{task.id}, {sides}: recorded before; --again plays it anew")
    return duels


def _code(results: list[Result]) -> int:
    if any(result.verdict is Verdict.INTERNAL_ERROR for result in results):
        return OUR_FAULT
    return OK if all(result.verdict is Verdict.OK for result in results) else SUBMISSION_AT_FAULT
