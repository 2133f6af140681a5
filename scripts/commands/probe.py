"""`pullrank probe`: tests the isolation of a sandbox."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evaluator.host.docker.engine import Engine
from evaluator.host.probe.run_probe import ProbeCheck, as_document, probe
from evaluator.model.records.stored_record import SandboxKind
from scripts.console import OK, OUR_FAULT, print_json, say, stderr_console
from scripts.options import LocalSandbox
from scripts.repository.checkout import open_checkout
from scripts.runs.local_evaluator import open_evaluator


def run(
    sandbox: LocalSandbox = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of checks.")] = False,
) -> int:
    """Test what a sandbox must refuse and what it must allow; exit code 3 if a check fails.

    What this kind of sandbox does not promise is tried, too, and reported as open.
    """
    checkout = open_checkout(Path.cwd())
    evaluator = open_evaluator(checkout, sandbox)
    with stderr_console().status(f"Probing the {evaluator.sandbox.kind} sandbox …"):
        checks = probe(evaluator.sandbox, checkout.challenge.limits)
    for line in [] if evaluator.sandbox.kind is SandboxKind.PROCESS else Engine().engine_warnings():
        say(f"Warning: {line}.")
    if as_json:
        print_json(as_document(checks))
    else:
        Console(highlight=False).print(_table(checks))
    return OUR_FAULT if any(check.failed for check in checks) else OK


def _table(checks: list[ProbeCheck]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("", "promise", "what was seen"):
        table.add_column(name)
    for check in checks:
        state = "holds" if check.held else "FAILS" if check.promised else "open"
        table.add_row(state, check.name, Text(check.detail))
    return table
