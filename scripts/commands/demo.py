"""`pullrank demo`: evaluates, plays, verifies and ranks everything, and builds the site."""

from pathlib import Path

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.host.solo.verify_result import Finding, VerificationStatus
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from scripts.commands.tournament import failures, summary_line
from scripts.commands.verify import report
from scripts.console import OK, OUR_FAULT, say
from scripts.git.recorded_standings import recorded_standings
from scripts.options import LocalSandbox
from scripts.repository.checkout import AgentFolder, Checkout, open_checkout
from scripts.runs.eligible_tasks import eligible_tasks
from scripts.runs.local_evaluator import Evaluator, evaluate_locally, open_evaluator
from scripts.runs.play_duels import DuelRunner, TournamentSummary, eligible_players, play_tournament
from scripts.static_site.build_site import build
from scripts.terminal_tables import standings_tables
from scripts.verification.verify_records import SeenRecords, verify_files


def run(sandbox: LocalSandbox = "auto") -> int:
    """Evaluate all agents, play all duels, verify by replay, rank, build the site; what is recorded is not repeated."""
    checkout = open_checkout(Path.cwd())
    evaluator = open_evaluator(checkout, sandbox)
    entries, faults = checkout.read_all()
    for line in faults:
        say(line)
    results = [result for entry in entries for result in _evaluate(evaluator, entry)]
    tournament = _play(evaluator, checkout)
    duels = [checkout.store.duel_path_of(duel) for duel in checkout.recorded_duels[0]]
    findings = _verify(checkout, [*(checkout.store.result_path(result) for result in results), *duels])
    standings_tables(recorded_standings(checkout, official=False))
    report(findings)
    site = build(checkout, official=False)
    say(f"\nThe board is in {site.relative_to(checkout.root)}; open it with 'pullrank site serve'.")
    refuted = any(finding.status is VerificationStatus.REFUTED for finding in findings)
    failed = any(result.verdict is Verdict.INTERNAL_ERROR for result in results)
    return OUR_FAULT if refuted or failed or failures(tournament) else OK


def _play(evaluator: Evaluator, checkout: Checkout) -> TournamentSummary:
    if not checkout.challenge.games:
        return TournamentSummary(recorded=0, played=())
    players, _ = eligible_players(checkout)
    tournament = play_tournament(DuelRunner(evaluator=evaluator), players, checkout.challenge.games, quiet=False)
    say(summary_line(tournament))
    return tournament


def _verify(checkout: Checkout, files: list[Path]) -> list[Finding]:
    """Replay what has not been replayed on this machine before."""
    verified = SeenRecords(checkout.root / "build" / "verified.txt")
    before, new = verified.split(checkout.challenge, checkout.store, files)
    findings = verify_files(checkout.challenge, checkout.store, new, quiet=False)
    verified.remember(checkout.challenge, checkout.store, findings)
    if before:
        say(f"{len(before)} of {len(files)} results were replayed here before and have not changed since.")
    return [*(Finding(path=str(path), status=VerificationStatus.VERIFIED) for path in before), *findings]


def _evaluate(evaluator: Evaluator, entry: AgentFolder) -> list[Result]:
    checkout, results = evaluator.checkout, []
    try:
        tasks = [task for task in eligible_tasks(entry, list(checkout.challenge.tasks)) if task.game is None]
    except LoadError as error:
        say("\n".join(error.lines))
        return []
    for result, is_new in evaluate_locally(evaluator, entry, tasks, checkout.store, quiet=False):
        results.append(result)
        if is_new:
            say(f"{entry.login}/{entry.agent} on {result.task}: {result.verdict}")
    return results
