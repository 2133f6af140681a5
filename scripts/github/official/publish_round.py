"""The last job of an official run: has its shards checked and recorded, and reports what was lost or failed.

It says, too, whether another round is needed.
"""

import enum
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission import WeightsFile
from evaluator.model.records.parse import parse_record
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Entry
from leaderboard.core.store import RECORD_ENDING, write_atomically
from leaderboard.text.escape_markdown import code
from scripts.console import OUR_FAULT, CommandError, escape_commands, say
from scripts.git.data_branches import open_branches, read_recorded, tip_of
from scripts.git.git_repository import GitRepository
from scripts.git.main_entries import read_entries
from scripts.git.season_commits import checked_season_commits
from scripts.git.weights_branch import keep_weights
from scripts.github.api.client import GitHub
from scripts.github.official.check_shards import CheckedShards, check_shards
from scripts.github.official.evaluate_shard import ShardAssignment
from scripts.github.official.failure_issues import close_publish_issue, update_publish_issue
from scripts.github.official.plan_shards import is_more_wanted
from scripts.github.official.record_results import record_accepted
from scripts.github.official.round_work import OfficialRun, RoundWorkItem, read_round_work, read_rules
from scripts.github.official.shard_artifacts import item_path
from scripts.github.workflow.event import WorkflowEnvironment, open_github
from scripts.github.workflow.outputs import write_output, write_summary
from scripts.github.workflow.sealed_jobs import padded_if_sealed
from scripts.repository.checkout import open_checkout
from scripts.repository.layout import MAIN_BRANCH, RESULTS_BRANCH, record_store

REPORT_FILE = "round.json"
# Lines shown in a log or an issue; the rest is counted.
LINES_SHOWN = 20


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
    with _report_failures(github, environment, accepted):
        if PublishStep.CHECK in steps:
            _check(environment, official, assignment, paths, accepted)
        if PublishStep.RECORD not in steps:
            return
        recorded = _record(environment, official, assignment, accepted)
        if not recorded and (items := _missing_items(official, assignment, accepted)):
            names = ", ".join(map(item_path, items[:3])) + (", …" if len(items) > 3 else "")
            raise CommandError(OUR_FAULT, f"nothing was recorded, though {len(items)} results were asked for: {names}")
    close_publish_issue(github, environment)
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
    # How long replays take tells of the episodes' lengths.
    with padded_if_sealed(open_checkout(environment.workspace.resolve()).challenge):
        checked = check_shards(official, assignment, paths, accepted, datetime.now(UTC))
    _write_round_report(accepted, assignment.shards, checked)
    for line in checked.refused:
        say(f"Refused: {line}")
    say(f"{len(checked.accepted)} results passed; {len(checked.lost)} shards handed in nothing usable.")
    if checked.unreplayed:
        say(f"There was no time to replay {checked.unreplayed} results; the next round plays them again.")
    write_output(environment.output_path, "hash_lists", list(range(checked.hash_lists)))


def evaluated_agents(clone: GitRepository, sha: str, challenge: Challenge) -> list[Entry]:
    """The agents that main has evaluated at a commit: those that stood when submissions ended, if they have ended."""
    final = checked_season_commits(clone, sha, challenge).final
    return read_entries(clone, final.sha if final else sha, challenge)[0]


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
    entries = evaluated_agents(official.clone, assignment.sha, challenge)
    # Before anything is recorded: what ranks can then be played again, whatever becomes of its address.
    keep_weights(official.clone, weights_to_keep(official, assignment, accepted, entries), datetime.now(UTC))
    published = record_accepted(official, challenge.season, accepted, datetime.now(UTC))
    recorded, already_recorded = len(published.recorded), published.known
    write_summary(environment.summary_path, _publish_summary(accepted, recorded, already_recorded))
    say(f"{recorded} results were recorded, {already_recorded} were recorded already.")
    if published.amended:
        say(f"{published.amended} older results have their commits confirmed by GitHub now.")
    return recorded


def _write_round_report(accepted: Path, shards: int, checked: CheckedShards) -> None:
    """Write what was lost and refused beside the accepted files, for the step that records."""
    report = {"shards": shards, "lost": checked.lost, "refused": checked.refused[:LINES_SHOWN], "all": len(checked.refused)}
    write_atomically(accepted / REPORT_FILE, json.dumps(report).encode())


def _loss_lines(accepted: Path) -> list[str]:
    """What was lost and refused, in lines of Markdown; text from shards is only in code spans."""
    try:
        report = json.loads((accepted / REPORT_FILE).read_bytes())
    except FileNotFoundError:
        return []
    lines = []
    if report["lost"]:
        numbers = ", ".join(map(str, report["lost"][:LINES_SHOWN])) + (", …" if len(report["lost"]) > LINES_SHOWN else "")
        lines.append(f"{len(report['lost'])} of {report['shards']} shards handed in nothing usable: {numbers}")
    lines += [f"refused: {code(line)}" for line in report["refused"]]
    if report["all"] > len(report["refused"]):
        lines.append(f"and {report['all'] - len(report['refused'])} more were refused")
    return lines


def _publish_summary(accepted: Path, recorded: int, known: int) -> str:
    """The step's summary of a publish."""
    lines = [f"{recorded} results were recorded, {known} were known already.", ""]
    return "\n".join([*lines, *(f"- {line}" for line in _loss_lines(accepted))]) + "\n"


def _missing_items(official: OfficialRun, assignment: ShardAssignment, accepted: Path) -> list[RoundWorkItem]:
    """The round's items that are neither accepted nor recorded by anybody, and still wanted.

    Raises:
        CommandError: the remote cannot be read.
    """
    work = read_round_work(official, assignment.sha, assignment.results_sha)
    store = record_store(accepted)
    brought = {str(path.relative_to(store.results)) for path in (*store.files(), *store.duel_files())}
    with open_branches(official.clone, work.challenge.season) as branches:
        brought |= branches.objects(branches.tips().get(RESULTS_BRANCH)).keys()
    items = [item for number in range(len(work.packing.shards)) for item in work.shard(number)]
    left = [item for item in items if item_path(item) + RECORD_ENDING not in brought]
    return _still_wanted(official, left) if left else []


def _still_wanted(official: OfficialRun, items: Sequence[RoundWorkItem]) -> list[RoundWorkItem]:
    """The items that main still asks for: agents and tasks can be removed or changed while a round runs."""
    clone = official.clone
    sha = tip_of(clone, MAIN_BRANCH)
    if not sha:
        return list(items)
    clone.fetch(sha)
    try:
        challenge, moderation = read_rules(clone, sha)
    except CommandError:
        return list(items)
    entries = evaluated_agents(clone, sha, challenge)
    versions = {(entry.name, entry.digest) for entry in entries if not moderation.exclusion_of(*entry.version)}
    tasks = {task.id: task.digest() for task in challenge.tasks}
    return [
        item
        for item in items
        if tasks.get(item.task_id) == item.wanted.task_digest
        and all((entry.name, entry.digest) in versions for entry in item.players)
    ]


@contextmanager
def _report_failures(github: GitHub, workflow: WorkflowEnvironment, accepted: Path) -> Iterator[None]:
    """Report any failure of the block in the issue, and raise it again."""
    try:
        yield
    except Exception as error:
        why = str(error) if isinstance(error, CommandError) else f"{type(error).__name__}: {error}"
        update_publish_issue(github, workflow, [code(escape_commands(why)), *_loss_lines(accepted)])
        raise
