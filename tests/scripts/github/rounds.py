"""A whole official round in tests: plan, evaluate and publish on real remotes, agents in the process sandbox."""

import functools
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluator.model.records.result import Result
from leaderboard.core.store import RECORD_ENDING
from scripts.git.data_branches import PushRetries
from scripts.github.official import check_shards, evaluate_shard, plan_shards, record_results
from scripts.github.official.evaluate_shard import ShardAssignment
from scripts.github.official.github_commits import AskGitHub, GitHubCommit
from scripts.github.official.plan_shards import PlannedShards
from scripts.github.official.round_work import OfficialRun, open_official
from scripts.repository.checkout import Checkout
from scripts.runs.local_evaluator import Evaluator, open_evaluator
from tests.scripts.github.remotes import AGENT, Clone, agent_files, git, make_board

RUN = "https://github.example/o/b/actions/runs/7"


def no_pause(attempt: int) -> None:
    """Others are never first in most tests."""
    raise AssertionError(f"others were first, attempt {attempt}")


def open_run(clone: Clone, signed: Callable[[str], bool] = lambda sha: True) -> OfficialRun:
    """An official run that trusts the process sandbox."""
    return open_official(clone.repository, ("process", ""), answers(signed), RUN)


def answers(signed: Callable[[str], bool] = lambda sha: True) -> AskGitHub:
    """GitHub says of every commit whether it is signed, and that Alice, number 11, opened its pull request."""
    return lambda shas: {sha: GitHubCommit(is_signed_by_github=signed(sha), authors={"alice": 11}) for sha in shas}


ALONE = PushRetries(tries=1, pause=no_pause)


@functools.cache
def evaluator_of(root: Path) -> Evaluator:
    """The process sandbox on a clone whose challenge.yml is checked out."""
    return open_evaluator(Checkout(root), "process")


@dataclass(frozen=True)
class Round:
    """One round and where its files lie."""

    clone: Clone
    run: OfficialRun
    planned: PlannedShards
    place: Path

    def assignment(self, shard: int = 0) -> ShardAssignment:
        planned = self.planned
        return ShardAssignment(sha=planned.sha, results_sha=planned.results_sha, shards=len(planned.shards), shard=shard)

    def folder(self, shard: int = 0) -> Path:
        return self.place / f"shard-{shard}"

    def evaluate(self, shard: int = 0) -> Path:
        evaluate_shard.evaluate_shard(self.run, evaluator_of(self.clone.path), self.assignment(shard), self.folder(shard))
        return self.folder(shard)

    def check(self, *folders: Path, run: OfficialRun | None = None) -> check_shards.CheckedShards:
        shutil.rmtree(self.place / "accepted", ignore_errors=True)
        now = datetime.now(UTC)
        return check_shards.check_shards(
            run or self.run, self.assignment(), folders or [self.place], self.place / "accepted", now
        )

    def record(self) -> record_results.PublishedRound:
        return record_results.record_accepted(self.run, "1", self.place / "accepted", datetime.now(UTC), ALONE)


def plan_round(clone: Clone, place: Path) -> Round:
    """Plan what main asks for now."""
    git(clone.path, "checkout-index", "-f", "challenge.yml")
    run = open_run(clone)
    return Round(clone, run, plan_shards.plan_shards(run), place)


def whole_round(clone: Clone, place: Path) -> record_results.PublishedRound:
    """Plan, evaluate every shard, publish."""
    begun = plan_round(clone, place)
    for shard in begun.planned.shards:
        begun.evaluate(shard)
    begun.check()
    return begun.record()


def forge(folder: Path, task: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Path:
    """Change a handed-in result and seal it anew, as whoever escaped into a shard could."""
    path = next(p for p in (folder / "results").glob(f"{task}/*/*/*{RECORD_ENDING}"))
    document = json.loads(path.read_bytes())
    path.write_bytes(Result.with_self_hash(change(document)).serialised())
    return path


def play_two_agents(place: Path) -> Round:
    """A round of two agents by two commits, planned and played."""
    board = make_board(place / "board", agent_files("alice"))
    board.commit(agent_files("bob", "b", AGENT.replace(b"0", b"1")))
    board.push()
    begun = plan_round(board, place / "in")
    for shard in begun.planned.shards:
        begun.evaluate(shard)
    return begun
