"""`pullrank check DIR`: whether a folder is a submission, without running any of it."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.load import LoadError
from evaluator.model.submission import Kind
from scripts.board import Found, open_board
from scripts.console import OK, SUBMISSION_AT_FAULT, CommandError, print_json, say
from scripts.evaluating import entered

# Parsing hostile source can exhaust the parser's stack, so another process does it.
_COMPILE = """
import ast, sys
name = sys.argv[1]
try:
    tree = ast.parse(sys.stdin.buffer.read(), name)
except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
    sys.exit(f"{name}:{getattr(error, 'lineno', None) or 1}: {getattr(error, 'msg', error)}; correct the syntax")
names = {getattr(node, "name", None) or getattr(alias, "asname", None) or getattr(alias, "name", None)
         for node in tree.body for alias in getattr(node, "names", [None])}
targets = {target.id for node in tree.body if isinstance(node, ast.Assign)
           for target in node.targets if isinstance(target, ast.Name)}
if "Agent" not in names | targets:
    sys.exit(f"{name}:1: defines no class Agent; write 'class Agent' with a method act(self, observation)")
"""


def run(
    folders: Annotated[list[Path] | None, typer.Argument(help="Agents' folders; none checks the challenge and all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of findings.")] = False,
) -> int:
    """Check folders, or the challenge and every agent of the board."""
    board = open_board(Path.cwd())
    known = list(board.challenge.tasks)
    faults: list[str] = []
    checked = folders or board.folders()
    for folder in checked:
        try:
            found = board.find(folder)
            entered(found, known)
            check_source(found)
        except LoadError as error:
            faults.extend(error.lines)
    if as_json:
        print_json({"checked": len(checked), "faults": faults})
    elif not faults:
        say(f"challenge.yml and {len(checked)} folders are fine.")
    if faults and not as_json:
        raise CommandError(SUBMISSION_AT_FAULT, *faults)
    return SUBMISSION_AT_FAULT if faults else OK


def check_source(found: Found) -> None:
    """Whether the entry parses and defines an `Agent`.

    Raises:
        LoadError: it does not.
    """
    submission = found.folder.submission
    if submission.kind is not Kind.POLICY or submission.adapter:
        return
    source = next(blob.content for blob in found.folder.blobs if blob.path == submission.entry)
    command = [sys.executable, "-I", "-W", "ignore", "-c", _COMPILE, f"{found.shown}/{submission.entry}"]
    try:
        done = subprocess.run(command, input=source, capture_output=True, timeout=20, check=False)
    except subprocess.TimeoutExpired as error:
        raise LoadError(f"{found.shown}/{submission.entry}:1: takes too long to parse; simplify it") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = said[-1] if done.returncode == 1 and said else "cannot be parsed; simplify it"
        raise LoadError(reason if reason.startswith(found.shown) else f"{found.shown}/{submission.entry}:1: {reason}")
