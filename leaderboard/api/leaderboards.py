"""The leaderboards of tasks: every row with what pages show of it, by place and by date, and as CSV."""

from collections.abc import Iterator, Sequence

from evaluator.model.config.task import Task
from evaluator.model.records.result import Cost
from leaderboard.api.documents import (
    CostJson,
    DuelsJson,
    FailureJson,
    GameLeaderboardJson,
    GameRowJson,
    LeaderboardByDateJson,
    LeaderboardJson,
    MeasuredJson,
    Medal,
    PlayedJson,
    RowJson,
    SourceJson,
    TaskUnrankedJson,
)
from leaderboard.api.inputs import ApiInputs
from leaderboard.api.standings_json import (
    claim_document,
    entry_document,
    excluded_document,
    failure_document,
    game_document,
    links_document,
    place_document,
    rated_document,
    scores_document,
    task_improvements,
    waiting_document,
    withdrawn_document,
)
from leaderboard.api.table import game_csv, task_csv
from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import GameRow, GameStandings
from leaderboard.core.standings import Failure, Row, TaskStandings
from leaderboard.text import serialise, urls

# Rows of a leaderboard that is sorted by date.
MAX_ROWS_BY_DATE = 500
_MEDALS: dict[int, Medal] = {1: "gold", 2: "silver", 3: "bronze"}


def task_rows(board: TaskStandings, facts: ApiInputs) -> list[RowJson]:
    """All rows of a task, by place."""
    return [
        {
            **place_document(row), **entry_document(row.entry), **measured_document(row, board.task), **beside,
            **_source(row.entry), "since": facts.since(row), "sandbox": row.result.sandbox, **links_document(row.entry),
        }
        for row, beside in task_improvements(board)
    ]  # fmt: skip


def game_rows(game: GameStandings) -> list[GameRowJson]:
    """All rows of a game, by place."""
    return [
        {
            **place_document(row), **entry_document(row.entry), **played_document(row), **_source(row.entry),
            **links_document(row.entry),
        }
        for row in game.rows
    ]  # fmt: skip


def task_leaderboard_files(board: TaskStandings, rows: list[RowJson]) -> Iterator[tuple[str, bytes]]:
    """The documents of a task, except its table."""
    document: LeaderboardJson = {
        "task": board.task.id, "order": "place", "count": len(rows), "rows": rows, **_unranked(board),
    }  # fmt: skip
    yield urls.task_file(board.task.id, "leaderboard.json"), serialise.json_document(document)
    yield from _by_date(board.task.id, rows)
    yield urls.task_file(board.task.id, "leaderboard.csv"), task_csv(board.task, rows)


def game_leaderboard_files(game: GameStandings, rows: list[GameRowJson]) -> Iterator[tuple[str, bytes]]:
    """The documents of a game, except its table."""
    task_id, standings = game.task.id, game_document(game)
    document: GameLeaderboardJson = {
        "task": task_id, "order": "place", "count": len(rows), "rows": rows, "failures": standings["failures"],
        "waiting": standings["waiting"], "excluded": standings["excluded"], "anchor": standings["anchor"],
        "prior": standings["prior"], "cycle": standings["cycle"], "moving_first": standings["moving_first"], "withdrawn": [],
    }  # fmt: skip
    yield urls.task_file(task_id, "leaderboard.json"), serialise.json_document(document)
    yield from _by_date(task_id, rows)
    yield urls.task_file(task_id, "leaderboard.csv"), game_csv(rows)
    duels: DuelsJson = {"task": task_id, "crosstable": standings["crosstable"], "history": standings["history"]}
    yield urls.task_file(task_id, "duels.json"), serialise.json_document(duels)


def measured_document(row: Row, task: Task) -> MeasuredJson:
    """What was measured for a row."""
    result = row.result
    return {
        **scores_document(row, task),
        "evaluated_at": result.provenance.evaluated_at,
        "cost": cost_document(result.cost),
        "medal": None if row.estimate.is_missing else _medal(row),
    }


def played_document(row: GameRow) -> PlayedJson:
    """What was measured for a player."""
    return {
        **rated_document(row), "evaluated_at": row.since, "episodes": row.count.matches,
        "medal": _medal(row),
    }  # fmt: skip


def cost_document(cost: Cost) -> CostJson:
    """What an agent used."""
    return {
        "cpu_seconds": cost.cpu_seconds, "wall_seconds": cost.wall_seconds, "peak_memory_bytes": cost.peak_memory_bytes,
        "steps": cost.steps,
    }  # fmt: skip


def _medal(row: Row | GameRow) -> Medal | None:
    """For the first three places."""
    return None if row.is_aside else _MEDALS.get(row.place)


def _source(entry: Entry) -> SourceJson:
    manifest = entry.submission
    return {"algorithm": manifest.algorithm, "authors": list(manifest.authors), "kind": manifest.kind}


def _unranked(board: TaskStandings) -> TaskUnrankedJson:
    return {
        "failures": [_failure(failure) for failure in board.failures],
        "waiting": [waiting_document(entry, board.task) for entry in board.waiting],
        "excluded": [excluded_document(excluded) for excluded in board.excluded],
        "withdrawn": [withdrawn_document(withdrawn) for withdrawn in board.withdrawn],
    }


def _failure(failure: Failure) -> FailureJson:
    return {
        **failure_document(failure), **claim_document(failure), "attempts": failure.attempts,
        "evaluated_at": failure.result.provenance.evaluated_at, **links_document(failure.entry),
    }  # fmt: skip


def _by_date(task_id: str, rows: Sequence[RowJson | GameRowJson]) -> Iterator[tuple[str, bytes]]:
    """The oldest and the newest rows; rows of the same moment are in the order of their places, or in its reverse."""
    ascending = sorted(rows, key=lambda row: row["evaluated_at"])
    oldest: LeaderboardByDateJson = {
        "task": task_id, "order": "oldest", "count": len(rows), "rows": ascending[:MAX_ROWS_BY_DATE],
    }  # fmt: skip
    newest: LeaderboardByDateJson = {**oldest, "order": "newest", "rows": ascending[: -MAX_ROWS_BY_DATE - 1 : -1]}
    yield urls.task_file(task_id, "leaderboard-oldest.json"), serialise.json_document(oldest)
    yield urls.task_file(task_id, "leaderboard-newest.json"), serialise.json_document(newest)
