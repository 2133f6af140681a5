"""The official run's last job: checks what the shards hand in and replays it.

Shards are not trusted: a file that is not exactly what the round asked for, or whose actions do not give its returns, is
refused. `record_results` records what passed.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from evaluator.host.process_owner import scratch_folder
from evaluator.host.seeds.encryption import decrypt_result, decrypt_trace
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.verification import VerificationStatus
from evaluator.model.base import error_in_words
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import parse_result
from evaluator.model.records.result import Result
from leaderboard.core.store import RESULT, TRACE, write_atomically
from scripts.console import escape_commands, say
from scripts.github.official.expected_records import ExpectedRound, gather_facts, parse_for_item
from scripts.github.official.record_results import AmendedRecord, amended_records, write_amended
from scripts.github.official.shard_artifacts import READ_ERRORS, ShardFile, receive_shards
from scripts.github.official.shard_jobs import ShardAssignment
from scripts.github.official.workload import OfficialRun, read_workload
from scripts.github.workflow.plan_context import season_secret
from scripts.repository.layout import record_store
from scripts.repository.season_file import seal_result
from scripts.verification.verify_records import VerificationJob, verify_jobs

HASH_LISTS = "hash-lists"
# Limits of actions/attest: subjects, and bytes of their list.
SUBJECTS, SUBJECT_BYTES = 1024, 512 * 1024
# GitHub's limit for a matrix is 256 jobs, each of which attests one list.
ATTESTED_LISTS = 256


def write_hash_lists(paths: Iterable[Path], place: Path) -> int:
    """Write the hash lists of files below a folder, as 0.sha256 and so on; returns their number.

    Traces need not be listed: each result contains the hash of its trace.
    """
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(place)}\n".encode() for path in paths]
    lists = list(_hash_lists(sorted(lines)))
    (place / HASH_LISTS).mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(lists[:ATTESTED_LISTS]):
        write_atomically(place / HASH_LISTS / f"{number}.sha256", content)
    if len(lists) > ATTESTED_LISTS:
        left = sum(content.count(b"\n") for content in lists[ATTESTED_LISTS:])
        say(f"{left} results are not attested: one run can attest {ATTESTED_LISTS} lists of {SUBJECTS}.")
    return min(len(lists), ATTESTED_LISTS)


def _hash_lists(lines: Sequence[bytes]) -> Iterator[bytes]:
    part: list[bytes] = []
    size = 0
    for line in lines:
        if part and (len(part) == SUBJECTS or size + len(line) > SUBJECT_BYTES):
            yield b"".join(part)
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part:
        yield b"".join(part)


def sealed_record(
    challenge: Challenge, secret: SeasonSecret, record: Result | Duel, trace: bytes | None
) -> tuple[Result | Duel, bytes | None]:
    """A record that passed, encrypted again: publish has added GitHub's facts, and uses nonces of its own."""
    return (record, trace) if isinstance(record, Duel) else seal_result(challenge, secret, record, trace)


def decrypted_copies(files: Iterable[ShardFile], place: Path, secret: SeasonSecret) -> list[ShardFile]:
    """The shards' files, decrypted into a private folder; undecryptable ones are copied unchanged, and refused later."""
    opened = []
    for file in files:
        copy = ShardFile(shard=place / file.shard.name, item=file.item, path=file.path, fault=file.fault)
        opened.append(file if file.fault or not _decrypt_copy(file, copy, secret) else copy)
    return opened


def _decrypt_copy(file: ShardFile, copy: ShardFile, secret: SeasonSecret) -> bool:
    """Copy a file; False if it cannot be read, so that the original is refused."""
    try:
        content = file.result.read_bytes()
        trace = file.trace.read_bytes() if file.trace.exists() else None
    except OSError:
        return False
    try:
        closed = parse_result(content)
        plain = decrypt_result(closed, secret).serialised()
        if trace is not None and closed.sealed is not None:
            trace = decrypt_trace(trace, closed, secret)
        content = plain
    except READ_ERRORS:  # Whatever reads a sealed file in place of an open one refuses it.
        pass
    write_atomically(copy.shard / "results" / (copy.path + RESULT), content)
    if trace is not None:
        write_atomically(copy.shard / "traces" / (copy.path + TRACE), trace)
    return True


# A job has six hours: the other two are for downloading shards and pushing.
REPLAY_SECONDS = 4 * 3600.0


@dataclass(frozen=True, kw_only=True)
class CheckedShards:
    """What became of a round's shards."""

    accepted: tuple[Result | Duel, ...]
    """What may be recorded; the files are in the folder of accepted files."""
    refused: tuple[str, ...]
    """A line, safe to log, for everything that is not accepted."""
    lost: tuple[int, ...]
    """Shards without usable results; the next round plays them again."""
    hash_lists: int = 0
    """Number of hash lists to attest, from 0.sha256 on."""
    unreplayed: int = 0
    """Results that there was no time to replay; the next round plays them again."""


