"""Every document is what the description says, and the description is one."""

import json
import re

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from evaluator.model import canonical_json
from evaluator.model.records.verdict import Verdict
from tests.leaderboard.api.leaderboards import all_boards, api_files, documents

BOARDS = all_boards()


def description(files):
    return json.loads(files["api/openapi.json"])


@pytest.fixture(scope="module", params=BOARDS)
def files(request):
    return documents(*BOARDS[request.param])


def test_the_description_is_valid_openapi(files):
    validate(description(files))


def test_every_object_is_closed_or_a_map_and_verdicts_are_those_of_the_evaluator(files):
    schemas = description(files)["components"]["schemas"]
    objects = {name: schema for name, schema in schemas.items() if schema["type"] == "object"}

    assert len(objects) > 30
    assert [name for name, schema in objects.items() if schema.get("additionalProperties") is not False] == []
    assert schemas["Verdict"]["enum"] == [verdict.value for verdict in Verdict]


def test_every_document_has_a_path_and_keeps_its_schema(files):
    api = description(files)
    patterns = {re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path.lstrip("/")))): path for path in api["paths"]}
    for path, content in files.items():
        fits = sorted((p for pattern, p in patterns.items() if pattern.fullmatch(path)), key=lambda p: p.count("{"))
        assert fits, path
        answer = api["paths"][fits[0]]["get"]["responses"]["200"]["content"]
        if path.endswith(".json") and (schema := answer["application/json"].get("schema")):
            whole = {**schema, "components": api["components"]}
            faults = list(Draft202012Validator(whole).iter_errors(canonical_json.parse_strict(content)))
            assert not faults, (path, faults[0].message, list(faults[0].absolute_path))


def test_nothing_is_written_twice_and_no_path_leaves_the_site(files):
    assert all(not path.startswith("/") and ".." not in path.split("/") for path in files)
    board, context = BOARDS["crowded"]
    paths = [path for path, _ in api_files(board, context)]
    assert len(paths) == len({path.casefold() for path in paths})


def test_json_has_no_spaces_and_is_utf_8(files):
    for path, content in files.items():
        text = content.decode()
        if path.endswith(".json"):
            assert text == json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) or "returns" in text
