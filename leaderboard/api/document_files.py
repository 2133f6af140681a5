"""All documents for machines, as files below the site's root, and their description as OpenAPI 3.1."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from leaderboard.api.agents import AgentJson, FormerAgentJson, agent_files
from leaderboard.api.api_inputs import ApiInputs, api_inputs
from leaderboard.api.badges import BadgeJson, badge_files
from leaderboard.api.feeds import FeedJson, feed_files
from leaderboard.api.game_leaderboards import (
    DuelsJson,
    GameLeaderboardJson,
    GameRowJson,
    LeaderboardByDateJson,
    game_document,
    game_row,
)
from leaderboard.api.openmetrics import openmetrics_document
from leaderboard.api.site_documents import HealthJson, IndexJson, OverallJson, TaskJson, document_links, site_document_files
from leaderboard.api.submission_status import StatusJson, status_document
from leaderboard.api.table_columns import TableJson, game_csv, game_table, task_csv, task_table
from leaderboard.api.task_leaderboards import LeaderboardJson, RowJson, task_leaderboard, task_rows
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
        rows = task_rows(board)
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
    former_entries = [former for former in gone if AgentName.folded(former.login, former.agent) not in standings.entries]
    yield from agent_files(inputs, agents, former_entries)
    if standings.challenge.badges:
        yield from badge_files(inputs, agents, former_entries)


# A link's name, what is found there, and its type, or the media type of what is not described further.
_DOCUMENTS: tuple[tuple[str, str, Any], ...] = (
    ("index", "Where everything is", IndexJson),
    ("openapi", "This description", "application/json"),
    ("tasks", "All tasks and games", list[TaskJson]),
    ("overall", "The overall board", OverallJson),
    ("health", "What ran last, what waits, what failed", HealthJson),
    ("status", "Where every submission stands", StatusJson),
    ("leaderboard", "A task's board, by place", LeaderboardJson | GameLeaderboardJson),
    ("leaderboard_newest", "Its 500 newest entries", LeaderboardByDateJson),
    ("leaderboard_oldest", "Its 500 oldest entries", LeaderboardByDateJson),
    ("csv", "A task's board, one line for each entry", "text/csv"),
    ("table", "A task's board as bare values", TableJson),
    ("duels", "A game's meetings and the history of its ratings", DuelsJson),
    ("agent", "One agent: where it stands and everything measured of it", AgentJson | FormerAgentJson),
    ("atom", "The newest entries of the whole board", "application/atom+xml"),
    ("feed", "The same as JSON Feed", FeedJson),
    ("task_atom", "The newest entries of a task", "application/atom+xml"),
    ("task_feed", "The same as JSON Feed", FeedJson),
    ("badge", "An entry's place in a task, for badge services", BadgeJson),
    ("badge_svg", "The same as a picture", "image/svg+xml"),
    ("overall_badge", "Its place across all tasks, for badge services", BadgeJson),
    ("overall_badge_svg", "The same as a picture", "image/svg+xml"),
    ("metrics", "Counters and a histogram, as OpenMetrics", "text/plain"),
)
_PARTS = {
    "segment": "A task's `segment` in `api/tasks.json`, percent-encoded once more",
    "badge": "A task's `badge` in `api/tasks.json`, percent-encoded once more",
    "login": "The owner",
    "agent": "The agent's folder",
}


class _Schemas(GenerateJsonSchema):
    """Schemas without titles, which would only repeat the names of keys."""

    def normalize_name(self, name: str) -> str:
        """The name of a schema: that of its type, without the ending of all document types."""
        return super().normalize_name(name).removesuffix("Json")

    def field_title_should_be_set(self, schema: Any) -> bool:
        """For no field."""
        return False


def openapi_document(inputs: ApiInputs) -> dict[str, Any]:
    """The whole description; its server is the site, or the folder above where the site's address is not known."""
    challenge = inputs.standings.challenge
    links = {"index": "api/index.json", **document_links(challenge)}
    documents = [document for document in _DOCUMENTS if document[0] in links]
    types: list[tuple[str, Literal["serialization"], TypeAdapter[Any]]] = [
        (name, "serialization", TypeAdapter(answer)) for name, _, answer in documents if not isinstance(answer, str)
    ]
    answers, definitions = TypeAdapter.json_schemas(
        types, ref_template="#/components/schemas/{model}", schema_generator=_Schemas
    )
    schemas = {name: answers[name, "serialization"] for name, _, _ in types}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": challenge.title,
            "version": "1",
            "description": "Static documents, made anew with every build of the site. Nothing needs a key.",
        },
        "servers": [{"url": (inputs.context.site_url or "..").rstrip("/")}],
        "paths": {
            f"/{links[name]}": _path(
                name,
                links[name],
                summary,
                {answer: {}} if isinstance(answer, str) else {"application/json": {"schema": schemas[name]}},
            )
            for name, summary, answer in documents
        },
        "components": {"schemas": definitions["$defs"]},
    }


def _path(name: str, address: str, summary: str, content: dict[str, Any]) -> dict[str, Any]:
    parts = [
        {"name": part, "in": "path", "required": True, "schema": {"type": "string"}, "description": description}
        for part, description in _PARTS.items()
        if f"{{{part}}}" in address
    ]
    answer = {"200": {"description": "As of the last build", "content": content}}
    operation = {"operationId": name, "summary": summary, "responses": answer}
    return {"get": operation, **({"parameters": parts} if parts else {})}
