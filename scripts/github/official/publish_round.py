"""Publishes a round of the official run: checks what its shards hand in, records it, and says whether another is needed."""

import enum
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from evaluator.model.config.submission import WeightsFile
from evaluator.model.records.parse import parse_record
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Entry
from scripts.console import say
from scripts.git.data_branches import read_recorded
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
from scripts.repository.layout import record_store
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
        recorded = _record(environment, official, assignment, accepted)
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
    if checked.unreplayed:
        say(f"There was no time to replay {checked.unreplayed} results; the next round plays them again.")
    write_output(environment.output_path, "hash_lists", list(range(checked.hash_lists)))


def weights_to_keep(
    official: OfficialRun, assignment: ShardAssignment, accepted: Path, entries: Iterable[Entry]
) -> list[WeightsFile]:
    """The files of versions that were measured: a quota bounds them, and not what one merge brings to main."""
    named = [entry for entry in entries if entry.submission.weights]
    if not named:
        return []
    store = record_store(accepted)
    brought = (parse_record(path.read_bytes(), quick=True) for path in (*store.files(), *store.duel_files()))
    measured = {
        (side.login.casefold(), side.submission_digest)
        for record in chain(*read_recorded(official.clone, assignment.results_sha), brought)
        if record.verdict is not Verdict.INTERNAL_ERROR
        for side in record.sides
    }
    kept = (entry for entry in named if (entry.login.casefold(), entry.digest) in measured)
    return [file for entry in kept for file in entry.submission.weights]


def _record(environment: WorkflowEnvironment, official: OfficialRun, assignment: ShardAssignment, accepted: Path) -> int:
    """Record what is accepted; returns how many records are new."""
    challenge = open_checkout(environment.workspace.resolve()).challenge
    entries, _ = read_entries(official.clone, official.clone.resolve("HEAD") or "", challenge)
    # Before anything is recorded: what ranks can then be played again, whatever becomes of its address.
    keep_weights(official.clone, weights_to_keep(official, assignment, accepted, entries), datetime.now(UTC))
    published = record_accepted(official, challenge.season, accepted, datetime.now(UTC))
    recorded, already_recorded = len(published.recorded), published.known
    write_summary(environment.summary_path, publish_report.publish_summary(accepted, recorded, already_recorded))
    say(f"{recorded} results were recorded, {already_recorded} were recorded already.")
    if published.amended:
        say(f"{published.amended} older results have their commits confirmed by GitHub now.")
    return recorded
