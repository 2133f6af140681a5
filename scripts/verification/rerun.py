"""`pullrank verify --rerun`: plays recorded agents again and compares, since a replay cannot show who acted."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from evaluator.host.seeds.encryption import decrypt_result, decrypt_trace
from evaluator.host.solo.verify_result import Finding, VerificationStatus
from evaluator.model.records.duel_record import Duel, MatchEnd, PlayerRecord
from evaluator.model.records.parse import parse_duel, parse_result, parse_trace
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.versions import version_folders
from scripts.console import progress_bar, say
from scripts.repository.checkout import AgentFolder
from scripts.runs.local_evaluator import Evaluator
from scripts.runs.play_duels import DuelRunner, duel_title

FindEntry = Callable[[Result | PlayerRecord], AgentFolder | None]
"""Finds the recorded version among the agents of this checkout, in any folder of its login."""
MatchSummary = tuple[MatchEnd, int | None, list[int]]
"""How a match ended, which side won, and its moves."""
ResultAndTrace = tuple[Result, bytes | None]
"""Neither of them sealed."""
Record = TypeVar("Record", ResultAndTrace, Duel)

# The first line of a finding, before the differences.
NOT_REPRODUCED = "played again twice, it did the same both times, but not what is recorded"
NOT_DETERMINISTIC = (
    "the replay fits, but the agent acts differently when played again; usual reasons: threads, the clock, os.urandom, "
    "secrets or uuid, a random generator without a seed, the order of a set of objects"
)
LIMIT_REACHED = "the replay fits, but a limit of time or memory was reached, which depends on the machine"
OTHER_MACHINE = "the replay fits, but the record was made with another evaluator version, base image or processor than here"
# Verdicts that depend on the machine.
LIMIT_VERDICTS = (Verdict.TIMEOUT, Verdict.OUT_OF_MEMORY)


class _RerunError(Exception):
    """Playing again failed on our side."""


@dataclass(frozen=True, kw_only=True)
class _Rerun(Generic[Record]):
    """How to play a record's agents again and compare."""

    play: Callable[[], Record]
    """Plays them.

    Raises:
        _RerunError: it failed on our side.
    """
    differences: Callable[[Record, Record], list[str]]
    """What differs in the second of two runs, each in one sentence."""
    at_a_limit: Callable[[Record], bool]
    machine: Callable[[Record], tuple[str, str]]
    """Runtime digest and platform, on which an agent's actions may depend."""


def compare_runs(recorded: Record, again: _Rerun[Record]) -> tuple[VerificationStatus, list[str]]:
    """The status of a verified record after its agents are played again, and the reasons.

    A record is refuted only if its agents are deterministic: the second run differs from the record, a third run equals the
    second, all were made on the same kind of machine, and no time or memory limit was reached.
    """
    second = again.play()
    differences: list[str] = again.differences(recorded, second)
    if not differences:
        return VerificationStatus.VERIFIED, []
    if again.machine(recorded) != again.machine(second):
        return VerificationStatus.NOT_REPEATABLE, [OTHER_MACHINE, *differences]
    if again.at_a_limit(recorded) or again.at_a_limit(second):
        return VerificationStatus.NOT_REPEATABLE, [LIMIT_REACHED, *differences]
    if again.differences(second, again.play()):
        return VerificationStatus.NOT_REPEATABLE, [NOT_DETERMINISTIC, *differences]
    return VerificationStatus.REFUTED, [NOT_REPRODUCED, *differences]


def rerun(evaluator: Evaluator, findings: list[Finding], *, quiet: bool) -> list[Finding]:
    """Play the agents of each verified record again, where this checkout still holds those versions."""
    entries, _ = evaluator.checkout.read_all()
    by_version = {(*entry.name, entry.folder.digest): entry for entry in entries}
    folders = version_folders(entry.entry() for entry in entries)

    def find_entry(side: Result | PlayerRecord) -> AgentFolder | None:
        return by_version.get((*folders.of(side), side.submission_digest))

    runner = DuelRunner(evaluator=evaluator)
    duels = {str(path) for path in evaluator.checkout.store.duel_files()}
    return [
        _rerun_finding(finding, runner, find_entry, is_duel=finding.path in duels, quiet=quiet)
        if finding.status is VerificationStatus.VERIFIED
        else finding
        for finding in findings
    ]


def _rerun_finding(finding: Finding, runner: DuelRunner, find_entry: FindEntry, *, is_duel: bool, quiet: bool) -> Finding:
    path = Path(finding.path)
    try:
        outcome = (
            _rerun_duel(runner, path, find_entry, quiet=quiet)
            if is_duel
            else _rerun_result(runner.evaluator, path, find_entry, quiet=quiet)
        )
    except _RerunError as error:
        say(f"{finding.path}: could not be played again ({error}); it was only replayed")
        return finding
    if outcome is None:
        say(f"{finding.path}: its agent is not here in that version; it was only replayed")
        return finding
    status, faults = outcome
    return dataclasses.replace(finding, status=status, faults=(*finding.faults, *faults))


