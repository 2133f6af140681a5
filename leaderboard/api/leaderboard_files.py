"""The files of leaderboards: by place, by date, and as CSV; of games also their duels."""

from collections.abc import Iterator, Sequence

from leaderboard.api.game_leaderboards import DuelsJson, GameLeaderboardJson, GameRowJson, game_document
from leaderboard.api.table import game_csv, task_csv
from leaderboard.api.task_leaderboards import LeaderboardHeadJson, RowJson, task_leaderboard
from leaderboard.core.game_standings import GameStandings
from leaderboard.core.standings import TaskStandings
from leaderboard.text import serialise, urls

# Rows of a leaderboard that is sorted by date.
MAX_ROWS_BY_DATE = 500


class LeaderboardByDateJson(LeaderboardHeadJson):
    """A leaderboard in another order than by place: at most 500 rows, and rows alone."""

    rows: list[RowJson | GameRowJson]


def task_leaderboard_files(board: TaskStandings, rows: list[RowJson]) -> Iterator[tuple[str, bytes]]:
    """The documents of a task, except its table."""
    yield urls.task_file(board.task.id, "leaderboard.json"), serialise.json_document(task_leaderboard(board, rows))
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


def _by_date(task_id: str, rows: Sequence[RowJson | GameRowJson]) -> Iterator[tuple[str, bytes]]:
    """The oldest and the newest rows; rows of the same moment are in the order of their places, or in its reverse."""
    ascending = sorted(rows, key=lambda row: row["evaluated_at"])
    oldest: LeaderboardByDateJson = {
        "task": task_id, "order": "oldest", "count": len(rows), "rows": ascending[:MAX_ROWS_BY_DATE],
    }  # fmt: skip
    newest: LeaderboardByDateJson = {**oldest, "order": "newest", "rows": ascending[: -MAX_ROWS_BY_DATE - 1 : -1]}
    yield urls.task_file(task_id, "leaderboard-oldest.json"), serialise.json_document(oldest)
    yield urls.task_file(task_id, "leaderboard-newest.json"), serialise.json_document(newest)
