"""Checks what the shards of a round hand in, and replays it.

Shards are not trusted: a file that is not exactly what the round asked for, or whose actions do not give its returns, is
refused. Everything but the measured numbers is known before a file is opened. `record_results` records what passed.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evaluator.host.process_owner import scratch_folder
from evaluator.host.seeds.derived_seeds import episode_seeds, opening_seeds
from evaluator.host.seeds.encryption import decrypt_result, decrypt_trace
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.duel_record import DUEL_SCHEMA, Duel
from evaluator.model.records.parse import parse_duel, parse_result
from evaluator.model.records.result import RESULT_SCHEMA, Result
from evaluator.model.records.stored_record import MESSAGE_CHARACTERS, Provenance, Tier
from evaluator.model.records.verdict import Verdict
from evaluator.model.validation_messages import error_in_words
from leaderboard.core.entry import EXAMPLES_LOGIN, Entry
from leaderboard.core.store import RECORD_ENDING, TRACE_ENDING, write_atomically
from leaderboard.planning.missing_work import DuelWorkItem, WorkItem
from scripts.console import escape_commands, say
from scripts.github.official.evaluate_shard import ShardAssignment
from scripts.github.official.github_commits import GitHubCommit
from scripts.github.official.record_results import amended_records, write_amended
from scripts.github.official.round_work import OfficialRun, RoundWork, RoundWorkItem, read_round_work
from scripts.github.official.shard_artifacts import READ_ERRORS, ShardFile, receive_shards
from scripts.github.workflow.event import COMMIT_SHA
from scripts.github.workflow.sealed_jobs import required_secret
from scripts.repository.layout import record_store
from scripts.repository.season_file import seal_result
from scripts.verification.verify_records import VerificationJob, verify_jobs

# By how much the clocks of a run's machines may differ.
SHARD_CLOCK_TOLERANCE = timedelta(minutes=10)


def _parse_for_item(item: RoundWorkItem, content: bytes) -> Result | Duel:
    """The record that was handed in for an item.

    Raises:
        ValueError: the bytes are not exactly those of such a record.
    """
    return parse_duel(content) if isinstance(item, DuelWorkItem) else parse_result(content)


Facts = Mapping[str, GitHubCommit]
"""By commit; without those that GitHub could not be asked about."""


def _gather_facts(official: OfficialRun, work: RoundWork, items: Iterable[RoundWorkItem]) -> Facts:
    """GitHub's facts about the commits of some items and of the records that have none yet.

    All are asked about together, and each only once; commits of new items come first.
    """
    new = dict.fromkeys(sha for item in items for sha in sorted(_item_commits(work, item)))
    late = dict.fromkeys(sha for shas in work.unchecked_commits.values() for sha in shas)
    missing = [sha for sha in {**new, **late} if sha not in work.facts]
    return {**work.facts, **(official.ask(missing) if missing else {})}


def _item_commits(work: RoundWork, item: RoundWorkItem) -> set[str]:
    """The commits that an item's record depends on; in a duel an example's commit matters only as the beacon."""
    seeds = {item.wanted.beacon} if COMMIT_SHA.fullmatch(item.wanted.beacon) else set()
    is_alone = isinstance(item, WorkItem)
    return {
        work.version_commits[entry.version] for entry in item.players if is_alone or entry.login != EXAMPLES_LOGIN
    } | seeds


@dataclass(frozen=True, kw_only=True)
class ExpectedRound:
    """What the files of a round are checked against."""

    official: OfficialRun
    work: RoundWork
    facts: Facts
    now: datetime

    def mismatches(self, item: RoundWorkItem, record: Result | Duel) -> Iterator[str]:
        """Everything in which a record differs from the expected one; its numbers are checked by replay."""
        for name, value in self._expected_fields(item).items():
            if getattr(record, name) != value:
                is_sandbox = name == "sandbox"
                yield f"it was played in {record.sandbox}, not in {value}" if is_sandbox else _other(name)
        if isinstance(item, DuelWorkItem) and isinstance(record, Duel):
            for side, (entry, player) in enumerate(zip(item.entries, record.players, strict=True)):
                if player.version != entry.version or player.login_id is not None:
                    yield _other(f"player {side + 1}")
        if isinstance(record, Result) and (fault := record.gpus_fault(self.work.challenge.runners.gpus)):
            yield fault
        if (record.provenance.commit, record.provenance.run_url) != (self.work.sha, self.official.run_url):
            yield "the provenance is not this run's"
        at = datetime.strptime(record.provenance.evaluated_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        if not self._earliest(record) <= at <= self.now + SHARD_CLOCK_TOLERANCE:
            yield f"evaluated_at ({record.provenance.evaluated_at}) is not of this run"
        if len(record.versions) > 50 or (isinstance(record, Result) and len(record.metrics) > 50):
            yield "it names more versions or metrics than an evaluation has"

    def _earliest(self, record: Result | Duel) -> datetime:
        """When a record can have been made at the earliest: nothing is played before the run's plan.

        A run that waits for machines, continues, or is started again keeps its plan. Of a sealed record only the hour is
        told.
        """
        planned = self.work.plan_context.now - SHARD_CLOCK_TOLERANCE
        return planned.replace(minute=0, second=0) if record.is_sealed else planned

    def _expected_fields(self, item: RoundWorkItem) -> dict[str, Any]:
        limits, wanted = self.work.challenge.limits, item.wanted
        both = {
            "key": wanted.key(), "tier": Tier.OFFICIAL, "task": item.task_id, "task_digest": wanted.task_digest,
            "season": wanted.season, "beacon": wanted.beacon, "beacon_verified": False, "sandbox": self.official.sandbox,
            "runtime_digest": wanted.runtime_digest, "protocol": wanted.protocol, "limits": limits, "erased_sha256": None,
        }  # fmt: skip
        if isinstance(item, DuelWorkItem):
            return both
        entry = item.entry
        fields = {"login": entry.login, "login_id": None, "agent": entry.agent, "submission_digest": entry.digest}
        return {**both, **fields, "limits": entry.submission.allowed(limits)}

    def with_facts(self, item: RoundWorkItem, record: Result | Duel) -> Result | Duel:
        """A record that passed, with what only GitHub knows: shards have no token and cannot decide it."""
        document = {**record.document(), "beacon_verified": self._signed(item)}
        if isinstance(item, WorkItem):
            return Result.with_self_hash({**document, "login_id": self._login_id(item.entry)})
        players = zip(document["players"], item.entries, strict=True)
        return Duel.with_self_hash(
            {**document, "players": [{**player, "login_id": self._login_id(entry)} for player, entry in players]}
        )

    def _login_id(self, entry: Entry) -> int | None:
        """None for examples, which belong to no account."""
        commit = None if entry.login == EXAMPLES_LOGIN else self.facts.get(self.work.version_commits[entry.version])
        return commit.login_id_of(entry.login) if commit else None

    def _signed(self, item: RoundWorkItem) -> bool | None:
        """Whether all commits are signed; None if GitHub was not asked about one of them."""
        commits, facts = _item_commits(self.work, item), self.facts
        return all(facts[sha].is_signed_by_github for sha in commits) if all(sha in facts for sha in commits) else None

    def failed_record(self, item: RoundWorkItem, message: str) -> Result | Duel:
        """The record of an internal error, which is no agent's fault."""
        task, wanted = self.work.task(item), item.wanted
        expected = {name: value for name, value in self._expected_fields(item).items() if name != "tier"}
        evaluated_at = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        failed: dict[str, Any] = {
            **expected, "class": Tier.OFFICIAL, "verdict": Verdict.INTERNAL_ERROR, "message": message[:MESSAGE_CHARACTERS],
            "beacon_verified": self._signed(item),
            "provenance": Provenance(commit=self.work.sha, run_url=self.official.run_url, evaluated_at=evaluated_at),
        }  # fmt: skip
        if isinstance(item, DuelWorkItem):
            players = [
                {"login": e.login, "login_id": self._login_id(e), "agent": e.agent, "submission_digest": e.digest}
                for e in item.entries
            ]
            digests = item.wanted.submission_digests
            seeds = opening_seeds(wanted.season, wanted.beacon, digests, task.id, task.matches)
            return Duel.with_self_hash({**failed, "schema": DUEL_SCHEMA, "players": players, "seeds": seeds})
        if secret := required_secret(self.official.secret, self.work.challenge):
            seeds = secret.episode_seeds(wanted.season, task.id, task.counted)
        else:
            seeds = episode_seeds(wanted.season, wanted.beacon, item.wanted.submission_digest, task.id, task.counted)
        login_id = self._login_id(item.entry)
        return Result.with_self_hash({**failed, "schema": RESULT_SCHEMA, "login_id": login_id, "seeds": seeds, "cost": {}})


def _other(name: str) -> str:
    return f"{name} is not the one that was asked"


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
    write_atomically(copy.shard / "results" / (copy.path + RECORD_ENDING), content)
    if trace is not None:
        write_atomically(copy.shard / "traces" / (copy.path + TRACE_ENDING), trace)
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
    work = read_round_work(official, assignment.sha, assignment.results_sha)
    received = receive_shards(assignment, work, paths)
    files, secret = received.files, required_secret(official.secret, work.challenge)
    facts = _gather_facts(official, work, [file.item for file in files])
    expected = ExpectedRound(official=official, work=work, facts=facts, now=now)
    with scratch_folder("opened") as place:
        if secret:
            files = decrypted_copies(files, Path(place), secret)
        records, lines = _replay(expected, [(file, _faults_of(expected, file)) for file in files], secret)
    amended = list(amended_records(official, work, assignment.results_sha, facts, secret))
    store = record_store(accepted)
    written = [store.write(record, trace) for record, trace in records]
    hash_lists = write_hash_lists([*written, *write_amended(amended, accepted)], accepted)
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
        return tuple(expected.mismatches(file.item, _parse_for_item(file.item, file.result.read_bytes())))
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
            record = _parse_for_item(file.item, file.result.read_bytes())
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
