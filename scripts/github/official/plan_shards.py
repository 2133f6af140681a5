"""The official run's job `plan`: whether there is anything to evaluate, and in which shards."""

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from leaderboard.planning.missing_work import work_in_words
from leaderboard.planning.pack_shards import round_minutes
from leaderboard.planning.refusal_reasons import reason_in_words
from scripts.console import OUR_FAULT, CommandError, escape_commands, say
from scripts.git.data_branches import results_commit
from scripts.github.official.round_work import (
    PLANNED_BRANCH,
    OfficialRun,
    is_noted,
    note_nothing_missing,
    read_round_work,
    read_rules,
)
from scripts.github.workflow.outputs import write_output

# How many deferred evaluations are printed.
MAX_DEFERRED_LINES = 200


@dataclass(frozen=True, kw_only=True)
class PlannedShards:
    """One round, as the plan job hands it on."""

    shards: tuple[int, ...] = ()
    count: int = 0
    left: int = 0
    """Evaluations for later rounds."""
    sha: str
    results_sha: str
    """Commit of the results branch; empty before the first results."""
    labels: tuple[str, ...]
    at_once: int
    expected_minutes: float = 0.0
    plan_context: str = ""
    """The serialised `PlanContext` for the other jobs."""
    unasked: int = 0
    """Records whose commits GitHub was not asked about yet; publish asks."""
    deferred: tuple[str, ...] = ()
    """A line for each evaluation that phases, people or quotas keep out."""

    def outputs(self) -> dict[str, Any]:
        """The job's outputs."""
        return {
            "shards": list(self.shards), "total": len(self.shards), "count": self.count, "left": self.left, "sha": self.sha,
            "results_sha": self.results_sha, "labels": list(self.labels), "at_once": self.at_once,
            "plan_context": self.plan_context, "unasked": self.unasked,
        }  # fmt: skip


def output_plan(path: Path | None, planned: PlannedShards) -> None:
    """Write the plan job's outputs, and say what is planned and what is not yet."""
    outputs = planned.outputs()
    for name, value in {**outputs, "runner": outputs["labels"]}.items():
        write_output(path, name, value)
    for line in planned.deferred[:MAX_DEFERRED_LINES]:
        say(f"Not now: {escape_commands(line)}")
    say(f"{planned.count} evaluations in {len(planned.shards)} shards, {planned.expected_minutes:.0f} minutes expected.")


def plan_shards(official: OfficialRun) -> PlannedShards:
    """Plan a round of main's newest commit against the newest results."""
    sha = official.clone.resolve("HEAD")
    if sha is None:
        raise CommandError(OUR_FAULT, "there is no commit here; run this in a clone of the board")
    results_sha = results_commit(official.clone)
    challenge, _ = read_rules(official.clone, sha)
    nothing = PlannedShards(
        sha=sha, results_sha=results_sha, labels=challenge.runners.labels, at_once=challenge.runners.at_once,
        plan_context=official.plan_context.serialised(),
    )  # fmt: skip
    if is_noted(official, challenge, sha, results_sha):
        say(f"Nothing is missing, as the branch {PLANNED_BRANCH} says of the same commits; tomorrow all is read again.")
        return nothing
    work = read_round_work(official, sha, results_sha)
    return replace(
        nothing,
        shards=tuple(range(len(work.packing.shards))),
        count=len(work.items) - len(work.packing.left),
        left=len(work.packing.left),
        expected_minutes=round_minutes(work.packing, nothing.at_once),
        plan_context=work.plan_context.serialised(),
        unasked=len(work.unchecked_commits),
        deferred=tuple(f"{work_in_words(held.item)}: {reason_in_words(held.reason)}" for held in work.deferred),
    )


def is_more_wanted(official: OfficialRun, now: datetime) -> bool:
    """Whether main asks for more than is recorded now: who passed a validation gets opponents. If not, that is noted."""
    sha, results_sha = official.clone.resolve("HEAD") or "", results_commit(official.clone)
    work = read_round_work(official, sha, results_sha)
    note_nothing_missing(official, work, results_sha, now)
    return bool(work.items)