def check_shards(
    official: OfficialRun, assignment: ShardAssignment, paths: Sequence[Path], accepted: Path, now: datetime
) -> CheckedShards:
    """Check every shard's files and copy what passes to the folder `accepted`, with hash lists to attest.

    Raises:
        CommandError: the round cannot be planned again.
    """
    work = read_workload(official, assignment.sha, assignment.results_sha)
    received = receive_shards(assignment, work, paths)
    files, secret = received.files, season_secret(official.secret, work.challenge)
    facts = gather_facts(official, work, [file.item for file in files])
    expected = ExpectedRound(official=official, work=work, facts=facts, now=now)
    with scratch_folder("opened") as place:
        if secret:
            files = decrypted_copies(files, Path(place), secret)
        records, lines = _replay(expected, [(file, _faults_of(expected, file)) for file in files], secret)
    amended = list(amended_records(official, work, assignment.results_sha, facts, secret))
    hash_lists = _write_accepted(records, amended, accepted)
    lost = tuple(number for number in range(len(work.packing.shards)) if number not in received.good)
    refusals = tuple(escape_commands(line) for line in (*received.refused, *lines))
    return CheckedShards(
        accepted=tuple(record for record, _ in records), refused=refusals, lost=lost, hash_lists=hash_lists,
        unreplayed=len(files) - len(records),
    )  # fmt: skip


def _faults_of(expected: ExpectedRound, file: ShardFile) -> tuple[str, ...]:
    """The faults of a shard's file before any replay."""
    if file.fault:
        return (file.fault,)
    try:
        return tuple(expected.mismatches(file.item, parse_for_item(file.item, file.result.read_bytes())))
    except READ_ERRORS as error:  # Only this file is lost.
        why = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        return (f"{why}{error_in_words(error, 300)}",)


RecordAndTrace = tuple[Result | Duel, bytes | None]
"""A result and its trace, or a duel and None."""


def _replay(
    expected: ExpectedRound, inspected: Sequence[tuple[ShardFile, tuple[str, ...]]], secret: SeasonSecret | None
) -> tuple[list[RecordAndTrace], list[str]]:
    """Replay what is not refused yet; returns what is accepted, and lines about the rest.

    A refused file becomes an internal error, so that it is not tried for ever. Files without time for a replay are left out.
    """
    challenge, sound = expected.work.challenge, [file for file, faults in inspected if not faults]
    jobs = [VerificationJob(challenge=challenge, result=file.result, trace=file.trace, secret=secret) for file in sound]
    findings = {finding.path: finding for finding in verify_jobs(jobs, quiet=True, seconds=REPLAY_SECONDS)}
    accepted: list[RecordAndTrace] = []
    refused: list[str] = []
    unsealed: list[str] = []
    for file, faults in inspected:
        finding = findings.get(str(file.result))
        if finding is None and not faults:
            continue
        if finding and finding.status is VerificationStatus.VERIFIED:
            record = parse_for_item(file.item, file.result.read_bytes())
            traced = isinstance(record, Result) and record.trace_sha256
            passed = expected.with_facts(file.item, record), file.trace.read_bytes() if traced else None
        else:
            faults = faults or (finding.faults if finding else ())
            # A fault's text could reveal a sealed season's episode, and the log is public.
            refused.append(f"{file.path}: {'does not verify' if secret else '; '.join(faults[:3])}")
            passed = _failed_record(expected, file, faults[0]), None
        if secret:
            plain, passed = passed, _sealed_again(expected, secret, file, passed)
            unsealed += [f"{file.path}: cannot be sealed"] if plain[0].verdict != passed[0].verdict else []
        accepted.append(passed)
    return accepted, [*refused, *unsealed]


def _failed_record(expected: ExpectedRound, file: ShardFile, fault: str) -> Result | Duel:
    """The internal error for a refused file; the fault may quote the file, so it is cleaned."""
    return expected.failed_record(file.item, f"publish refused it: {escape_commands(fault)}")


def _sealed_again(
    expected: ExpectedRound, secret: SeasonSecret, file: ShardFile, accepted: RecordAndTrace
) -> RecordAndTrace:
    """An accepted record, sealed; an internal error if it cannot be."""
    try:
        return sealed_record(expected.work.challenge, secret, *accepted)
    except ValueError:
        failed = _failed_record(expected, file, "it cannot be sealed")
        return sealed_record(expected.work.challenge, secret, failed, None)


def _write_accepted(records: Sequence[RecordAndTrace], amended: list[AmendedRecord], accepted: Path) -> int:
    """Write what passed to a folder, with hash lists to attest; returns their number."""
    store = record_store(accepted)
    paths = [store.write(record, trace) for record, trace in records]
    return write_hash_lists([*paths, *write_amended(amended, accepted)], accepted)
