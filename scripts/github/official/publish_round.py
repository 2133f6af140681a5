"""Publishes a round of the official run: checks what its shards hand in, records it, and says whether another is needed."""

import enum
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

from scripts.console import say
from scripts.git.main_entries import read_entries
from scripts.github.official import failure_issues, publish_report
from scripts.github.official.check_shards import check_shards
from scripts.github.official.record_results import record_accepted
from scripts.github.official.shard_jobs import ShardAssignment, is_more_wanted
from scripts.github.official.workload import OfficialRun
from scripts.github.workflow.event import WorkflowEnvironment
from scripts.github.workflow.outputs import write_output, write_summary
from scripts.github.workflow.step_access import open_github
from scripts.repository.checkout import open_checkout
from scripts.runs.weights_branch import keep_weights


@enum.unique
class PublishStep(enum.StrEnum):
    """The steps of a publish; each is a job, since only the second may write."""

    CHECK = "check"
    RECORD = "record"


def publish_round(
    official: OfficialRun,
    assignment: ShardAssignment,
    paths: Sequence[Path],
    accepted: Path,
    environment: WorkflowEnvironment,
    steps: Collection[PublishStep],
) -> None:
    """Take the steps; a failure is reported in an issue, which the next success closes.

    `paths`: folders of shards. `accepted`: the folder of accepted files, which the first step writes and the second reads.

    Raises:
        CommandError: a step failed, or nothing was recorded though results are missing.
    """
    github = open_github(environment)
    with publish_report.report_failures(github, environment, accepted):
        if PublishStep.CHECK in steps:
            _check(environment, official, assignment, paths, accepted)
        if PublishStep.RECORD not in steps:
            return
        recorded = _record(environment, official, accepted)
        if not recorded:
            publish_report.refuse_empty_round(publish_report.missing_items(official, assignment, accepted))
    failure_issues.close_publish_issue(github, environment)
    # If nothing was new, another round now would end the same way; the hourly run tries again.
    again = bool(recorded) and is_more_wanted(official, datetime.now(UTC))
    write_output(environment.output_path, "again", again)


def _check(
    environment: WorkflowEnvironment,
    official: OfficialRun,
    assignment: ShardAssignment,
    paths: Sequence[Path],
    accepted: Path,
) -> None:
    checked = check_shards(official, assignment, paths, accepted, datetime.now(UTC))
    publish_report.write_round_report(accepted, assignment.shards, checked)
    for line in checked.refused:
        say(f"Refused: {line}")
    say(f"{len(checked.accepted)} results passed; {len(checked.lost)} shards handed in nothing usable.")
    if checked.late:
        say(f"There was no time to replay {checked.late} results; the next round plays them again.")
    write_output(environment.output_path, "manifests", list(range(checked.manifests)))


def _record(environment: WorkflowEnvironment, official: OfficialRun, accepted: Path) -> int:
    """Record what is accepted; returns how many records are new."""
    challenge = open_checkout(environment.workspace.resolve()).challenge
    entries, _ = read_entries(official.clone, official.clone.resolve("HEAD") or "", challenge)
    # Before anything is recorded: what ranks can then be played again, whatever becomes of its address.
    keep_weights(official.clone, (file for entry in entries for file in entry.submission.weights), datetime.now(UTC))
    published = record_accepted(official, challenge.season, accepted, datetime.now(UTC))
    recorded, already_recorded = len(published.recorded), published.known
    write_summary(environment.summary_path, publish_report.publish_summary(accepted, recorded, already_recorded))
    say(f"{recorded} results were recorded, {already_recorded} were recorded already.")
    if published.amended:
        say(f"{published.amended} older results have their commits confirmed by GitHub now.")
    return recorded
