"""`pullrank field DIR`: the ranks that the data allow an agent against everybody here."""

from pathlib import Path

from scripts.commands.evaluate import exit_code_of, print_places
from scripts.console import OK, say
from scripts.options import AgentArgument, LocalSandbox, OnlyTasks
from scripts.repository.checkout import open_checkout
from scripts.runs.eligible_tasks import find_chosen
from scripts.runs.local_evaluator import RunOptions, evaluate_locally, open_evaluator
from scripts.runs.play_duels import DuelRunner, play_everybody


def run(folder: AgentArgument, task: OnlyTasks = None, sandbox: LocalSandbox = "auto") -> int:
    """Play what is missing, games against every merged agent, and show which ranks the data allow."""
    checkout = open_checkout(Path.cwd())
    entry, tasks = find_chosen(checkout, folder, task)
    evaluator, options = open_evaluator(checkout, sandbox), RunOptions(store=checkout.store, quiet=False)
    evaluator.check_extras(entry)
    games = [each for each in tasks if each.game is not None]
    if games:
        evaluator.check_owners([entry, *checkout.read_all()[0]])
    solo = [(entry, each) for each in tasks if each.game is None]
    results = [result for result, _ in evaluate_locally(evaluator, solo, options)]
    duels = [duel for duel, _ in play_everybody(DuelRunner(evaluator=evaluator), entry, games, options)]
    print_places(checkout, entry, results, duels)
    if exit_code_of(entry, results, duels) != OK:
        say(f"Not everything was played to its end: 'pullrank evaluate {folder}' says why.")
    return exit_code_of(entry, results, duels)
