"""`pullrank rank`: the standings from what is recorded."""

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.model.metric import Metric
from leaderboard.anonymity import Shown, as_shown, with_flags
from leaderboard.board import standings
from leaderboard.metrics import known, metrics_of
from leaderboard.standings import Excluded, Row, Standings, TaskBoard, Withdrawn
from scripts.board import Board, open_board
from scripts.console import OK, print_json, say
from scripts.game_documents import flags, game_document
from scripts.tables import standings_tables


def compute(board: Board, *, official: bool, tasks: list[str] | None = None, now: datetime | None = None) -> Standings:
    """The standings of what stands in the store; damaged files and unreadable folders are named, not counted.

    What an official board hides until a date is hidden at the moment `now`; a local one is its owner's own business.
    """
    found, faults = board.read_all()
    duels, damaged_duels = board.recorded_duels
    for line in faults:
        say(line)
    for kind, damaged in (("result", board.recorded[1]), ("duel", damaged_duels)):
        for file in damaged:
            say(f"{file.path}: is not a {kind} ({file.reason}); it is left out")
    chosen = board.tasks(tasks)
    challenge = board.challenge.model_copy(update={"tasks": tuple(chosen)})
    whole = Shown(
        challenge=challenge, entries=tuple(f.entry() for f in found), moderation=board.moderation,
        results=tuple(board.results_less_unreadable(found)), duels=tuple(duels),
    )  # fmt: skip
    shown = as_shown(whole, now or datetime.now(UTC)) if official else with_flags(whole)
    return standings(
        shown.challenge, shown.entries, shown.results, official=official, moderation=shown.moderation, duels=shown.duels
    )


def run(
    task: Annotated[list[str] | None, typer.Option(help="Only this task; may be given again.")] = None,
    official: Annotated[bool, typer.Option(help="Only official results.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document.")] = False,
) -> int:
    """Rank what is recorded; nothing is played."""
    table = compute(open_board(Path.cwd()), official=official, tasks=task)
    if as_json:
        print_json(document(table))
    else:
        standings_tables(table)
    return OK


def document(table: Standings) -> dict[str, Any]:
    """The standings as JSON: names and numbers, without the raw results."""
    return {
        "title": table.challenge.title,
        "season": table.challenge.season,
        "official": table.official,
        "overall": [_row(row) | {"iqm": row.iqm, "normalised": row.normalised} for row in table.overall],
        "tasks": [
            {
                "task": board.task.id,
                "metrics": [_metric(metric) for metric in metrics_of(board.task)],
                "ties": list(board.task.ties),
                "rows": [
                    _row(row)
                    | {"metrics": _values(board, row)}
                    | {
                        "attempts": row.attempts,
                        "episodes": board.task.counted if row.result.sealed else len(row.result.returns),
                        "key": row.result.key,
                    }
                    for row in board.rows
                ],
                "failures": [
                    {**_who(f.entry), "verdict": f.result.verdict, "message": f.result.message} for f in board.failures
                ],
                "waiting": [_who(entry) for entry in board.waiting],
                "excluded": [_excluded(one) for one in board.excluded],
                "withdrawn": [_withdrawn(one) for one in board.withdrawn],
            }
            for board in table.tasks
        ],
        "games": [game_document(board) for board in table.games],
    }


def _who(entry: Any) -> dict[str, Any]:
    return {"login": entry.login, "agent": entry.agent, "name": entry.submission.name, **flags(entry)}


def _excluded(one: Excluded) -> dict[str, Any]:
    return {"login": one.login, "agent": one.agent, **one.exclusion.model_dump(include={"since", "who", "why", "link"})}


def _withdrawn(one: Withdrawn) -> dict[str, Any]:
    last = one.result
    measured = {"score": one.score, "verdict": last.verdict, "evaluated_at": last.provenance.evaluated_at, "key": last.key}
    return {"login": one.login, "agent": one.agent, **measured}


def _metric(metric: Metric) -> dict[str, Any]:
    return metric.model_dump(mode="json", include={"name", "kind", "direction", "decimals", "threshold", "description"})


def _values(board: TaskBoard, row: Row) -> dict[str, float | None]:
    """What each metric says; null where it says nothing."""
    values = (row.estimate.score, *row.others)
    return {metric.name: known(value) for metric, value in zip(metrics_of(board.task), values, strict=True)}


def _row(row: Any) -> dict[str, Any]:
    return {
        "place": None if row.entry.is_aside else row.place,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "with_leader": row.with_leader,
        **_who(row.entry),
        "estimate": {name: known(value) for name, value in dataclasses.asdict(row.estimate).items()},
    }
