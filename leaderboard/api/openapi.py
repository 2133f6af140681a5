"""The description of all documents, as OpenAPI 3.1."""

from collections.abc import Iterator
from typing import Any

from leaderboard.api.facts import Facts
from leaderboard.api.overview import LINKS
from leaderboard.api.schemas import ref, schemas
from leaderboard.text import serialise

# A link's name, what is found there, and its schema or else its media type.
_DOCUMENTS = (
    ("openapi", "This description", "application/json"),
    ("tasks", "All tasks and games", "Tasks"),
    ("overall", "The overall board", "Overall"),
    ("health", "What ran last, what waits, what failed", "Health"),
    ("status", "Where every submission stands", "Status"),
    ("leaderboard", "A task's board, by place", "Leaderboard"),
    ("leaderboard_newest", "Its 500 newest entries", "Leaderboard"),
    ("leaderboard_oldest", "Its 500 oldest entries", "Leaderboard"),
    ("csv", "A task's board, one line for each entry", "text/csv"),
    ("table", "A task's board as bare values", "Table"),
    ("duels", "A game's meetings and the history of its ratings", "Duels"),
    ("agent", "One agent: where it stands and everything measured of it", "Agent"),
    ("atom", "The newest entries of the whole board", "application/atom+xml"),
    ("feed", "The same as JSON Feed", "Feed"),
    ("task_atom", "The newest entries of a task", "application/atom+xml"),
    ("task_feed", "The same as JSON Feed", "Feed"),
    ("badge", "An entry's place in a task, for badge services", "Badge"),
    ("badge_svg", "The same as a picture", "image/svg+xml"),
    ("overall_badge", "Its place across all tasks, for badge services", "Badge"),
    ("overall_badge_svg", "The same as a picture", "image/svg+xml"),
    ("metrics", "Counters and a histogram, as OpenMetrics", "text/plain"),
)
_PARTS = {
    "segment": "A task's `segment` in `api/tasks.json`, percent-encoded once more",
    "badge": "A task's `badge` in `api/tasks.json`, percent-encoded once more",
    "login": "The owner",
    "agent": "The agent's folder",
}


def files(facts: Facts) -> Iterator[tuple[str, bytes]]:
    """The one document."""
    yield "api/openapi.json", serialise.dumps(description(facts))


def description(facts: Facts) -> dict[str, Any]:
    """The whole description; its server is the site, or else the folder above."""
    challenge = facts.standings.challenge
    about = {"operationId": "index", "summary": "Where everything is", "responses": _answer("Index")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": challenge.title,
            "version": "1",
            "description": "Static documents, made anew with every build of the site. Nothing needs a key.",
        },
        "servers": [{"url": (facts.context.site_url or "..").rstrip("/")}],
        "paths": {"/api/index.json": {"get": about}, **{f"/{LINKS[one[0]]}": _path(*one) for one in _DOCUMENTS}},
        "components": {"schemas": schemas()},
    }


def _path(name: str, summary: str, answers: str) -> dict[str, Any]:
    parts = [
        {"name": part, "in": "path", "required": True, "schema": {"type": "string"}, "description": says}
        for part, says in _PARTS.items()
        if f"{{{part}}}" in LINKS[name]
    ]
    asked = {"operationId": name, "summary": summary, "responses": _answer(answers)}
    return {"get": asked, **({"parameters": parts} if parts else {})}


def _answer(answers: str) -> dict[str, Any]:
    content = {answers: {}} if "/" in answers else {"application/json": {"schema": ref(answers)}}
    return {"200": {"description": "As of the last build", "content": content}}
