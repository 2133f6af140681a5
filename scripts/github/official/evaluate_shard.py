"""The official run's job `evaluate`: plays one shard of the round that was planned."""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path

from pydantic import Field

from evaluator.host.attempts.attempt import MAX_ATTEMPTS
from evaluator.host.docker.agent_image import IMAGE_FETCH_SECONDS, LOAD_SECONDS
from evaluator.host.duels.evaluate_duel import WALL_FACTOR, WALL_SPARE, DuelRequest
from evaluator.host.errors import SandboxError
from evaluator.host.sandboxes.sandbox import START_SLOT_SECONDS
from evaluator.host.solo.evaluate_agent import EvaluationRequest
from evaluator.model.base import Frozen
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission import SubmissionKind
from evaluator.model.identifiers import CommitSha, Digest
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName, Entry
from leaderboard.core.store import ResultStore, write_atomically
from leaderboard.planning.missing_work import DuelWorkItem, WorkItem
from scripts.console import OUR_FAULT, CommandError, escape_commands, say
from scripts.git.main_entries import submission_at
from scripts.git.weights_branch import bring_weights
from scripts.github.official.round_work import (
    OfficialRun,
    RoundWork,
    RoundWorkItem,
    read_round_work,
)
from scripts.github.workflow.sealed_jobs import required_secret
from scripts.repository.checkout import AgentFolder
from scripts.repository.layout import record_store
from scripts.repository.season_file import seal_result
from scripts.runs.local_evaluator import Evaluator
from scripts.runs.parallel_jobs import ParallelJob, run_jobs
from scripts.runs.play_duels import DuelRunner, log_line

Played = Duel | tuple[Result, bytes | None]
CLAIM_FILE = "shard.json"
# The workflow step times out a little later and loses what is being played, so nothing is started that could last that long.
# Otherwise an agent could stall on bad episodes until the timeout, and be played again.
JOB_STEP_SECONDS = 320 * 60.0


class ShardClaim(Frozen):
    """shard.json: what a shard says it was asked to play."""

    schema_version: int = Field(default=1, alias="schema", ge=1, le=1)
    shard: int = Field(ge=0, lt=256)
    shards: int = Field(ge=1, le=256)
    sha: CommitSha
    results_sha: CommitSha | None
    """None before the first results."""
    keys: tuple[Digest, ...] = Field(max_length=100_000)


@dataclass(frozen=True, kw_only=True)
class ShardAssignment:
    """One shard of a round, as the job matrix names it."""

    sha: str
    results_sha: str
    """Commit of the results branch; empty before the first results."""
    shards: int
    shard: int = 0

    def claim(self, keys: tuple[str, ...]) -> ShardClaim:
        """The claim that the shard writes."""
        return ShardClaim.model_validate(
            {
                "schema": 1, "shard": self.shard, "shards": self.shards, "sha": self.sha,
                "results_sha": self.results_sha or None, "keys": keys,
            }
        )  # fmt: skip


def evaluate_shard(
    official: OfficialRun,
    evaluator: Evaluator,
    assignment: ShardAssignment,
    out: Path,
    clock: Callable[[], float] = time.monotonic,
    at_once: int | None = None,
) -> int:
    """Play one shard into a folder; returns the number of its results. If killed, only what is being played is lost.

    Raises:
        CommandError: the shard does not exist, or the runtime here is not the planned one.
    """
    work = _assigned_work(official, evaluator, assignment)
    is_sealed = work.challenge.sealed is not None
    items = work.shard(assignment.shard)
    _write_claim(out, assignment, items)
    store = record_store(out)
    shard_time = _ShardTime(limits=work.challenge.limits, share=work.challenge.runners.shard_seconds, clock=clock)
    shard_time.begin(items)
    runner = DuelRunner(evaluator=evaluator)
    _warm_images(evaluator, items)
    if is_sealed:
        at_once = 1  # All play the same episodes: who runs beside another could be told of them, by timing alone.
    played_count = 0
    faults: list[str] = []
    for batch in in_batches(items):
        jobs = [_job(official, runner, work, item) for item in batch]
        try:
            for index, played in run_jobs(jobs, at_once, quiet=is_sealed, may_start=partial(shard_time.may_start, batch)):
                shard_time.end(batch[index])
                played_count += 1
                try:
                    line = _record(store, played)
                except OSError as error:  # A disk that somebody's image filled must not end what others play.
                    faults.append(f"a result cannot be written ({error.strerror}); it is played again in the next round")
                    continue
                if not is_sealed:  # Else the log's times would show how long each took.
                    say(line)
        except CommandError as error:  # What ends one batch must not keep the next ones from being played.
            faults.append(str(error))
        for item in batch:  # Also what failed.
            shard_time.end(item)
    if faults:
        raise CommandError(OUR_FAULT, *faults)
    if played_count < len(items):
        say(f"{len(items) - played_count} evaluations are left for the next round: time is up, or others' work came first.")
    return played_count


