"""The description of all documents, as OpenAPI 3.1; the schemas are generated from the documents' types."""

from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from leaderboard.api.agents import AgentJson, FormerAgentJson
from leaderboard.api.api_inputs import ApiInputs
from leaderboard.api.badges import BadgeJson
from leaderboard.api.feeds import FeedJson
from leaderboard.api.game_leaderboards import DuelsJson, GameLeaderboardJson, LeaderboardByDateJson
from leaderboard.api.site_documents import HealthJson, IndexJson, OverallJson, TaskJson, document_links
from leaderboard.api.submission_status import StatusJson
from leaderboard.api.table_columns import TableJson
from leaderboard.api.task_leaderboards import LeaderboardJson

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
