"""Parsers of the stored documents: the strict way sees each changed byte, the quick way reads the same values."""

import base64
import json
import zlib

import pytest

from evaluator.model.records.parse import parse_duel, parse_record, parse_result
from evaluator.model.records.trace import TraceLeaf
from tests.leaderboard.make import duel, entry, result


@pytest.mark.parametrize(
    ("key", "twice"),
    [
        (b'"login": "alice"', b'"login": "bob", "login": "alice"'),
        (b'"login": "alice"', b'"login" : "bob", "login": "alice"'),
        (b'"login": "alice"', b'"login"\n:"bob", "login": "alice"'),
        (b'"cost": {', b'"cost": {"steps": 1, "steps": 1, '),
        (b'"platform": ""', b'"platform": "\\u003a", "beacon_verified": true'),
    ],
)
def test_a_key_that_stands_twice_is_refused(key: bytes, twice: bytes) -> None:
    content = result(entry("alice"), [1.0, 2.0]).serialised()
    assert content.count(key) == 1
    content = content.replace(key, twice)

    for parse in (parse_result, parse_record):
        with pytest.raises(ValueError, match=r"stands twice$"):
            parse(content)


def test_the_quick_way_takes_the_last_of_two_equal_keys() -> None:
    expected = result(entry("alice"), [1.0, 2.0])
    content = expected.serialised().replace(b'"login": "alice"', b'"login": "bob", "login": "alice"')

    assert parse_result(content, quick=True) == expected


@pytest.mark.parametrize("record", [result(entry("alice"), [1.0, 2.0]), duel(entry("alice"), entry("bob"), "wl")])
def test_both_ways_read_the_same(record) -> None:
    parse = parse_duel if record.path().startswith("game/") else parse_result

    for quick in (False, True):
        assert parse(record.serialised(), quick=quick) == parse_record(record.serialised(), quick=quick) == record


@pytest.mark.parametrize("record", [result(entry("alice"), [1.0, 2.0]), duel(entry("alice"), entry("bob"), "wl")])
def test_another_form_or_value_is_refused(record) -> None:
    with pytest.raises(ValueError, match="a byte of it was changed"):
        parse_record(json.dumps(record.document()).encode())
    with pytest.raises(ValueError, match="a value was changed"):
        parse_record(record.model_copy(update={"platform": "another"}).serialised())


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b'{"schema": NaN}', b"[" * 100_000, b'{"schema": 1e999}'])
def test_what_is_no_record_is_refused(content: bytes, quick: bool) -> None:
    with pytest.raises(ValueError):
        parse_record(content, quick=quick)


@pytest.mark.attack(
    "trace_that_unpacks_to_terabytes", family="supply", outcome="refused, not unpacked",
    tries="Has lengths in a trace that ask for terabytes, and actions that unpack to them, for whoever verifies the board.",
)  # fmt: skip
def test_no_trace_is_unpacked_beyond_what_any_evaluation_plays() -> None:
    packed = base64.b64encode(zlib.compress(bytes(1 << 20), 9)).decode()

    for steps in ((1 << 30) + 1, 1 << 40, 1 << 70):
        with pytest.raises(ValueError, match=r"^more actions than any file holds$"):
            TraceLeaf(dtype="u1", shape=(), data=packed).array(steps)
    assert len(TraceLeaf(dtype="u1", shape=(), data=packed).array(1 << 20)) == 1 << 20
