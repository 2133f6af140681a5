"""The official run's first two jobs: `plan` says how many shards there are, `evaluate` plays one of them."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from evaluator.host.docker.agent_image import LOAD_SECONDS, PULL_SECONDS
from evaluator.host.duels.evaluate_duel import WALL_FACTOR, WALL_SPARE, DuelPlayer
from evaluator.host.solo.evaluate_agent import ATTEMPTS, EvaluationRequest
from evaluator.model.base import Frozen
from evaluator.model.config.challenge import Challenge, Limits
from evaluator.model.identifiers import Digest
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import Sha
from evaluator.model.records.result import Result, Tier, sealed
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Entry
from leaderboard.core.store import ResultStore, write_atomically
from leaderboard.planning.missing import DuelWorkItem, WorkItem, shown
from leaderboard.planning.reasons import reason_in_words
from leaderboard.planning.shards import Capacity, minutes
from scripts.console import OUR_FAULT, CommandError, say
from scripts.git.data_branches import newest_results
from scripts.git.main_entries import found_at
from scripts.github.official.workload import OfficialRun, Workload, WorkloadItem, read_work
from scripts.github.workflow.outputs import escape_commands
from scripts.github.workflow.season_key import season_secret
from scripts.repository.season_file import sealed_with
from scripts.runs.evaluate_missing import Evaluator
from scripts.runs.workflow_duels import WorkflowDuelOptions, duel_line, play_duel

CLAIM = "shard.json"
# The step of the workflow that evaluates ends a little later, and loses what is being played then: nothing is begun that
# could last so long. Otherwise an agent that does not like its episodes could stall until the end, and be played anew.
STEP_SECONDS = 320 * 60.0


class ShardClaim(Frozen):
    """shard.json: what a shard says it was asked."""

    schema_version: int = Field(default=1, alias="schema", ge=1, le=1)
    """Version of this form."""
    shard: int = Field(ge=0, lt=256)
    """Its number."""
    shards: int = Field(ge=1, le=256)
    """Of how many."""
    sha: Sha
    """The commit of main."""
    results_sha: Sha | None
    """The commit of the results branch; null before the first one."""
    keys: tuple[Digest, ...] = Field(max_length=100_000)
    """What it was to play, in order."""


@dataclass(frozen=True, kw_only=True)
class ShardAssignment:
    """One shard of a round, as the matrix carries it."""

    sha: str
    """The commit of main."""
    results_sha: str
    """The commit of the results branch; empty before the first one."""
    shards: int
    """Shards of the round."""
    shard: int = 0
    """This one."""

    def claim(self, keys: tuple[str, ...]) -> ShardClaim:
        """What the shard says of itself."""
        return ShardClaim.model_validate(
            {
                "schema": 1, "shard": self.shard, "shards": self.shards, "sha": self.sha,
                "results_sha": self.results_sha or None, "keys": keys,
            }
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PlannedShards:
    """One round, as the plan job hands it on."""

    shards: tuple[int, ...]
    """The matrix; empty when there is nothing to do."""
    count: int
    """Evaluations in this round."""
    left: int
    """Evaluations for later rounds."""
    sha: str
    """The commit of main."""
    results_sha: str
    """The commit of the results branch; empty before the first one."""
    labels: tuple[str, ...]
    """Labels of the machines to run on."""
    at_once: int
    """Machines side by side."""
    expected_minutes: float
    """How long the round should take."""
    moment: str = ""
    """When this was planned, and what was asked then; the other jobs are handed it."""
    unasked: int = 0
    """Records that GitHub is still to be asked about; publish does."""
    held: tuple[str, ...] = ()
    """What phases, people and quotas keep out, a line each."""

    def outputs(self) -> dict[str, Any]:
        """The job's outputs: every value is JSON, made here and nowhere else."""
        return {
            "shards": list(self.shards), "total": len(self.shards), "count": self.count, "left": self.left, "sha": self.sha,
            "results_sha": self.results_sha, "labels": list(self.labels), "at_once": self.at_once, "moment": self.moment,
            "unasked": self.unasked,
        }  # fmt: skip


def plan(official: OfficialRun, results_sha: str | None = None) -> PlannedShards:
    """What the newest commit of main asks for, against the newest results or the given ones."""
    sha = official.clone.resolve("HEAD")
    if sha is None:
        raise CommandError(OUR_FAULT, "there is no commit here; run this in a clone of the board")
    results_sha = newest_results(official.clone) if results_sha is None else results_sha
    work = read_work(official, sha, results_sha)
    runners = work.challenge.runners
    return PlannedShards(
        shards=tuple(range(len(work.packing.shards))),
        count=len(work.items) - len(work.packing.left),
        left=len(work.packing.left),
        sha=sha,
        results_sha=results_sha,
        labels=runners.labels,
        at_once=runners.at_once,
        expected_minutes=minutes(work.packing, runners.at_once),
        moment=work.moment.serialised(),
        unasked=len(work.unasked),
        held=tuple(f"{shown(held.item)}: {reason_in_words(held.reason)}" for held in work.held),
    )


def is_more_wanted(official: OfficialRun) -> bool:
    """Whether main asks for more than is recorded now: who passed a validation has opponents, and they change with him."""
    sha = official.clone.resolve("HEAD") or ""
    return bool(read_work(official, sha, newest_results(official.clone)).items)


