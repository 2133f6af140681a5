"""`pullrank demo`: every agent evaluated, every duel held, all verified, ranked, and the board built."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.host.solo.verify_result import Finding, VerificationStatus
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from scripts.commands.tournament import failures, summary
from scripts.commands.verify import report
from scripts.console import OK, OUR_FAULT, say
from scripts.repository.checkout import Checkout, SubmissionEntry, open_checkout
from scripts.repository.recorded_standings import recorded_standings
from scripts.runs.eligible_tasks import entered
from scripts.runs.evaluate_missing import Evaluator, evaluate_or_recall, open_evaluator
from scripts.runs.play_duels import DuelRunner, TournamentSummary, play_tournament, players
from scripts.static_site.build_site import build
from scripts.tables.standings_tables import standings_tables
from scripts.verification.verify_records import SeenRecords, verify_files


def run(sandbox: Annotated[str, typer.Option(help="auto, docker, gvisor or process.")] = "auto") -> int:
    """Evaluate all agents, hold all duels, verify by replay, rank, build the site; what is recorded is not repeated."""
    board = open_checkout(Path.cwd())
    bench = open_evaluator(board, sandbox)
    found, faults = board.read_all()
    for line in faults:
        say(line)
    results = [result for agent in found for result in _evaluate(bench, agent)]
    held = _play(bench, board)
    duels = [board.store.duel_path_of(duel) for duel in board.recorded_duels[0]]
    findings = _verify(board, [*(board.store.result_path(result) for result in results), *duels])
    standings_tables(recorded_standings(board, official=False))
    report(findings)
    place = build(board, official=False)
    say(f"\nThe board is in {place.relative_to(board.root)}; open it with 'pullrank site serve'.")
    refuted = any(finding.standing is VerificationStatus.REFUTED for finding in findings)
    ours = any(result.verdict is Verdict.INTERNAL_ERROR for result in results)
    return OUR_FAULT if refuted or ours or failures(held) else OK


def _play(bench: Evaluator, board: Checkout) -> TournamentSummary:
    """All duels of all games."""
    if not board.challenge.games:
        return TournamentSummary(recorded=0, held=())
    held = play_tournament(DuelRunner(bench=bench), players(board, lambda line: None), board.challenge.games, quiet=False)
    say(summary(held))
    return held


def _verify(board: Checkout, files: list[Path]) -> list[Finding]:
    """Replay what has not been replayed here before."""
    seen = SeenRecords(board.root / "build" / "verified.txt")
    before, new = seen.split(board.challenge, board.store, files)
    findings = verify_files(board.challenge, board.store, new, quiet=False)
    seen.remember(board.challenge, board.store, findings)
    if before:
        say(f"{len(before)} of {len(files)} results were replayed here before and have not changed since.")
    return [*(Finding(path=str(path), standing=VerificationStatus.VERIFIED) for path in before), *findings]


def _evaluate(bench: Evaluator, found: SubmissionEntry) -> list[Result]:
    def tell(result: Result, fresh: bool) -> None:
        if fresh:
            say(f"{found.login}/{found.agent} on {result.task}: {result.verdict}")

    board: Checkout = bench.board
    try:
        tasks = [task for task in entered(found, list(board.challenge.tasks)) if task.game is None]
        return evaluate_or_recall(bench, found, tasks, board.store, tell, quiet=False)
    except LoadError as error:
        say("\n".join(error.lines))
        return []