_ItemId = tuple[tuple[AgentName, ...], str, str]


def _item_id(item: RoundWorkItem) -> _ItemId:
    """What tells an item from all others: the key alone is the same for two owners of the same files on one draw."""
    return tuple(player.name for player in item.players), item.task_id, item.wanted.key()


@dataclass(kw_only=True)
class _ShardTime:
    """What may still be started in the time of a shard.

    Work is packed by the time that is expected of it. An owner whose agents use up all of that alone starts nothing more
    while somebody else's work waits, such as for files to fetch, which is played last: they could keep it waiting forever.
    """

    limits: Limits
    share: float
    """The seconds that the shard was packed for: the most that one owner uses before the others."""
    clock: Callable[[], float]
    _begun: float = 0.0
    _owners: dict[_ItemId, str] = field(default_factory=dict)
    """Whose time each item uses."""
    _waiting: set[_ItemId] = field(default_factory=set)
    """What is neither started nor left out."""
    _used: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """By owner, in seconds."""
    _started: dict[_ItemId, float] = field(default_factory=dict)
    """When each item that is played was started."""

    def begin(self, items: Sequence[RoundWorkItem]) -> None:
        """Start the clock for these."""
        self._begun = self.clock()
        counts = Counter(login for item in items for login in {player.name.login for player in item.players})
        del counts[EXAMPLES_LOGIN]
        for item in items:  # A duel uses the time of whom more of this work is of.
            owner = max({player.name.login for player in item.players}, key=lambda login: (counts[login], login))
            self._owners[_item_id(item)] = owner
        self._waiting = set(self._owners)

    def may_start(self, batch: Sequence[RoundWorkItem], index: int) -> bool:
        """Whether an item is started now; otherwise it is left out."""
        now, key = self.clock(), _item_id(batch[index])
        owner = self._owners[key]
        self._waiting.discard(key)
        longest = longest_seconds(self.limits, is_duel=isinstance(batch[index], DuelWorkItem))
        # If the limits exceed the step, evaluations may still start within the time the shard was packed for.
        is_in_time = now - self._begun <= max(JOB_STEP_SECONDS - longest, self.share)
        if not is_in_time or (self._is_over(owner, now) and self._others_wait(owner, now)):
            return False
        self._started[key] = now
        return True

    def end(self, item: RoundWorkItem) -> None:
        """Count the time of an item; one that was not started is left out."""
        key = _item_id(item)
        self._waiting.discard(key)
        if key in self._started:
            self._used[self._owners[key]] += self.clock() - self._started.pop(key)

    def _is_over(self, owner: str, now: float) -> bool:
        running = sum(now - since for key, since in self._started.items() if self._owners[key] == owner)
        return owner != EXAMPLES_LOGIN and self._used[owner] + running > self.share

    def _others_wait(self, owner: str, now: float) -> bool:
        others = {self._owners[key] for key in self._waiting} - {owner}
        return any(not self._is_over(other, now) for other in others)


def in_batches(items: Iterable[RoundWorkItem]) -> list[list[RoundWorkItem]]:
    """What is played one batch after the other: first what waits for nobody's files, last the duels that do.

    Those duels begin in a second that an owner's host chooses: what came after one could read in the clock how to play.
    """

    def order(item: RoundWorkItem) -> int:
        submissions = [entry.submission for entry in item.players]
        is_fetched = any(submission.weights or submission.kind is SubmissionKind.IMAGE for submission in submissions)
        return is_fetched + (is_fetched and isinstance(item, DuelWorkItem))

    return [list(batch) for _, batch in groupby(sorted(items, key=order), key=order)]


