"""Plays recorded agents again and compares what they choose: replaying cannot show who chose the actions."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from evaluator.host.duels.verify_duel import parse_duel
from evaluator.host.seeds.encryption import decrypt_result, decrypt_trace
from evaluator.host.solo.verify_result import Finding, VerificationStatus, parse_result, parse_trace
from evaluator.model.records.duel_record import Duel, MatchEnd, PlayerRecord
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.versions import version_folders
from scripts.console import bar, say
from scripts.repository.checkout import SubmissionEntry
from scripts.runs.evaluate_missing import Evaluator
from scripts.runs.play_duels import DuelRunner, title

Who = Callable[[Result | PlayerRecord], SubmissionEntry | None]
"""The agent here that is the version which was recorded, in whichever folder of its login."""
Course = tuple[MatchEnd, int | None, list[int]]
"""One match."""
Played = tuple[Result, bytes | None]
"""A result and its trace, neither of them sealed."""
Record = TypeVar("Record", Played, Duel)

# What is said before the differences.
TWICE = "played twice more it did the same both times, and not what is recorded"
UNSTEADY = (
    "the record fits, but its agent acts otherwise when it is played again; usual reasons: threads, the clock, os.urandom, "
    "secrets or uuid, a generator of its own without a seed, the order of a set of objects"
)
AT_A_LIMIT = "the record fits, but a limit of time or memory was reached, and machines differ there"
ELSEWHERE = (
    "the record fits, but was made by other rules, with other packages, another base image or another processor than here"
)
# What a machine has its part in.
LIMITS = (Verdict.TIMEOUT, Verdict.OUT_OF_MEMORY)


class _NotPlayedError(Exception):
    """It could not be played again, which is our failure."""


@dataclass(frozen=True, kw_only=True)
class _RerunSummary(Generic[Record]):
    """How a record's agents are played again."""

    play: Callable[[], Record]
    """Plays them.

    Raises:
        _NotPlayedError: it failed on our side.
    """
    differences: Callable[[Record, Record], list[str]]
    """What the second of two performances has otherwise, each in one sentence."""
    at_a_limit: Callable[[Record], bool]
    ground: Callable[[Record], tuple[str, str]]
    """What an agent's choices may rest on: runtime digest and platform."""


def judged(recorded: Record, again: _RerunSummary[Record]) -> tuple[VerificationStatus, list[str]]:
    """What playing again says of a record whose replay fits.

    Only agents that repeat themselves can refute: where the second performance differs from the record, a third must be like
    the second, all three on the same ground, and none decided by a limit that machines have a part in.
    """
    second = again.play()
    found: list[str] = again.differences(recorded, second)
    if not found:
        return VerificationStatus.VERIFIED, []
    if again.ground(recorded) != again.ground(second):
        return VerificationStatus.NOT_REPEATABLE, [ELSEWHERE, *found]
    if again.at_a_limit(recorded) or again.at_a_limit(second):
        return VerificationStatus.NOT_REPEATABLE, [AT_A_LIMIT, *found]
    if again.differences(second, again.play()):
        return VerificationStatus.NOT_REPEATABLE, [UNSTEADY, *found]
    return VerificationStatus.REFUTED, [TWICE, *found]


def rerun(bench: Evaluator, findings: list[Finding], *, quiet: bool) -> list[Finding]:
    """Play whoever made each verified record again, where the folders still hold those versions."""
    found, _ = bench.board.read_all()
    agents = {(*agent.name, agent.folder.digest): agent for agent in found}
    at = version_folders(agent.entry() for agent in found)

    def who(side: Result | PlayerRecord) -> SubmissionEntry | None:
        return agents.get((*at.of(side), side.submission_digest))

    hall = DuelRunner(bench=bench)
    duels = {str(path) for path in bench.board.store.duel_files()}
    return [
        _renewed(finding, hall, who, is_duel=finding.path in duels, quiet=quiet)
        if finding.standing is VerificationStatus.VERIFIED
        else finding
        for finding in findings
    ]


def _renewed(finding: Finding, hall: DuelRunner, who: Who, *, is_duel: bool, quiet: bool) -> Finding:
    path = Path(finding.path)
    try:
        found = _duel(hall, path, who, quiet=quiet) if is_duel else _result(hall.bench, path, who, quiet=quiet)
    except _NotPlayedError as error:
        say(f"{finding.path}: could not be played again ({error}); only the record was replayed")
        return finding
    if found is None:
        say(f"{finding.path}: who made it is not here in that version; only the record was replayed")
        return finding
    standing, faults = found
    return dataclasses.replace(finding, standing=standing, faults=(*finding.faults, *faults))


