"""All documents for machines, as files below the site's root."""

from collections.abc import Iterator, Sequence

from leaderboard.api.agents import agent_files
from leaderboard.api.api_inputs import api_inputs
from leaderboard.api.badges import badge_files
from leaderboard.api.feeds import feed_files
from leaderboard.api.game_leaderboards import (
    DuelsJson,
    GameLeaderboardJson,
    GameRowJson,
    LeaderboardByDateJson,
    game_document,
    game_row,
)
from leaderboard.api.openapi import openapi_document
from leaderboard.api.openmetrics import openmetrics_document
from leaderboard.api.site_documents import site_document_files
from leaderboard.api.submission_status import status_document
from leaderboard.api.table_columns import game_csv, game_table, task_csv, task_table
from leaderboard.api.task_leaderboards import RowJson, task_leaderboard, task_rows
from leaderboard.core.entry import AgentName
from leaderboard.core.game_standings import GameStandings
from leaderboard.core.standings import Standings, TaskStandings, listed_by_agent
from leaderboard.history import LeaderboardHistory
from leaderboard.site_context import SiteContext
from leaderboard.text import serialise, urls

# Rows of a leaderboard that is sorted by date.
MAX_ROWS_BY_DATE = 500


def leaderboard_files(standings: Standings, context: SiteContext) -> Iterator[tuple[str, bytes]]:
    """The documents of the whole site and of each task."""
    inputs = api_inputs(standings, context)
    yield from site_document_files(inputs)
    yield "api/openapi.json", serialise.json_document(openapi_document(inputs))
    for board in standings.tasks:
        rows = task_rows(board, inputs)
        table = task_table(board, rows, context.reproduced)
        yield urls.task_file(board.task.id, "table.json"), serialise.json_document(table)
        yield from _task_files(board, rows)
    for game in standings.games:
        players = [game_row(row) for row in game.rows]
        yield urls.task_file(game.task.id, "table.json"), serialise.json_document(game_table(game, players))
        yield from _game_files(game, players)


def _task_files(board: TaskStandings, rows: list[RowJson]) -> Iterator[tuple[str, bytes]]:
    """The documents of a task, except its table."""
    yield urls.task_file(board.task.id, "leaderboard.json"), serialise.json_document(task_leaderboard(board, rows))
    yield from _by_date(board.task.id, rows)
    yield urls.task_file(board.task.id, "leaderboard.csv"), task_csv(board.task, rows)


def _game_files(game: GameStandings, rows: list[GameRowJson]) -> Iterator[tuple[str, bytes]]:
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


def feed_and_status_files(
    standings: Standings, context: SiteContext, history: LeaderboardHistory | None = None
) -> Iterator[tuple[str, bytes]]:
    """The state of every submission, feeds and counters; `history` may be given where it is at hand."""
    inputs = api_inputs(standings, context)
    yield "api/status.json", serialise.json_document(status_document(inputs))
    yield from feed_files(inputs, history or LeaderboardHistory(standings, tuple(inputs.results)))
    yield "metrics.txt", openmetrics_document(inputs).encode("utf-8", "replace")


def agent_document_files(standings: Standings, context: SiteContext) -> Iterator[tuple[str, bytes]]:
    """The documents of all agents, and their badges where challenge.yml asks for them."""
    inputs, agents = api_inputs(standings, context), listed_by_agent(standings, sorted(standings.entries))
    gone = context.former_entries
    former_entries = [one for one in gone if AgentName.folded(one.login, one.agent) not in standings.entries]
    yield from agent_files(inputs, agents, former_entries)
    if standings.challenge.badges:
        yield from badge_files(inputs, agents, former_entries)
