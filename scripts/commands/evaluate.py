"""`pullrank evaluate DIR`: plays an agent here as the preview of its pull request would."""

import importlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.digests.runtime_digest import runtime_digest
from evaluator.host.sandboxes.select_sandbox import process_sandbox
from evaluator.model.config.submission import SubmissionKind
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import without_retry
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import EXAMPLES_LOGIN
from leaderboard.core.store import ResultStore
from scripts.console import OK, OUR_FAULT, SUBMISSION_AT_FAULT, USAGE, CommandError, print_json, say
from scripts.options import AgentArgument, Jobs, LocalSandbox, OnlyTasks, PlayAgain
from scripts.repository.checkout import AgentFolder, Checkout, open_checkout
from scripts.runs.eligible_tasks import closed_here, closed_task_notes, eligible_tasks, find_chosen
from scripts.runs.local_evaluator import Evaluator, RunOptions, ended_in_words, evaluate_locally, open_evaluator
from scripts.runs.parallel_jobs import AUTO, parse_jobs


def run(
    folder: AgentArgument,
    task: OnlyTasks = None,
    sandbox: LocalSandbox = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for results; traces go to traces/ beside it.")] = None,
    again: PlayAgain = False,
    challenge: Annotated[Path | None, typer.Option(help="Another file than challenge.yml to take tasks from.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of results and duels.")] = False,
    episodes: Annotated[int, typer.Option(min=0, help="Only that many, in this process; nothing is recorded.")] = 0,
    log: Annotated[bool, typer.Option("--log", help="Show what it prints as it comes; in this process.")] = False,
    pdb: Annotated[
        bool, typer.Option("--pdb", help="Open the debugger where it fails; all episodes, in this process.")
    ] = False,
    jobs: Jobs = AUTO,
) -> int:
    """Play an agent with the preview's public seeds: its tasks alone, games against itself and the baselines."""
    checkout = open_checkout(Path.cwd(), challenge)
    entry, tasks = find_chosen(checkout, folder, task)
    if episodes or log or pdb:
        if sandbox not in ("auto", "process"):
            words = "--episodes, --log and --pdb run the agent in this process"
            raise CommandError(USAGE, f"{words}, not in {sandbox}; leave out --sandbox where the code is your own")
        # The debugger is for a failure, which may come late.
        count = episodes or (None if pdb else DEBUGGED_EPISODES)
        return _debug(checkout, entry, tasks, count, log=log, pdb=pdb)
    here = out is None and challenge is None
    store = checkout.store if out is None else ResultStore(results=out.resolve(), traces=out.resolve().parent / "traces")
    options = RunOptions(
        store=store, quiet=as_json, again=again, at_once=parse_jobs(jobs),
        meanwhile=(lambda: None) if as_json else partial(_import_tables, places=here),
    )  # fmt: skip
    evaluator = open_evaluator(checkout, sandbox)
    evaluator.check_extras(entry)
    results = _evaluate(evaluator, entry, [each for each in tasks if each.game is None], options)
    games = [each for each in tasks if each.game is not None]
    duels = _play(evaluator, entry, games, options) if games else []
    if as_json:
        print_json([*(result.document() for result in results), *(duel.document() for duel in duels)])
        return exit_code_of(entry, results, duels)
    _print_tables(checkout, entry, results, duels)
    code = exit_code_of(entry, results, duels)
    if here:
        closed = print_places(checkout, entry, results, duels)
        if code == OK and entry.login != EXAMPLES_LOGIN and not closed.issuperset(task.id for task in tasks):
            say(f"Next: pullrank ready {entry.shown}")
    return code


def _evaluate(evaluator: Evaluator, entry: AgentFolder, tasks: list[Task], options: RunOptions) -> list[Result]:
    """The results of tasks for one agent, in the order of the tasks."""
    results: dict[str, Result] = {}
    for result, is_new in evaluate_locally(evaluator, [(entry, task) for task in tasks], options):
        results[result.task] = result
        if not options.quiet:
            _say_result(result, is_new=is_new, is_only=len(tasks) == 1)
    return [results[task.id] for task in tasks if task.id in results]


def _import_tables(*, places: bool) -> None:
    """Import what prints a result: a tenth of a second, in which the evaluation waits for the sandbox's start anyway."""
    importlib.import_module("scripts.terminal.evaluation_tables")
    if places:
        importlib.import_module("scripts.standings.expected_place")


def _print_tables(checkout: Checkout, entry: AgentFolder, results: list[Result], duels: list[Duel]) -> None:
    # Imported late, as `_play` does.
    from scripts.terminal.evaluation_tables import duels_table, evaluation_table

    if results:
        evaluation_table(checkout.challenge, results)
    if duels:
        duels_table(entry.name, duels, [task for task in checkout.challenge.tasks if task.game is not None])


def _say_result(result: Result, *, is_new: bool, is_only: bool) -> None:
    if not is_new:
        say(f"{result.task}: recorded before; --again plays it anew")
    elif result.first_attempt:
        reason = without_retry(result.first_attempt.message)
        say(f"{result.task}: second attempt, because the first ended before the agent was shown anything: {reason}")
    if is_new and result.continued_after:
        counts = ", ".join(map(str, result.continued_after))
        say(f"{result.task}: interrupted, and continued after {counts} of its episodes; --again plays all of them anew")
    # For whoever waits for the others; the table says it all in the end.
    if is_new and not is_only and sys.stderr.isatty():
        say(f"{result.task}: {ended_in_words(result)}")


