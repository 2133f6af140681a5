"""`pullrank verify [PATH …]`: replays recorded results and duels and reports what does not fit."""

from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.host.verification import Verification, VerificationStatus
from leaderboard.core.store import RECORD_ENDING
from scripts.console import OK, SUBMISSION_AT_FAULT, USAGE, CommandError, print_json, say
from scripts.options import Jobs, JsonFindings
from scripts.repository.checkout import Checkout, open_checkout
from scripts.repository.moderation_file import hidden_records
from scripts.runs.local_evaluator import open_evaluator
from scripts.runs.parallel_jobs import AUTO, parse_jobs
from scripts.verification.rerun import rerun as rerun_agents
from scripts.verification.verify_address import verify_address
from scripts.verification.verify_records import verify_files


def run(
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="Files or folders in results/, all if none; or a repository's https address, alone."),
    ] = None,
    agent: Annotated[str | None, typer.Option(help="With an address: only this agent's records, login/agent.")] = None,
    rerun: Annotated[bool, typer.Option(help="Also play the agents again and compare their actions.")] = False,
    sandbox: Annotated[str, typer.Option(help="For --rerun: auto, docker, gvisor or process.")] = "auto",
    as_json: JsonFindings = False,
    jobs: Jobs = AUTO,
) -> int:
    """Replay traces and moves on the environments alone: the same actions must give the same returns."""
    if paths and "://" in paths[0]:
        if rerun or len(paths) > 1:
            raise CommandError(USAGE, f"{paths[0]}: an address stands alone, and its agents are not run here")
        return _say(verify_address(paths[0], agent, quiet=as_json), as_json=as_json)
    if agent is not None:
        raise CommandError(USAGE, "--agent is for a repository's address; here name the agent's folder in results/")
    checkout = open_checkout(Path.cwd())
    files, at_once = _files(checkout, [Path(path) for path in paths or []]), parse_jobs(jobs)
    verifications = verify_files(checkout.challenge, checkout.store, files, quiet=as_json, at_once=at_once)
    if rerun:
        verifications = rerun_agents(open_evaluator(checkout, sandbox), verifications, quiet=as_json, at_once=at_once)
    code = _say(verifications, as_json=as_json)
    for hidden in hidden_records(checkout.every_record, checkout.moderation) if checkout.moderation.quarantines else ():
        say(f"{hidden.record.path()}{RECORD_ENDING}: {hidden.quarantine.in_words}: {hidden.quarantine.why}")
    return code


def _say(verifications: list[Verification], *, as_json: bool) -> int:
    """Print the verifications; returns the exit code."""
    if as_json:
        print_json([_document(verification) for verification in verifications])
    else:
        report(verifications)
    return SUBMISSION_AT_FAULT if any(f.status is VerificationStatus.REFUTED for f in verifications) else OK


def _files(checkout: Checkout, paths: list[Path]) -> list[Path]:
    recorded = [*checkout.store.files(), *checkout.store.duel_files()]
    if not paths:
        return recorded
    files: list[Path] = []
    for argument in paths:
        path = argument.resolve()
        if not path.is_relative_to(checkout.store.results.resolve()):
            place = checkout.store.results
            raise CommandError(
                USAGE, f"{argument}: is not under {place}; name files or folders there, or none to verify all"
            )
        if not path.exists():
            hint = "name files or folders in results/, or none to verify all"
            raise CommandError(USAGE, f"{argument}: does not exist; {hint}")
        files.extend(file for file in recorded if file == path or file.is_relative_to(path))
    return files


def _document(verification: Verification) -> dict[str, Any]:
    return {
        "path": verification.path,
        "standing": verification.status,
        "faults": list(verification.faults),
        "steps": verification.steps,
    }


def report(verifications: list[Verification]) -> None:
    """Print each record that is not verified, and how many there are of each status."""
    for verification in verifications:
        if verification.status is not VerificationStatus.VERIFIED:
            say(f"{verification.path}: {verification.status}: {'; '.join(verification.faults[:5])}")
    counts = {s: sum(f.status is s for f in verifications) for s in VerificationStatus}
    steps = sum(verification.steps for verification in verifications)
    parts = [f"{count} {status}" for status, count in counts.items() if count or status is VerificationStatus.VERIFIED]
    say(f"{', '.join(parts)}; {steps:,} environment steps replayed.")
