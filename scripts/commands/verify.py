"""`pullrank verify [PATH …]`: replay what is recorded and name whatever does not fit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.host.replay import Finding, Standing, parse_result, parse_trace
from evaluator.model.result import Result
from scripts.board import Board, open_board
from scripts.console import OK, SUBMISSION_AT_FAULT, USAGE, CommandError, print_json, say
from scripts.evaluating import open_bench
from scripts.verifying import verify_files


def run(
    paths: Annotated[list[Path] | None, typer.Argument(help="Result files or folders; all of results/ if none.")] = None,
    rerun: Annotated[bool, typer.Option(help="Also play the agents again and compare their actions.")] = False,
    sandbox: Annotated[str, typer.Option(help="For --rerun: auto, docker, gvisor or process.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of findings.")] = False,
) -> int:
    """Replay traces on the environments alone: the same actions must give the same returns."""
    board = open_board(Path.cwd())
    files = _files(board, paths or [])
    findings = verify_files(board.challenge, board.store, files, quiet=as_json)
    if rerun:
        findings = _rerun(board, findings, sandbox, quiet=as_json)
    if as_json:
        print_json([_document(finding) for finding in findings])
    else:
        report(findings)
    return SUBMISSION_AT_FAULT if any(f.standing is Standing.REFUTED for f in findings) else OK


def _files(board: Board, paths: list[Path]) -> list[Path]:
    if not paths:
        return list(board.store.files())
    files: list[Path] = []
    for given in paths:
        path = given.resolve()
        if not path.is_relative_to(board.store.results.resolve()):
            raise CommandError(USAGE, f"{given}: is not under {board.store.results}; traces are found by the same path")
        if not path.exists():
            raise CommandError(USAGE, f"{given}: does not exist")
        files.extend(p for p in board.store.files() if p == path or p.is_relative_to(path))
    return files


def _document(finding: Finding) -> dict[str, Any]:
    return {"path": finding.path, "standing": finding.standing, "faults": list(finding.faults), "steps": finding.steps}


def report(findings: list[Finding]) -> None:
    """Every result that is not verified, and the count of each standing."""
    for finding in findings:
        if finding.standing is not Standing.VERIFIED:
            say(f"{finding.path}: {finding.standing}: {'; '.join(finding.faults[:5])}")
    counts = {s: sum(f.standing is s for f in findings) for s in Standing}
    steps = sum(finding.steps for finding in findings)
    parts = [f"{count} {standing}" for standing, count in counts.items() if count or standing is Standing.VERIFIED]
    say(f"{', '.join(parts)}; {steps:,} environment steps replayed.")


def _rerun(board: Board, findings: list[Finding], sandbox: str, *, quiet: bool) -> list[Finding]:
    """Play each verified result's agent again, where its folder still holds that version."""
    found, _ = board.read_all()
    agents = {(f.login, f.agent, f.folder.digest): f for f in found}
    bench = open_bench(board, sandbox)
    renewed = []
    for finding in findings:
        faults = []
        if finding.standing is Standing.VERIFIED:
            path = Path(finding.path)
            recorded = parse_result(path.read_bytes())
            who = agents.get((recorded.login, recorded.agent, recorded.submission_digest))
            task = board.challenge.task(recorded.task)
            if who is None or task is None:
                say(f"{finding.path}: its agent is not here in that version; only its trace was replayed")
            else:
                result, trace = bench.run(bench.order(who, task, recorded.beacon), quiet=quiet)
                faults = list(_differences(path, recorded, result, trace, board))
        standing = Standing.REFUTED if faults else finding.standing
        renewed.append(Finding(path=finding.path, standing=standing, faults=(*finding.faults, *faults), steps=finding.steps))
    return renewed


def _differences(path: Path, recorded: Result, result: Result, trace: bytes | None, board: Board) -> Iterator[str]:
    if result.verdict != recorded.verdict:
        yield f"played again it ends with {result.verdict}, not {recorded.verdict}"
    elif result.returns != recorded.returns:
        first = next(i for i, pair in enumerate(zip(result.returns, recorded.returns, strict=True)) if pair[0] != pair[1])
        yield f"played again, episode {first} returns {result.returns[first]!r}, not {recorded.returns[first]!r}"
    elif trace is not None:
        before = parse_trace(board.store.trace_of(path).read_bytes())
        if parse_trace(trace).actions != before.actions:
            yield "played again, it chooses other actions with the same returns"