def print_places(checkout: Checkout, entry: AgentFolder, results: list[Result], duels: list[Duel]) -> set[str]:
    """Print the end of an evaluation, with the recorded results that there are; returns the tasks that are closed to it."""
    # Imported late, as `_play` does.
    from scripts.standings.expected_place import expected_comment, narrower_tasks, recorded_here, with_recorded
    from scripts.terminal.evaluation_tables import expected_places

    recorded, official = recorded_here(with_recorded(checkout))
    closed = closed_here(checkout, entry)
    state = expected_comment(recorded, entry, results, duels, closed)
    is_policy = entry.folder.submission.kind is SubmissionKind.POLICY
    in_clone = (checkout.root / "challenge.yml").is_file()
    debugger = None
    if is_policy:
        several = len(eligible_tasks(checkout.challenge, entry)) > 1
        debugger = f"pullrank evaluate {entry.shown}{' --task {task}' if several else ''} --pdb"
    expected_places(state, official=official, in_clone=in_clone, debugger=debugger)
    if question := narrower_tasks(entry, state.agents[0]):
        say(question)
    for line in closed_task_notes(checkout, entry):
        say(line)
    return set(closed)


DEBUGGED_EPISODES = 5


def _debug(checkout: Checkout, entry: AgentFolder, tasks: list[Task], episodes: int | None, *, log: bool, pdb: bool) -> int:
    """Play the first task's first episodes, or a game's first matches, in this process; nothing is recorded. None: all."""
    task = next((each for each in tasks if each.script is None), None)
    if task is None or entry.folder.submission.kind is not SubmissionKind.POLICY:
        words = "--episodes, --log and --pdb are for policies; of scripts and images 'pullrank show' has the log"
        raise CommandError(USAGE, words)
    # Imported late: it imports the sandbox's side.
    from scripts.runs.debug_agent import DebuggedFault, agent_output

    alone = "" if task.game is None else ", against itself"
    say(
        f"{task.id}{alone}, in this process without a sandbox: for your own code only. "
        "Nothing is recorded, and it never ranks."
    )
    sandbox = process_sandbox()
    evaluator = Evaluator(checkout=checkout, sandbox=sandbox, runtime_digest=runtime_digest(sandbox.base))
    lines, played = _debugged_episodes if task.game is None else _debugged_matches, 0
    try:
        with agent_output(shown=log):
            for line in lines(evaluator, entry, task, episodes):
                print(line, file=sys.__stdout__, flush=True)
                played += 1
    except DebuggedFault as fault:
        say(f"{fault}\n{fault.trace}" if fault.trace else str(fault))
        if pdb and fault.frames is not None:
            importlib.import_module("pdb").post_mortem(fault.frames)
        return SUBMISSION_AT_FAULT
    if pdb:
        units = "episodes" if task.game is None else "matches"
        say(f"Nothing failed in {played} {units}. In the sandbox many are played side by side, and under limits.")
    return OK


def _debugged_episodes(evaluator: Evaluator, entry: AgentFolder, task: Task, count: int | None) -> Iterator[str]:
    from scripts.runs.debug_agent import play_here  # imported late, as in `_debug`

    for spec, played in play_here(evaluator.request(entry, task), entry.path, count):
        yield f"episode {spec.index}: return {played.total:g} in {played.length} steps, seed {spec.seed}"


def _debugged_matches(evaluator: Evaluator, entry: AgentFolder, task: Task, count: int | None) -> Iterator[str]:
    # Imported late, as in `_debug`.
    from scripts.runs.debug_agent import play_match_here
    from scripts.runs.play_duels import DuelRunner

    request = DuelRunner(evaluator=evaluator).request(entry, entry, task)
    for match in play_match_here(request, entry.path, count):
        winner = "draw" if match.winner is None else f"side {match.winner} wins"
        yield f"match {match.index}: {winner} after {len(match.moves)} moves: {' '.join(map(str, match.moves))}"


def _play(evaluator: Evaluator, entry: AgentFolder, games: list[Task], options: RunOptions) -> list[Duel]:
    """The agent's validation in each game, and its duels with the baselines."""
    # Imported late: an agent that plays alone starts a tenth of a second sooner without games.
    from scripts.runs.play_duels import DuelRunner, play_baselines

    duels = []
    for duel, is_new in play_baselines(DuelRunner(evaluator=evaluator), entry, games, options):
        duels.append(duel)
        if not is_new and not options.quiet:
            sides = " – ".join(player.agent for player in duel.players)
            say(f"{duel.task}, {sides}: recorded before; --again plays it anew")
    return duels


def exit_code_of(entry: AgentFolder, results: list[Result], duels: list[Duel]) -> int:
    """The exit code: whose fault it is that something was not played to its end."""
    if any(result.verdict is Verdict.INTERNAL_ERROR for result in results):
        return OUR_FAULT
    solo = OK if all(result.verdict is Verdict.OK for result in results) else SUBMISSION_AT_FAULT
    if not duels:
        return solo
    from scripts.runs.play_duels import exit_code  # imported late, as in `_play`

    return max(solo, exit_code(duels, entry))
