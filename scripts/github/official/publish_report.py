"""What a publish reports: its summary, and the lines of the issue about results that could not be recorded."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from leaderboard.core.store import RESULT, write_atomically
from leaderboard.text.escape_markdown import code
from scripts.console import OUR_FAULT, CommandError, escape_commands
from scripts.git.data_branches import open_branches, tip_of
from scripts.git.main_entries import read_entries
from scripts.git.season_commits import checked_season_commits
from scripts.github.api.client import GitHub
from scripts.github.official.check_shards import CheckedShards
from scripts.github.official.failure_issues import update_publish_issue
from scripts.github.official.shard_artifacts import item_path
from scripts.github.official.shard_jobs import ShardAssignment
from scripts.github.official.workload import OfficialRun, WorkloadItem, read_rules, read_workload
from scripts.github.workflow.event import WorkflowEnvironment
from scripts.repository.layout import MAIN_BRANCH, RESULTS_BRANCH, record_store

REPORT_FILE = "round.json"
# Lines shown in a log or an issue; the rest is counted.
LINES_SHOWN = 20


def write_round_report(accepted: Path, shards: int, checked: CheckedShards) -> None:
    """Write what was lost and refused beside the accepted files, for the step that records."""
    report = {"shards": shards, "lost": checked.lost, "refused": checked.refused[:LINES_SHOWN], "all": len(checked.refused)}
    write_atomically(accepted / REPORT_FILE, json.dumps(report).encode())


def loss_lines(accepted: Path) -> list[str]:
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


def publish_summary(accepted: Path, recorded: int, known: int) -> str:
    """The step's summary of a publish."""
    lines = [f"{recorded} results were recorded, {known} were known already.", ""]
    return "\n".join([*lines, *(f"- {line}" for line in loss_lines(accepted))]) + "\n"


def missing_items(official: OfficialRun, assignment: ShardAssignment, accepted: Path) -> list[WorkloadItem]:
    """The round's items that are neither accepted nor recorded by anybody, and still wanted.

    Raises:
        CommandError: the remote cannot be read.
    """
    work = read_workload(official, assignment.sha, assignment.results_sha)
    store = record_store(accepted)
    brought = {str(path.relative_to(store.results)) for path in (*store.files(), *store.duel_files())}
    with open_branches(official.clone, work.challenge.season) as branches:
        brought |= branches.objects(branches.tips().get(RESULTS_BRANCH)).keys()
    items = [item for number in range(len(work.packing.shards)) for item in work.shard(number)]
    left = [item for item in items if item_path(item) + RESULT not in brought]
    return _still_wanted(official, left) if left else []


def _still_wanted(official: OfficialRun, items: Sequence[WorkloadItem]) -> list[WorkloadItem]:
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
    final = checked_season_commits(clone, sha, challenge).final
    entries = read_entries(clone, final.sha if final else sha, challenge)[0]
    standing = {(entry.name, entry.digest) for entry in entries if not moderation.exclusion_of(*entry.version)}
    tasks = {task.id: task.digest() for task in challenge.tasks}
    return [
        item
        for item in items
        if tasks.get(item.task_id) == item.wanted.task_digest
        and all((entry.name, entry.digest) in standing for entry in item.players)
    ]


@contextmanager
def report_failures(github: GitHub, workflow: WorkflowEnvironment, accepted: Path) -> Iterator[None]:
    """Report any failure of the block in the issue, and raise it again."""
    try:
        yield
    except Exception as error:
        why = str(error) if isinstance(error, CommandError) else f"{type(error).__name__}: {error}"
        update_publish_issue(github, workflow, [code(escape_commands(why)), *loss_lines(accepted)])
        raise


def refuse_empty_round(items: Sequence[WorkloadItem]) -> None:
    """End the run if items are missing.

    Raises:
        CommandError: something is missing.
    """
    if items:
        names = ", ".join(item_path(item) for item in items[:3]) + (", …" if len(items) > 3 else "")
        raise CommandError(OUR_FAULT, f"nothing was recorded, though {len(items)} results were asked for: {names}")
