"""The description of all documents, as OpenAPI 3.1."""

from collections.abc import Iterator
from typing import Any

from leaderboard.api.index import document_links
from leaderboard.api.inputs import ApiInputs
from leaderboard.text import serialise

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
WHEN: Schema = {"type": "string", "description": "UTC, ISO 8601"}
ADDRESS: Schema = {"type": "string", "description": "below the site's root"}


def nullable(schema: Schema) -> Schema:
    """That, or null where there is none."""
    return {"anyOf": [schema, {"type": "null"}]} if "$ref" in schema else {**schema, "type": [schema["type"], "null"]}


def listed(schema: Schema) -> Schema:
    """Any number of that."""
    return {"type": "array", "items": schema}


def mapped(schema: Schema) -> Schema:
    """That by any name."""
    return {"type": "object", "additionalProperties": schema}


def one_of(*words: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": list(words)}


def schema_ref(name: str) -> Schema:
    """Another schema of this page."""
    return {"$ref": f"#/components/schemas/{name}"}


def record(fields: Schema, optional: Schema | None = None, says: str = "") -> Schema:
    """An object of these fields, those of `optional` only where there is something to say."""
    made: Schema = {"type": "object", "required": list(fields), "properties": fields | (optional or {})}
    return {**made, "additionalProperties": False} | ({"description": says} if says else {})


VERDICTS = (
    "ok", "invalid", "timeout", "out_of_memory", "crashed", "protocol_error", "output_limit", "internal_error",
)  # fmt: skip
FLAGS: Schema = {"baseline": FLAG, "host": FLAG, "anonymous": FLAG, "verified": schema_ref("Verified")}
WHO: Schema = {"login": TEXT, "agent": TEXT, "name": TEXT}
HEAD: Schema = {"title": TEXT, "season": TEXT, "official": FLAG, "generated_at": WHEN}
PLACE: Schema = {
    "place": {"type": ["integer", "null"], "description": "null for baselines and hosts' own, which take no place"},
    "rank_low": {"type": "integer", "description": "1 + entries significantly better, at 95 %"},
    "rank_high": {"type": "integer", "description": "entries less those significantly worse"},
    "with_leader": {"type": "boolean", "description": "not told apart from the leader"},
}
MEDAL: Schema = {"enum": ["gold", "silver", "bronze", None]}
MEASURED: Schema = {
    "estimate": schema_ref("Estimate"), "metrics": mapped(nullable(NUMBER)), "attempts": INTEGER, "episodes": INTEGER,
    "key": nullable(TEXT), "evaluated_at": WHEN, "cost": schema_ref("Cost"), "medal": MEDAL,
}  # fmt: skip
PLAYED: Schema = {
    "rating": record({"elo": NUMBER, "low": NUMBER, "high": NUMBER}), "wins": INTEGER, "draws": INTEGER, "losses": INTEGER,
    "errors": INTEGER, "score": NUMBER, "points": INTEGER, "points_place": INTEGER, "opponents": INTEGER,
    "attempts": INTEGER, "since": WHEN, "evaluated_at": WHEN, "episodes": INTEGER, "medal": MEDAL,
}  # fmt: skip
ABOUT: Schema = {
    "algorithm": TEXT, "authors": listed(TEXT), "kind": one_of("policy", "script", "image"), "page": ADDRESS, "api": ADDRESS,
}  # fmt: skip
EXCLUSION: Schema = {"since": TEXT, "who": TEXT, "why": TEXT, "link": TEXT}
GAME_FAILURE: Schema = {"reason": TEXT, "attempts": INTEGER, "key": TEXT}


def _shared() -> Schema:
    return {
        "Verified": record({"since": TEXT, "who": TEXT, "why": TEXT, "link": nullable(TEXT)}, says="Who vouches for it"),
        "Estimate": record(
            {name: nullable(NUMBER) for name in ("score", "low", "high")}, says="A score and its 95 % interval"
        ),
        "Cost": record(
            {
                "cpu_seconds": nullable(NUMBER),
                "wall_seconds": NUMBER,
                "peak_memory_bytes": nullable(INTEGER),
                "steps": INTEGER,
            }
        ),
        "Metric": record(
            {
                "name": TEXT, "kind": TEXT, "direction": one_of("higher", "lower"), "decimals": INTEGER,
                "threshold": nullable(NUMBER), "description": TEXT,
            }
        ),
        "Anchor": record({"score": NUMBER, "source": TEXT}),
        "Who": record(WHO, FLAGS),
        "Excluded": record({"login": TEXT, "agent": TEXT, **EXCLUSION}),
        "Withdrawn": record(
            {"login": TEXT, "agent": TEXT, "score": nullable(NUMBER), "verdict": one_of(*VERDICTS), "evaluated_at": WHEN,
             "key": nullable(TEXT)}
        ),
        "OverallRow": record(
            {**PLACE, **WHO, "estimate": schema_ref("Estimate"), "iqm": NUMBER, "normalised": mapped(nullable(NUMBER)),
             "page": ADDRESS, "api": ADDRESS}, FLAGS,
        ),
        "Row": record({**PLACE, **WHO, **MEASURED, **ABOUT, "since": WHEN}, FLAGS),
        "GameRow": record({**PLACE, **WHO, **PLAYED, **ABOUT}, FLAGS, says="The score is the sum of what the game gave"),
        "Failure": record(
            {**WHO, "verdict": one_of(*VERDICTS), "message": TEXT, "attempts": INTEGER, "evaluated_at": WHEN,
             "page": ADDRESS, "api": ADDRESS}, {**FLAGS, "claimed": nullable(NUMBER)},
        ),
        "GameFailure": record({**WHO, **GAME_FAILURE}, FLAGS),
    }  # fmt: skip


def _overview() -> Schema:
    phase = record(
        {"id": TEXT, "name": TEXT, "start": nullable(TEXT), "end": nullable(TEXT), "state": nullable(TEXT),
         "public_from": nullable(TEXT)}
    )  # fmt: skip
    counts = dict.fromkeys(("tasks", "ranked_agents", "ranked", "failures", "waiting"), INTEGER)
    state = record({"task": TEXT, "ranked": INTEGER, "waiting": INTEGER, "failures": mapped(INTEGER), "ours": INTEGER})
    return {
        "Index": record(
            {**HEAD, "site": nullable(TEXT), "repository": nullable(TEXT), "links": mapped(TEXT), "counts": record(counts)}
        ),
        "Phase": phase,
        "Task": record(
            {
                "id": TEXT, "segment": TEXT, "badge": TEXT, "digest": TEXT, "title": TEXT, "description": nullable(TEXT),
                "kind": one_of("task", "script", "game"), "env": TEXT, "metrics": listed(schema_ref("Metric")),
                "anchors": record({"random": nullable(schema_ref("Anchor")), "reference": nullable(schema_ref("Anchor"))}),
                "episodes": INTEGER, "weight": NUMBER, "phase": nullable(schema_ref("Phase")), "hidden": FLAG,
                "page": ADDRESS,
                **{name: nullable(ADDRESS) for name in ("leaderboard", "table", "csv", "feed", "atom")},
            }
        ),
        "Tasks": listed(schema_ref("Task")),
        "Overall": record({**HEAD, "rows": listed(schema_ref("OverallRow"))}),
        "Health": record(
            {
                **HEAD, "last_evaluation": nullable(WHEN), "last_run": nullable(TEXT), "recorded": INTEGER,
                "waiting": INTEGER, "failures": mapped(INTEGER), "ours": INTEGER, "tasks": listed(state),
            }
        ),
    }  # fmt: skip


def _boards() -> Schema:
    gone = {
        "failures": listed({"anyOf": [schema_ref("Failure"), schema_ref("GameFailure")]}),
        "waiting": listed(schema_ref("Who")),
        "excluded": listed(schema_ref("Excluded")), "withdrawn": listed(schema_ref("Withdrawn")), "anchor": nullable(TEXT),
        "prior": listed(TEXT), "cycle": record({"names": listed(TEXT), "share": NUMBER, "triads": INTEGER}),
    }  # fmt: skip
    rows = listed({"anyOf": [schema_ref("Row"), schema_ref("GameRow")]})
    crossing = record(
        {"row": TEXT, "column": TEXT, "wins": INTEGER, "draws": INTEGER, "losses": INTEGER, "errors": INTEGER,
         "score": NUMBER, "points": INTEGER, "key": TEXT}
    )  # fmt: skip
    return {
        "Leaderboard": record(
            {"task": TEXT, "order": one_of("place", "newest", "oldest"), "count": INTEGER, "rows": rows}, gone,
            "In other orders than by place at most 500 rows, and rows alone; games alone have an anchor",
        ),
        "Table": record(
            {
                "task": TEXT, "columns": listed(TEXT), "rows": listed({"type": "array"}),
                "failures": listed({"type": "array"}), "decimals": INTEGER, "direction": one_of("higher", "lower"),
                "metrics": listed(schema_ref("Metric")), "leader": nullable(INTEGER),
            },
            says="Values in the order of the columns, for the failures too",
        ),
        "Duels": record(
            {
                "task": TEXT, "crosstable": listed(crossing),
                "history": listed(record({"day": TEXT, "elo": mapped(NUMBER)})),
            }
        ),
    }  # fmt: skip


def _agents() -> Schema:
    version = {"evaluated_at": WHEN, "verdict": one_of(*VERDICTS), "score": nullable(NUMBER)}
    run = {
        "class": TEXT, "season": TEXT, "sandbox": TEXT, "beacon": nullable(TEXT), "beacon_verified": nullable(FLAG),
        "runtime_digest": TEXT, "image_digest": nullable(TEXT), "platform": TEXT, "versions": mapped(TEXT),
        "commit": nullable(TEXT), "run_url": nullable(TEXT), "memory_mib": INTEGER, "cpu_seconds": NUMBER,
    }  # fmt: skip
    replay = {
        "which": TEXT, "number": INTEGER, "total": NUMBER, "length": INTEGER, "file": ADDRESS, "columns": INTEGER,
        "width": INTEGER, "height": INTEGER, "steps": listed(INTEGER),
    }  # fmt: skip
    script = {"claimed": nullable(NUMBER), "steps": INTEGER, "episodes": INTEGER, "unfinished": INTEGER}
    shown = {
        "run": INTEGER, "returns": listed(NUMBER), "lengths": listed(INTEGER),
        "length": record({"mean": NUMBER, "least": INTEGER, "greatest": INTEGER}), "sealed": FLAG, "counts": mapped(NUMBER),
        "replays": listed(record(replay)), "script": record(script), "curve": listed(listed(NUMBER)),
        "history": listed(record({**version, "digest": nullable(TEXT), "key": nullable(TEXT)})), "reason": TEXT,
        "verdict": one_of(*VERDICTS), "message": TEXT, "log_tail": TEXT, "claimed": nullable(NUMBER),
    }  # fmt: skip
    states = one_of("ranked", "failed", "self-reported", "waiting", "refused")
    overall = {**PLACE, "estimate": schema_ref("Estimate"), "iqm": NUMBER, "normalised": mapped(nullable(NUMBER))}
    manifest = {
        **{name: nullable(TEXT) for name in ("main_file", "adapter", "description", "url", "paper", "license", "digest")},
        "entry": TEXT, "extras": listed(TEXT), "enters": {"anyOf": [{"const": "all"}, listed(TEXT)]},
        "meta": mapped({"type": ["string", "boolean"]}), "pull": nullable(INTEGER), "source": nullable(TEXT),
        "overall": nullable(schema_ref("AgentOverall")), "exclusion": nullable(schema_ref("Exclusion")), "rehearsal": FLAG,
        **{name: ABOUT[name] for name in ("algorithm", "authors", "kind")},
        "recorded": listed(record({"task": TEXT, "verdict": one_of(*VERDICTS), "evaluated_at": WHEN})),
    }  # fmt: skip
    state = one_of("entered", "excluded", "withdrawn")
    return {
        "AgentOverall": record(overall),
        "Exclusion": record(EXCLUSION),
        "AgentTask": record({"task": TEXT, "state": states}, {**PLACE, **PLAYED, **MEASURED, **shown}),
        "Run": record(run, says="Under which circumstances results came to be"),
        "Agent": record(
            {**WHO, "state": state, "page": ADDRESS, "tasks": listed(schema_ref("AgentTask")),
            "runs": listed(schema_ref("Run"))},
            {**FLAGS, **manifest},
        ),
        "Status": record(
            {
                "generated_at": WHEN, "tasks": listed(record({"id": TEXT, "title": TEXT, "page": ADDRESS})),
                "agents": listed(
                    record({**WHO, "pull": nullable(INTEGER), "page": ADDRESS, "tasks": listed({"type": ["array", "null"]})})
                ),
            },
            says="An agent's states stand in the order of `tasks`: a word and its place, verdict or reason; null if none",
        ),
    }  # fmt: skip


def _elsewhere() -> Schema:
    item = {
        "id": TEXT, "title": TEXT, "content_text": TEXT, "date_published": WHEN, "authors": listed(record({"name": TEXT})),
        "tags": listed(TEXT),
        "_pullrank": record(
            {**dict.fromkeys(("login", "agent", "task"), TEXT), "score": nullable(NUMBER), "place": INTEGER,
             "place_before": nullable(INTEGER)}
        ),
    }  # fmt: skip
    return {
        "Feed": record(
            {"version": TEXT, "title": TEXT, "items": listed(record(item, {"url": TEXT}))},
            {"home_page_url": TEXT, "feed_url": TEXT}, "JSON Feed 1.1",
        ),
        "Badge": record(
            {"schemaVersion": {"const": 1}, "label": TEXT, "message": TEXT, "color": TEXT}, says="As shields.io reads it"
        ),
    }  # fmt: skip


def schemas() -> Schema:
    """All of them by name."""
    return {**_shared(), **_overview(), **_boards(), **_agents(), **_elsewhere()}


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


def openapi_files(facts: ApiInputs) -> Iterator[tuple[str, bytes]]:
    """The one document."""
    yield "api/openapi.json", serialise.json_document(openapi_document(facts))


def openapi_document(facts: ApiInputs) -> dict[str, Any]:
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
        "paths": {"/api/index.json": {"get": about}, **_paths(document_links(challenge))},
        "components": {"schemas": schemas()},
    }


def _paths(links: dict[str, str]) -> dict[str, Any]:
    return {
        f"/{links[name]}": _path(name, links[name], summary, answer) for name, summary, answer in _DOCUMENTS if name in links
    }


def _path(name: str, address: str, summary: str, answers: str) -> dict[str, Any]:
    parts = [
        {"name": part, "in": "path", "required": True, "schema": {"type": "string"}, "description": says}
        for part, says in _PARTS.items()
        if f"{{{part}}}" in address
    ]
    asked = {"operationId": name, "summary": summary, "responses": _answer(answers)}
    return {"get": asked, **({"parameters": parts} if parts else {})}


def _answer(answers: str) -> dict[str, Any]:
    content = {answers: {}} if "/" in answers else {"application/json": {"schema": schema_ref(answers)}}
    return {"200": {"description": "As of the last build", "content": content}}
