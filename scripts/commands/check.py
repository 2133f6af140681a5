"""`pullrank check DIR`: whether a folder is a submission, without running any of it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission import OF_MODELS, SubmissionKind
from evaluator.model.identifiers import ENDING_RULE, is_named_like_a_file
from scripts.console import OK, SUBMISSION_AT_FAULT, CommandError, print_json, say
from scripts.repository.checkout import SubmissionEntry, open_checkout
from scripts.runs.check_image import check_image, digest_advice
from scripts.runs.eligible_tasks import closed_lines, entered, is_example, refuse_people

# Parsing hostile source can exhaust the parser's stack, so another process does it.
_COMPILE = """
import ast, sys
name, wanted, missing = sys.argv[1:]
try:
    tree = ast.parse(sys.stdin.buffer.read(), name)
except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
    sys.exit(f"{name}:{getattr(error, 'lineno', None) or 1}: {getattr(error, 'msg', error)}; correct the syntax")
names = {getattr(node, "name", None) or getattr(alias, "asname", None) or getattr(alias, "name", None)
         for node in tree.body for alias in getattr(node, "names", [None])}
targets = {target.id for node in tree.body if isinstance(node, ast.Assign)
           for target in node.targets if isinstance(target, ast.Name)}
if wanted and wanted not in names | targets:
    sys.exit(f"{name}:1: {missing}")
"""
# What the file of an agent must define, by its adapter, and what to do where it does not.
_DEFINES = {
    None: ("Agent", "defines no class Agent; write 'class Agent' with a method act(self, observation)"),
    "rl-arena": ("Player", "defines no class Player; rl-arena's players are a class of that name with start, step and end"),
}


def run(
    folders: Annotated[list[Path] | None, typer.Argument(help="Agents' folders; none checks the challenge and all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of findings.")] = False,
) -> int:
    """Check folders, or the challenge and every agent of the board."""
    board = open_checkout(Path.cwd())
    known = list(board.challenge.tasks)
    faults: list[str] = [] if folders else list(_budget_faults(board.challenge))
    notes: list[str] = []
    checked = folders or board.folders
    idle = 0
    for folder in checked:
        try:
            found = board.find(folder)
            if is_named_like_a_file(found.agent):
                raise LoadError(f"{folder}: {ENDING_RULE}")
            idle += not entered(found, known) and is_example(found)
            refuse_people(board, found)
            notes += closed_lines(board, found)
            check_source(found)
            check_image(found)
        except LoadError as error:
            faults.extend([*error.lines, *digest_advice(folder, error.lines)])
    if idle:
        notes.append(f"example_agents: {idle} of them play none of this board's tasks, so they are not part of it.")
    if as_json:
        print_json({"checked": len(checked), "faults": faults, "notes": notes})
    else:
        for line in notes:
            say(line)
    if not faults and not as_json:
        say(f"challenge.yml and {len(checked)} folders are fine.")
    if faults and not as_json:
        raise CommandError(SUBMISSION_AT_FAULT, *faults)
    return SUBMISSION_AT_FAULT if faults else OK


def _budget_faults(challenge: Challenge) -> Iterator[str]:
    """Tasks for scripts that leave nothing to train with; only their environments know how long an episode may be."""
    scripted = [task for task in challenge.tasks if task.script is not None]
    if scripted:
        from evaluator.host.envs.gym_task import BudgetError, EnvironmentFault, check_budget  # imports gymnasium

        for task in scripted:
            try:
                check_budget(task)
            except BudgetError as error:
                yield f"challenge.yml: {error}"
            except EnvironmentFault:
                continue  # an environment that is not installed here is told where it is played


def check_source(found: SubmissionEntry) -> None:
    """Whether the entry parses and defines an `Agent`, or what its adapter asks for.

    Raises:
        LoadError: it does not.
    """
    submission = found.folder.submission
    if submission.kind is SubmissionKind.IMAGE or submission.adapter in OF_MODELS:
        return
    wanted, missing = _DEFINES.get(submission.adapter, ("", "")) if submission.kind is SubmissionKind.POLICY else ("", "")
    source = next(blob.content for blob in found.folder.blobs if blob.path == submission.source)
    name = f"{found.shown}/{submission.source}"
    command = [sys.executable, "-I", "-W", "ignore", "-c", _COMPILE, name, wanted, missing]
    try:
        done = subprocess.run(command, input=source, capture_output=True, timeout=20, check=False)
    except subprocess.TimeoutExpired as error:
        raise LoadError(f"{name}:1: takes too long to parse; simplify it") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = said[-1] if done.returncode == 1 and said else "cannot be parsed; simplify it"
        raise LoadError(reason if reason.startswith(found.shown) else f"{name}:1: {reason}")
