"""`pullrank evaluate DIR`: plays an agent here as the preview of its pull request would."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from scripts.console import OK, OUR_FAULT, SUBMISSION_AT_FAULT, CommandError, print_json, say
from scripts.options import Jobs, LocalSandbox, OnlyTasks, PlayAgain
from scripts.repository.checkout import AgentFolder, open_checkout
from scripts.runs.eligible_tasks import eligible_tasks
from scripts.runs.local_evaluator import Evaluator, RunOptions, evaluate_locally, open_evaluator
from scripts.runs.parallel_jobs import AUTO, parse_jobs


def run(
    folder: Annotated[Path, typer.Argument(help="The agent's folder.", metavar="DIR")],
    task: OnlyTasks = None,
    sandbox: LocalSandbox = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for results; traces go to traces/ beside it.")] = None,
    again: PlayAgain = False,
    challenge: Annotated[Path | None, typer.Option(help="Another file than challenge.yml to take tasks from.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of results and duels.")] = False,
    jobs: Jobs = AUTO,
) -> int:
    """Play an agent with the preview's public seeds: its tasks alone, games against itself and the baselines."""
    checkout = open_checkout(Path.cwd(), challenge)
    try:
        entry = checkout.find(folder)
        tasks = eligible_tasks(entry, checkout.tasks(None))
    except LoadError as error:
        raise CommandError(SUBMISSION_AT_FAULT, *error.lines) from error
    if task:
        wanted = {each.id for each in checkout.tasks(task)}
        tasks = [each for each in tasks if each.id in wanted]
    if not tasks:
        raise CommandError(SUBMISSION_AT_FAULT, f"{folder}: enters none of these tasks; see 'tasks' in its submission.yml")
    store = checkout.store if out is None else checkout.store_at(out.resolve())
    options = RunOptions(store=store, quiet=as_json, again=again, at_once=parse_jobs(jobs))
    evaluator = open_evaluator(checkout, sandbox)
    results: list[Result] = []
    solo = [(entry, each) for each in tasks if each.game is None]
    for result, is_new in evaluate_locally(evaluator, solo, options):
        results.append(result)
        if not is_new and not as_json:
            say(f"{result.task}: recorded before; --again plays it anew")
        if is_new and result.first_attempt and not as_json:
            reason = result.first_attempt.message
            say(f"{result.task}: second attempt, because the first ended before the agent was shown anything: {reason}")
    order = [each.id for each in tasks]
    results.sort(key=lambda result: order.index(result.task))
    games = [each for each in tasks if each.game is not None]
    duels, duels_code = _play(evaluator, entry, games, options) if games else ([], OK)
    if as_json:
        print_json([*(result.document() for result in results), *(duel.document() for duel in duels)])
    if not as_json:
        from scripts.terminal_tables import evaluation_table, meetings_table  # imported late, as `_play` does

        if results:
            evaluation_table(checkout.challenge, results)
        if duels:
            meetings_table(entry.name, duels, games)
    return max(_solo_exit_code(results), duels_code)


def _play(evaluator: Evaluator, entry: AgentFolder, games: list[Task], options: RunOptions) -> tuple[list[Duel], int]:
    """The agent's validation in each game, its duels with the baselines, and their exit code."""
    # Imported late: an agent that plays alone starts a tenth of a second sooner without games.
    from scripts.runs.play_duels import DuelRunner, exit_code, play_baselines

    duels = []
    for duel, is_new in play_baselines(DuelRunner(evaluator=evaluator), entry, games, options):
        duels.append(duel)
        if not is_new and not options.quiet:
            sides = " – ".join(player.agent for player in duel.players)
            say(f"{duel.task}, {sides}: recorded before; --again plays it anew")
    return duels, exit_code(duels, entry)


def _solo_exit_code(results: list[Result]) -> int:
    if any(result.verdict is Verdict.INTERNAL_ERROR for result in results):
        return OUR_FAULT
    return OK if all(result.verdict is Verdict.OK for result in results) else SUBMISSION_AT_FAULT
