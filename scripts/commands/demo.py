"""`pullrank demo`: evaluates, plays, verifies and ranks everything, and builds the site."""

import time
from datetime import UTC, datetime
from pathlib import Path

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.host.verification import Verification, VerificationStatus
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from scripts.commands.tournament import failures, summary_line
from scripts.commands.verify import report
from scripts.console import OK, OUR_FAULT, say
from scripts.options import Jobs, LocalSandbox
from scripts.repository.checkout import Checkout, open_checkout
from scripts.runs.eligible_tasks import eligible_tasks
from scripts.runs.local_evaluator import Evaluator, RunOptions, ended_in_words, evaluate_locally, open_evaluator
from scripts.runs.parallel_jobs import AUTO, parse_jobs
from scripts.runs.play_duels import DuelRunner, TournamentSummary, eligible_players, play_tournament
from scripts.standings.recorded_standings import recorded_standings
from scripts.static_site.build_site import build, fingerprint_of, is_current, remember_fingerprint
from scripts.terminal.standings_tables import standings_tables
from scripts.verification.verify_records import SeenRecords, verify_files


def run(sandbox: LocalSandbox = "auto", jobs: Jobs = AUTO) -> int:
    """Evaluate all agents, play all duels, verify by replay, rank, build the site; what is recorded is not repeated."""
    at_once, times = parse_jobs(jobs), Stopwatch()
    checkout = open_checkout(Path.cwd())
    evaluator = open_evaluator(checkout, sandbox)
    times.lap("preparing")
    results = _evaluate(evaluator, at_once)
    times.lap("evaluations")
    tournament = _play(evaluator, checkout, at_once)
    times.lap("duels")
    paths = [*map(checkout.store.path_of, results), *map(checkout.store.path_of, checkout.recorded_duels[0])]
    verifications = _verify(checkout, paths, at_once)
    times.lap("replays")
    standings_tables(recorded_standings(checkout, official=False))
    report(verifications)
    times.lap("ranking")
    _build_site(checkout)
    times.lap("site")
    say(f"\nThe board is in build/site; open it with 'pullrank site serve'. It took {times}.")
    refuted = any(verification.status is VerificationStatus.REFUTED for verification in verifications)
    failed = any(result.verdict is Verdict.INTERNAL_ERROR for result in results)
    return OUR_FAULT if refuted or failed or failures(tournament) else OK


def _build_site(checkout: Checkout) -> None:
    """Build the site, unless it was built today and nothing has changed since."""
    fingerprint = fingerprint_of(checkout.root, datetime.now(UTC).date().isoformat())
    if is_current(checkout.root, fingerprint):
        say("Nothing has changed since the site was built.")
        return
    # Read again: somebody may have edited challenge.yml since the demo began.
    build(open_checkout(checkout.root), official=False)
    remember_fingerprint(checkout.root, fingerprint)


class Stopwatch:
    """What took how long."""

    def __init__(self) -> None:
        self._begun = self._last = time.monotonic()
        self._laps: list[tuple[str, float]] = []

    def lap(self, name: str) -> None:
        """Name the time since the last lap."""
        now = time.monotonic()
        self._laps.append((name, now - self._last))
        self._last = now

    def __str__(self) -> str:
        laps = ", ".join(f"{name} {seconds:.1f}" for name, seconds in self._laps)
        return f"{self._last - self._begun:.1f} s: {laps}"


def _play(evaluator: Evaluator, checkout: Checkout, at_once: int | None) -> TournamentSummary:
    if not checkout.challenge.games:
        return TournamentSummary(recorded=0, played=())
    players, _ = eligible_players(checkout)
    games = checkout.challenge.games
    tournament = play_tournament(DuelRunner(evaluator=evaluator), players, games, quiet=False, at_once=at_once)
    say(summary_line(tournament))
    return tournament


def _verify(checkout: Checkout, files: list[Path], at_once: int | None) -> list[Verification]:
    """Replay what has not been replayed on this machine before."""
    verified = SeenRecords(checkout.root / "build" / "verified.txt")
    before, new = verified.split(checkout.challenge, checkout.store, files)
    verifications = verify_files(checkout.challenge, checkout.store, new, quiet=False, at_once=at_once)
    verified.remember(checkout.challenge, checkout.store, verifications)
    if before:
        say(f"{len(before)} of {len(files)} results were replayed here before and have not changed since.")
    return [*(Verification(path=str(path), status=VerificationStatus.VERIFIED) for path in before), *verifications]


def _evaluate(evaluator: Evaluator, at_once: int | None) -> list[Result]:
    checkout, evaluations = evaluator.checkout, []
    entries, faults = checkout.read_all()
    for line in faults:
        say(line)
    for entry in entries:
        try:
            tasks = eligible_tasks(checkout.challenge, entry)
        except LoadError as error:
            say("\n".join(error.lines))
            continue
        evaluations += [(entry, task) for task in tasks if task.game is None]
    results = []
    for result, is_new in evaluate_locally(
        evaluator, evaluations, RunOptions(store=checkout.store, quiet=False, at_once=at_once)
    ):
        results.append(result)
        if is_new:
            say(f"{result.login}/{result.agent} on {result.task}: {ended_in_words(result)}")
    return results