def _result(bench: Evaluator, path: Path, who: Who, *, quiet: bool) -> tuple[VerificationStatus, list[str]] | None:
    """What evaluating an agent again says; None where it cannot be."""
    recorded = parse_result(path.read_bytes())
    agent = who(recorded)
    task = bench.board.challenge.task(recorded.task)
    if agent is None or task is None:
        return None
    if recorded.verdict is Verdict.INTERNAL_ERROR:
        return VerificationStatus.VERIFIED, []
    # Of a sealed season only what was revealed comes this far: the rest is not verified, and nothing else is played again.
    secret = bench.board.seasons.secret_of(recorded.season, recorded.beacon)
    order = dataclasses.replace(bench.order(agent, task, recorded.beacon), secret=secret)
    place = bench.board.store.trace_of(path)
    trace = place.read_bytes() if recorded.verdict is Verdict.OK else None
    if secret:
        trace = trace and decrypt_trace(trace, recorded, secret)
        recorded = decrypt_result(recorded, secret)

    def play() -> Played:
        result, trace = bench.run(order, quiet=quiet)
        if result.verdict is Verdict.INTERNAL_ERROR:
            raise _NotPlayedError(result.message)
        return result, trace

    again = _RerunSummary[Played](
        play=play,
        differences=lambda one, other: list(_differences(one, other)),
        at_a_limit=lambda played: played[0].verdict in LIMITS,
        ground=lambda played: (played[0].runtime_digest, played[0].platform),
    )
    return judged((recorded, trace), again)


def _differences(before: Played, now: Played) -> Iterator[str]:
    (recorded, old), (result, new) = before, now
    if result.verdict != recorded.verdict:
        yield f"played again it ends with {result.verdict}, not {recorded.verdict}"
    elif result.returns != recorded.returns:
        first = next(i for i, pair in enumerate(zip(result.returns, recorded.returns, strict=True)) if pair[0] != pair[1])
        yield f"played again, episode {first} returns {result.returns[first]!r}, not {recorded.returns[first]!r}"
    elif old is not None and new is not None and parse_trace(new).actions != parse_trace(old).actions:
        yield "played again, it chooses other actions with the same returns"


def _duel(hall: DuelRunner, path: Path, who: Who, *, quiet: bool) -> tuple[VerificationStatus, list[str]] | None:
    """What holding a duel again says; None where it cannot be."""
    recorded = parse_duel(path.read_bytes())
    one, other = map(who, recorded.players)
    task = hall.bench.board.challenge.task(recorded.task)
    if one is None or other is None or task is None:
        return None
    if recorded.verdict is not Verdict.OK:
        return VerificationStatus.VERIFIED, []

    def hold() -> Duel:
        order = hall.order(one, other, task, recorded.beacon)
        with bar(title(order), task.matches, quiet=quiet) as done:
            return hall.hold(order, done)

    return judged_duel(recorded, hold)


def judged_duel(recorded: Duel, hold: Callable[[], Duel]) -> tuple[VerificationStatus, list[str]]:
    """What holding a duel again says of it."""

    def play() -> Duel:
        duel = hold()
        if duel.verdict is not Verdict.OK:
            raise _NotPlayedError(duel.message)
        return duel

    return judged(
        recorded,
        _RerunSummary[Duel](
            play=play,
            differences=_other_matches,
            at_a_limit=_at_a_limit,
            ground=lambda duel: (duel.runtime_digest, duel.platform),
        ),
    )


def _other_matches(before: Duel, now: Duel) -> list[str]:
    """The matches that take another course."""
    pairs = enumerate(zip(_courses(before), _courses(now), strict=True))
    return [f"held again, match {index} takes another course" for index, (one, other) in pairs if one != other]


def _at_a_limit(duel: Duel) -> bool:
    is_late = any(match.end is MatchEnd.LATE for match in duel.matches)
    return is_late or any(player.verdict in LIMITS for player in duel.players)


def _courses(duel: Duel) -> list[Course]:
    """How each match ended, who won it, and by which moves."""
    return [(match.end, match.winner, moves) for match, moves in zip(duel.matches, duel.match_moves(), strict=True)]