def _assigned_work(official: OfficialRun, evaluator: Evaluator, assignment: ShardAssignment) -> RoundWork:
    """The round that an assignment is of, if it can be played here."""
    work = read_round_work(official, assignment.sha, assignment.results_sha)
    if len(work.packing.shards) != assignment.shards or not 0 <= assignment.shard < assignment.shards:
        raise CommandError(OUR_FAULT, f"shard {assignment.shard} of {assignment.shards} does not exist; plan again")
    if evaluator.runtime_digest != official.runtime_digest:
        raise CommandError(OUR_FAULT, "the sandbox here is not the one that was planned with; pin the base image by digest")
    required_secret(official.secret, work.challenge)  # Before anything is played.
    return work


def _write_claim(out: Path, assignment: ShardAssignment, items: Sequence[RoundWorkItem]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    claim = assignment.claim(tuple(item.wanted.key() for item in items))
    write_atomically(out / CLAIM_FILE, json.dumps(claim.model_dump(mode="json", by_alias=True)).encode() + b"\n")


def _warm_images(evaluator: Evaluator, items: Iterable[RoundWorkItem]) -> None:
    """Read all files of the images that these agents run in: which are in memory would tell what an agent has read."""
    submissions = [entry.submission for item in items for entry in item.players]
    for needs in sorted({s.needs for s in submissions if s.kind is not SubmissionKind.IMAGE}):
        try:
            evaluator.sandbox.warm(needs)
        except SandboxError as error:
            say(escape_commands(f"Which files of the image are in memory may tell one agent what another has read: {error}"))


def longest_seconds(limits: Limits, *, is_duel: bool) -> float:
    """The longest time an evaluation or a duel can take: two starts, and all that the watchdog allows."""
    starts = MAX_ATTEMPTS * (IMAGE_FETCH_SECONDS + LOAD_SECONDS + 2 * limits.start_seconds)
    if is_duel:
        return starts + WALL_FACTOR * limits.wall_seconds + WALL_SPARE
    return starts + MAX_ATTEMPTS * START_SLOT_SECONDS + limits.wall_seconds


def _job(official: OfficialRun, runner: DuelRunner, work: RoundWork, item: RoundWorkItem) -> ParallelJob[Played]:
    """One evaluation or duel. Its files are read again when it is played: those of a whole shard may not fit in memory."""

    def read() -> ParallelJob[Played]:
        if isinstance(item, DuelWorkItem):
            duel = runner.job(_duel_request(official, runner, work, item))
            return duel.playing(duel.play)
        request = _evaluation_request(official, runner.evaluator, work, item)
        solo = runner.evaluator.job(request)
        return solo.playing(lambda report: seal_result(work.challenge, request.secret, *solo.play(report)))

    return read().playing(lambda report: read().play(report))


def _record(store: ResultStore, played: Played) -> str:
    """Record what was played; returns a line about its outcome."""
    record, trace = (played, None) if isinstance(played, Duel) else played
    store.write(record, trace)
    if isinstance(record, Result) and record.continued_after:
        say(f"{record.task}: interrupted, and continued after {record.continued_after[-1]} episodes.")
    return log_line(record)


def _evaluation_request(official: OfficialRun, evaluator: Evaluator, work: RoundWork, item: WorkItem) -> EvaluationRequest:
    request = evaluator.request(_agent(official, work, item.entry), work.task(item), item.wanted.beacon)
    # Publish asks who signed the beacon and who opened the pull request: once, and not on this machine.
    secret = required_secret(official.secret, work.challenge)
    return replace(
        request, tier=Tier.OFFICIAL, commit=work.sha, run_url=official.run_url, secret=secret, owner_liable=item.owner_liable
    )


def _duel_request(official: OfficialRun, runner: DuelRunner, work: RoundWork, item: DuelWorkItem) -> DuelRequest:
    one, other = (_agent(official, work, entry) for entry in item.entries)
    request = runner.request(one, other, work.task(item), item.wanted.beacon)
    return replace(request, tier=Tier.OFFICIAL, commit=work.sha, run_url=official.run_url, liable_side=item.liable_side)


def _agent(official: OfficialRun, work: RoundWork, entry: Entry) -> AgentFolder:
    """An entry's files, and the board's own copies of its weights."""
    submission = submission_at(official.clone, work.entries_sha, entry, work.challenge.submissions)
    bring_weights(official.clone, submission.folder.submission.weights)
    return submission