def evaluate(
    official: OfficialRun,
    bench: Evaluator,
    assignment: ShardAssignment,
    out: Path,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Play one shard into a folder; returns how many results lie there. A kill loses only what was being played.

    Raises:
        CommandError: the shard does not exist, or this machine would measure with another runtime than was planned.
    """
    work = read_work(official, assignment.sha, assignment.results_sha)
    if len(work.packing.shards) != assignment.shards or not 0 <= assignment.shard < assignment.shards:
        raise CommandError(OUR_FAULT, f"shard {assignment.shard} of {assignment.shards} does not exist; plan again")
    if bench.runtime_digest != official.runtime_digest:
        raise CommandError(OUR_FAULT, "the sandbox here is not the one that was planned with; pin the base image by digest")
    season_secret(official.secret, work.challenge)  # before anything is played
    items = work.shard(assignment.shard)
    out.mkdir(parents=True, exist_ok=True)
    claim = assignment.claim(tuple(item.wanted.key() for item in items))
    write_atomically(out / CLAIM, json.dumps(claim.model_dump(mode="json", by_alias=True)).encode() + b"\n")
    store = ResultStore(results=out / "results", traces=out / "traces")
    begun = clock()
    for number, item in enumerate(items):
        longest = longest_seconds(work.challenge.limits, is_duel=isinstance(item, DuelWorkItem))
        # Where the limits are beyond any job, each may still begin in the time that the shard was packed for.
        if clock() - begun > max(STEP_SECONDS - longest, Capacity().shard_seconds):
            say(f"Time is up; {len(items) - number} evaluations are left for the next round.")
            return number
        said = _played(official, bench, work, item, store)
        if work.challenge.sealed is None:  # else the moment of a line would tell how long it took
            say(said)
    return len(items)


def longest_seconds(limits: Limits, *, is_duel: bool) -> float:
    """What an evaluation or a duel may last, whatever becomes of it: two starts, and then all that the watchdog allows."""
    starts = ATTEMPTS * (PULL_SECONDS + LOAD_SECONDS + 2 * limits.start_seconds)
    return starts + (WALL_FACTOR * limits.wall_seconds + WALL_SPARE if is_duel else limits.wall_seconds)


def _played(official: OfficialRun, bench: Evaluator, work: Workload, item: WorkloadItem, store: ResultStore) -> str:
    """Play one evaluation or duel into the store; returns what came of it in a line."""
    if isinstance(item, DuelWorkItem):
        duel = _duel(official, bench, work, item)
        store.write_duel(duel)
        return duel_line(duel)
    order = _order(official, bench, work, item)
    result, trace = bench.run(order, quiet=order.secret is not None)
    if order.secret:
        result, trace = _sealed(work.challenge, order, result, trace)
    store.write(result, trace)
    return f"{result.login}/{result.agent} on {result.task}: {result.verdict}{_why(result.verdict, result.message)}"


def _sealed(
    challenge: Challenge, order: EvaluationRequest, result: Result, trace: bytes | None
) -> tuple[Result, bytes | None]:
    """The same, sealed. What has no score to show is a failure of ours, and takes no other's result with it."""
    assert order.secret is not None
    try:
        return sealed_with(challenge, order.secret, result, trace)
    except CommandError as error:
        kept = {name: value for name, value in result.document().items() if name not in ("returns", "lengths", "script")}
        failed = {**kept, "verdict": Verdict.INTERNAL_ERROR, "message": str(error), "metrics": {}, "trace_sha256": None}
        return sealed_with(challenge, order.secret, sealed({**failed, "seeds": order.seeds()}), None)


def _why(verdict: Verdict, message: str) -> str:
    """Our own failures are told in the log; what an agent says never is, for a log line can be a command there."""
    return f": {escape_commands(message.splitlines()[0])}" if verdict is Verdict.INTERNAL_ERROR and message else ""


def _order(official: OfficialRun, bench: Evaluator, work: Workload, item: WorkItem) -> EvaluationRequest:
    found = found_at(official.clone, work.sha, item.entry, work.challenge.submissions)
    order = bench.order(found, work.task(item), item.wanted.beacon)
    # Who signed the beacon and who opened the pull request is publish's to ask: once, and not on this machine.
    secret = season_secret(official.secret, work.challenge)
    return replace(order, tier=Tier.OFFICIAL, commit=work.sha, run_url=official.run_url, secret=secret)


def _duel(official: OfficialRun, bench: Evaluator, work: Workload, item: DuelWorkItem) -> Duel:
    first, second = (_contender(official, work, entry) for entry in item.entries)
    terms = WorkflowDuelOptions(tier=Tier.OFFICIAL, beacon=item.wanted.beacon, commit=work.sha, run_url=official.run_url)
    return play_duel(bench, work.task(item), (first, second), terms, quiet=False)


def _contender(official: OfficialRun, work: Workload, entry: Entry) -> DuelPlayer:
    found = found_at(official.clone, work.sha, entry, work.challenge.submissions)
    return DuelPlayer(login=found.login, login_id=None, agent=found.agent, folder=found.folder)