def _rerun_result(
    evaluator: Evaluator, path: Path, find_entry: FindEntry, *, quiet: bool
) -> tuple[VerificationStatus, list[str]] | None:
    """The status after evaluating the agent again; None if agent or task is not here."""
    recorded = parse_result(path.read_bytes())
    agent = find_entry(recorded)
    task = evaluator.checkout.challenge.task(recorded.task)
    if agent is None or task is None:
        return None
    if recorded.verdict is Verdict.INTERNAL_ERROR:
        return VerificationStatus.VERIFIED, []
    # Sealed results that were not revealed never get here: they do not verify.
    secret = evaluator.checkout.seasons.secret_of(recorded.season, recorded.beacon)
    request = dataclasses.replace(evaluator.request(agent, task, recorded.beacon), secret=secret)
    trace_path = evaluator.checkout.store.trace_of(path)
    trace = trace_path.read_bytes() if recorded.verdict is Verdict.OK else None
    if secret:
        trace = trace and decrypt_trace(trace, recorded, secret)
        recorded = decrypt_result(recorded, secret)

    def play() -> ResultAndTrace:
        result, trace = evaluator.run(request, quiet=quiet)
        if result.verdict is Verdict.INTERNAL_ERROR:
            raise _RerunError(result.message)
        return result, trace

    rerun_it = _Rerun[ResultAndTrace](
        play=play,
        differences=lambda before, now: list(_differences(before, now)),
        at_a_limit=lambda run: run[0].verdict in LIMIT_VERDICTS,
        machine=lambda run: (run[0].runtime_digest, run[0].platform),
    )
    return compare_runs((recorded, trace), rerun_it)


def _differences(before: ResultAndTrace, now: ResultAndTrace) -> Iterator[str]:
    (recorded, old), (result, new) = before, now
    if result.verdict != recorded.verdict:
        yield f"played again it ends with {result.verdict}, not {recorded.verdict}"
    elif result.returns != recorded.returns:
        first = next(i for i, pair in enumerate(zip(result.returns, recorded.returns, strict=True)) if pair[0] != pair[1])
        yield f"played again, episode {first} returns {result.returns[first]!r}, not {recorded.returns[first]!r}"
    elif old is not None and new is not None and parse_trace(new).actions != parse_trace(old).actions:
        yield "played again, it chooses other actions with the same returns"


def _rerun_duel(
    runner: DuelRunner, path: Path, find_entry: FindEntry, *, quiet: bool
) -> tuple[VerificationStatus, list[str]] | None:
    """The status after playing a duel again; None if a player or the game is not here."""
    recorded = parse_duel(path.read_bytes())
    one, other = map(find_entry, recorded.players)
    task = runner.evaluator.checkout.challenge.task(recorded.task)
    if one is None or other is None or task is None:
        return None
    if recorded.verdict is not Verdict.OK:
        return VerificationStatus.VERIFIED, []

    def play() -> Duel:
        request = runner.request(one, other, task, recorded.beacon)
        with progress_bar(duel_title(request), task.matches, quiet=quiet) as progress:
            return runner.play(request, progress)

    return compare_duel(recorded, play)


def compare_duel(recorded: Duel, play_once: Callable[[], Duel]) -> tuple[VerificationStatus, list[str]]:
    """The status of a verified duel after it is played again, and the reasons."""

    def play() -> Duel:
        duel = play_once()
        if duel.verdict is not Verdict.OK:
            raise _RerunError(duel.message)
        return duel

    return compare_runs(
        recorded,
        _Rerun[Duel](
            play=play,
            differences=_different_matches,
            at_a_limit=_at_a_limit,
            machine=lambda duel: (duel.runtime_digest, duel.platform),
        ),
    )


def _different_matches(before: Duel, now: Duel) -> list[str]:
    """Each match with another end, winner or moves."""
    pairs = enumerate(zip(_match_summaries(before), _match_summaries(now), strict=True))
    return [f"played again, match {index} takes another course" for index, (one, other) in pairs if one != other]


def _at_a_limit(duel: Duel) -> bool:
    is_late = any(match.end is MatchEnd.LATE for match in duel.matches)
    return is_late or any(player.verdict in LIMIT_VERDICTS for player in duel.players)


def _match_summaries(duel: Duel) -> list[MatchSummary]:
    return [(match.end, match.winner, moves) for match, moves in zip(duel.matches, duel.match_moves(), strict=True)]
