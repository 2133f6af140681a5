"""The official run's first two jobs: `plan` says how many shards there are, `evaluate` plays one of them."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from evaluator.host.evaluate import Order
from evaluator.model.base import Frozen
from evaluator.model.names import Digest
from evaluator.model.preview import Sha
from evaluator.model.result import Class
from evaluator.model.verdict import Verdict
from leaderboard.plan import Item
from leaderboard.shards import minutes
from leaderboard.store import Store, write_atomically
from scripts.board import Found
from scripts.bot.branches import newest_results
from scripts.bot.lines import harmless
from scripts.bot.wanted import Official, Work, place_of, read_agent, read_work
from scripts.console import OUR_FAULT, CommandError, say
from scripts.evaluating import Bench

CLAIM = "shard.json"
# A job of GitHub's ends at six hours; what was not begun by then is the next round's.
DEADLINE_SECONDS = 5 * 3600.0


class Claim(Frozen):
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
class Assignment:
    """One shard of a round, as the matrix carries it."""

    sha: str
    """The commit of main."""
    results_sha: str
    """The commit of the results branch; empty before the first one."""
    shards: int
    """Shards of the round."""
    shard: int = 0
    """This one."""

    def claim(self, keys: tuple[str, ...]) -> Claim:
        """What the shard says of itself."""
        return Claim.model_validate(
            {
                "schema": 1, "shard": self.shard, "shards": self.shards, "sha": self.sha,
                "results_sha": self.results_sha or None, "keys": keys,
            }
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Planned:
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

    def outputs(self) -> dict[str, Any]:
        """The job's outputs: every value is JSON, made here and nowhere else."""
        return {
            "shards": list(self.shards), "total": len(self.shards), "count": self.count, "left": self.left, "sha": self.sha,
            "results_sha": self.results_sha, "labels": list(self.labels), "at_once": self.at_once,
        }  # fmt: skip


def plan(official: Official, results_sha: str | None = None) -> Planned:
    """What the newest commit of main asks for, against the newest results or the given ones."""
    sha = official.clone.resolve("HEAD")
    if sha is None:
        raise CommandError(OUR_FAULT, "there is no commit here; run this in a clone of the board")
    results_sha = newest_results(official.clone) if results_sha is None else results_sha
    work = read_work(official, sha, results_sha)
    runners = work.challenge.runners
    return Planned(
        shards=tuple(range(len(work.packing.shards))),
        count=len(work.items) - len(work.packing.left),
        left=len(work.packing.left),
        sha=sha,
        results_sha=results_sha,
        labels=runners.labels,
        at_once=runners.at_once,
        expected_minutes=minutes(work.packing, runners.at_once),
    )


def evaluate(
    official: Official,
    bench: Bench,
    assignment: Assignment,
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
    items = work.shard(assignment.shard)
    out.mkdir(parents=True, exist_ok=True)
    claim = assignment.claim(tuple(item.wanted.key() for item in items))
    write_atomically(out / CLAIM, json.dumps(claim.model_dump(mode="json", by_alias=True)).encode() + b"\n")
    store = Store(results=out / "results", traces=out / "traces")
    end = clock() + DEADLINE_SECONDS
    for number, item in enumerate(items):
        if clock() > end:
            say(f"Time is up; {len(items) - number} evaluations are left for the next round.")
            return number
        result, trace = bench.run(_order(official, bench, work, item), quiet=False)
        store.write(result, trace)
        say(f"{result.login}/{result.agent} on {result.task}: {result.verdict}{_why(result.verdict, result.message)}")
    return len(items)


def _why(verdict: Verdict, message: str) -> str:
    """Our own failures are told in the log; what an agent says never is, for a log line can be a command there."""
    return f": {harmless(message.splitlines()[0])}" if verdict is Verdict.INTERNAL_ERROR and message else ""


def _order(official: Official, bench: Bench, work: Work, item: Item) -> Order:
    entry = item.entry
    folder = read_agent(official.clone, work.sha, entry, work.challenge.submissions)
    path = official.clone.path / place_of(entry)
    found = Found(login=entry.login, agent=entry.agent, path=path, folder=folder)
    task = work.challenge.task(item.task_id)
    assert task is not None
    order = bench.order(found, task, work.beacon(item).sha)
    # Who signed the beacon and who opened the pull request is publish's to ask: once, and not on this machine.
    return replace(order, klass=Class.OFFICIAL, commit=work.sha, run_url=official.run_url)
