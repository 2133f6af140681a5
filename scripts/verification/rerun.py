"""`pullrank verify --rerun`: plays recorded agents again and compares, since a replay cannot show who acted."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from evaluator.host.progress import ReportProgress
from evaluator.host.seeds.encryption import decrypt_result, decrypt_trace
from evaluator.host.verification import Verification, VerificationStatus
from evaluator.model.records.duel_record import Duel, MatchEnd, PlayerRecord
from evaluator.model.records.parse import parse_duel, parse_result, parse_trace
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.version_folders import version_folders
from scripts.console import say
from scripts.repository.checkout import AgentFolder
from scripts.runs.local_evaluator import Evaluator
from scripts.runs.parallel_jobs import ParallelJob, run_jobs
from scripts.runs.play_duels import DuelRunner

FindFolder = Callable[[Result | PlayerRecord], AgentFolder | None]
"""Finds the recorded version among the agents of this checkout, in any folder of its login."""
ComparedMatch = tuple[MatchEnd, int | None, list[int]]
"""How a match ended, which side won, and its moves."""
ResultAndTrace = tuple[Result, bytes | None]
"""Neither of them sealed."""
Rerunnable = TypeVar("Rerunnable", ResultAndTrace, Duel)
RerunOutcome = tuple[VerificationStatus | None, list[str]]
"""The status after playing again, None where that failed on our side, and the reasons."""
RerunJob = ParallelJob[RerunOutcome]

# The first line of a verification, before the differences.
NOT_REPRODUCED = "played again twice, it did the same both times, but not what is recorded"
NOT_DETERMINISTIC = (
    "the replay fits, but the agent acts differently when played again; usual reasons: threads, the clock, os.urandom, "
    "secrets or uuid, a random generator without a seed, the order of a set of objects"
)
LIMIT_REACHED = "the replay fits, but a limit of time or memory was reached, which depends on the machine"
INTERRUPTED = "the replay fits, but the evaluation was interrupted, and its episodes were played by several processes"
OTHER_MACHINE = "the replay fits, but the record was made with another evaluator, sandbox, card or processor than here"
# Verdicts that depend on the machine.
LIMIT_VERDICTS = (Verdict.TIMEOUT, Verdict.OUT_OF_MEMORY)


class _RerunError(Exception):
    """Playing again failed on our side."""


def compare_runs(
    recorded: Rerunnable,
    play: Callable[[], Rerunnable],
    differences: Callable[[Rerunnable, Rerunnable], list[str]],
    excuse: Callable[[Rerunnable], str | None],
    machine: Callable[[Rerunnable], object],
) -> RerunOutcome:
    """The status of a verified record after its agents are played again, and the reasons.

    A record is refuted only if its agents are deterministic: the second run differs from the record, a third run equals the
    second, all were made on the same kind of machine, and none of them has an excuse.

    `differences`: what differs in the second of two runs, each in one sentence. `excuse`: why an agent may legitimately act
    otherwise in a run. `machine`: what of it an agent's actions may depend on. `play` raises _RerunError if it failed on our
    side.
    """
    try:
        second = play()
        different: list[str] = differences(recorded, second)
        if not different:
            return VerificationStatus.VERIFIED, []
        if machine(recorded) != machine(second):
            return VerificationStatus.NOT_REPEATABLE, [OTHER_MACHINE, *different]
        if reason := excuse(recorded) or excuse(second):
            return VerificationStatus.NOT_REPEATABLE, [reason, *different]
        if differences(second, play()):
            return VerificationStatus.NOT_REPEATABLE, [NOT_DETERMINISTIC, *different]
        return VerificationStatus.REFUTED, [NOT_REPRODUCED, *different]
    except _RerunError as error:
        return None, [str(error)]


def rerun(
    evaluator: Evaluator, verifications: list[Verification], *, quiet: bool, at_once: int | None = None
) -> list[Verification]:
    """Play the agents of each verified record again, where this checkout still holds those versions."""
    entries, _ = evaluator.checkout.read_all()
    by_version = {(*entry.name, entry.folder.digest): entry for entry in entries}
    folders = version_folders(entry.entry() for entry in entries)

    involved: list[AgentFolder] = []

    def find_folder(side: Result | PlayerRecord) -> AgentFolder | None:
        entry = by_version.get((*folders.of(side), side.submission_digest))
        involved.extend([entry] if entry else [])
        return entry

    runner = DuelRunner(evaluator=evaluator)
    duels = {str(path) for path in evaluator.checkout.store.duel_files()}
    jobs: list[RerunJob] = []
    positions = []
    for position, verification in enumerate(verifications):
        if verification.status is VerificationStatus.VERIFIED:
            path = Path(verification.path)
            is_duel = verification.path in duels
            job = _duel_job(runner, path, find_folder) if is_duel else _result_job(evaluator, path, find_folder)
            if job is None:
                say(f"{verification.path}: its agent is not here in that version; it was only replayed")
                continue
            jobs.append(job)
            positions.append(position)
    evaluator.check_owners(involved)
    judged = list(verifications)
    for index, (status, reasons) in run_jobs(jobs, at_once, quiet=quiet):
        verification = verifications[positions[index]]
        if status is None:
            say(f"{verification.path}: could not be played again ({'; '.join(reasons)}); it was only replayed")
            continue
        judged[positions[index]] = dataclasses.replace(verification, status=status, faults=(*verification.faults, *reasons))
    return judged


def _result_job(evaluator: Evaluator, path: Path, find_folder: FindFolder) -> RerunJob | None:
    """Evaluates the agent again and compares; None if agent or task is not here."""
    recorded = parse_result(path.read_bytes())
    agent = find_folder(recorded)
    task = evaluator.checkout.challenge.task(recorded.task)
    if agent is None or task is None:
        return None
    # Sealed results that were not revealed never get here: they do not verify.
    secret = evaluator.checkout.seasons.secret_of(recorded.season, recorded.beacon)
    request = evaluator.request(agent, task, recorded.beacon)
    request = dataclasses.replace(request, secret=secret, season=recorded.season, limits=recorded.limits)

    def compare(report: ReportProgress) -> RerunOutcome:
        if recorded.verdict is Verdict.INTERNAL_ERROR:
            return VerificationStatus.VERIFIED, []
        trace_path = evaluator.checkout.store.trace_of(path)
        trace = trace_path.read_bytes() if recorded.verdict is Verdict.OK else None
        before = recorded
        if secret:
            trace = trace and decrypt_trace(trace, recorded, secret)
            before = decrypt_result(recorded, secret)

        def play() -> ResultAndTrace:
            result, trace = evaluator.run(request, report)
            if result.verdict is Verdict.INTERNAL_ERROR:
                raise _RerunError(result.message)
            return result, trace

        return compare_runs(
            (before, trace),
            play,
            differences=lambda before, now: list(_differences(before, now)),
            excuse=lambda run: _excuse(run[0]),
            machine=lambda run: (run[0].runtime_digest, run[0].sandbox, run[0].platform, run[0].gpus),
        )

    return evaluator.job(request).playing(compare)


def _differences(before: ResultAndTrace, now: ResultAndTrace) -> Iterator[str]:
    (recorded, old), (result, new) = before, now
    if result.verdict != recorded.verdict:
        yield f"played again it ends with {result.verdict}, not {recorded.verdict}"
    elif result.returns != recorded.returns:
        first = next(i for i, pair in enumerate(zip(result.returns, recorded.returns, strict=True)) if pair[0] != pair[1])
        yield f"played again, episode {first} returns {result.returns[first]!r}, not {recorded.returns[first]!r}"
    elif old is not None and new is not None and parse_trace(new).actions != parse_trace(old).actions:
        yield "played again, it chooses other actions with the same returns"


def _duel_job(runner: DuelRunner, path: Path, find_folder: FindFolder) -> RerunJob | None:
    """Plays a duel again and compares; None if a player or the game is not here."""
    recorded = parse_duel(path.read_bytes())
    one, other = map(find_folder, recorded.players)
    task = runner.evaluator.checkout.challenge.task(recorded.task)
    if one is None or other is None or task is None:
        return None
    request = runner.request(one, other, task, recorded.beacon)
    request = dataclasses.replace(request, season=recorded.season, limits=recorded.limits)

    def compare(report: ReportProgress) -> RerunOutcome:
        if recorded.verdict is not Verdict.OK:
            return VerificationStatus.VERIFIED, []
        return compare_duel(recorded, lambda: runner.play(request, report))

    return runner.job(request).playing(compare)


def compare_duel(recorded: Duel, play_once: Callable[[], Duel]) -> RerunOutcome:
    """The status of a verified duel after it is played again, and the reasons."""

    def play() -> Duel:
        duel = play_once()
        if duel.verdict is not Verdict.OK:
            raise _RerunError(duel.message)
        return duel

    return compare_runs(
        recorded,
        play,
        differences=_different_matches,
        excuse=_excuse_of_duel,
        machine=lambda duel: (duel.runtime_digest, duel.sandbox, duel.platform),
    )


def _different_matches(before: Duel, now: Duel) -> list[str]:
    """Each match with another end, winner or moves."""
    pairs = enumerate(zip(_compared_matches(before), _compared_matches(now), strict=True))
    return [f"played again, match {index} takes another course" for index, (one, other) in pairs if one != other]


def _excuse(result: Result) -> str | None:
    if result.verdict in LIMIT_VERDICTS:
        return LIMIT_REACHED
    return INTERRUPTED if result.continued_after else None


def _excuse_of_duel(duel: Duel) -> str | None:
    is_late = any(match.end is MatchEnd.LATE for match in duel.matches)
    return LIMIT_REACHED if is_late or any(player.verdict in LIMIT_VERDICTS for player in duel.players) else None


def _compared_matches(duel: Duel) -> list[ComparedMatch]:
    return [(match.end, match.winner, moves) for match, moves in zip(duel.matches, duel.match_moves(), strict=True)]
