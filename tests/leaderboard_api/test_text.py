"""Text of documents: what is written faster is written as the plain way has it."""

import csv
import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.model.config.metric import Metric
from leaderboard.api import agents, rows
from leaderboard.api.standings_json import rows_of
from leaderboard.build import build_standings
from leaderboard.text import serialise
from leaderboard.text.escape_markdown import visible
from tests.leaderboard import make


@given(st.text())
def test_a_cell_stands_as_csv_has_it(value: str) -> None:
    whole = io.StringIO(newline="")
    csv.writer(whole).writerow(["first", serialise.cell(value)])

    assert f"first,{serialise.csv_cell(value)}\r\n" == whole.getvalue()


def test_xml_leaves_nothing_as_it_is_that_it_would_change() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    kept = [one for one in characters if serialise._XML_SAFE.fullmatch(one)]

    assert len(kept) > 100_000
    assert [one for one in kept if visible(one) != one or one in "&<>\"'"] == []


@given(st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5), max_size=5))
def test_numbers_have_seven_digits(values: list[list[float]]) -> None:
    for line, own in zip(agents.json_number_lists(values), values, strict=True):
        told = json.loads(line)
        assert told == [pytest.approx(value, rel=5.001e-7, abs=0) for value in own]
        assert told == [float(f"{value:.7g}") for value in told]


def test_numbers_are_written_as_short_as_they_can_be() -> None:
    found = [[0.0, -0.0, 1.0, -20.0], [], [0.5, 1.10, 123456.789, 1e9], [1e300, 5e-324]]

    assert agents.json_number_lists(found) == ["[0,-0,1,-20]", "[]", "[0.5,1.1,123456.8,1000000000]", "[1e+300,5e-324]"]
    assert agents.json_number_lists([()]) == ["[]"]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner)))
def test_a_value_is_written_as_the_standard_library_has_it(value: object) -> None:
    assert repr(json.loads(serialise.json_text([value]))) == repr([_known(value)])


def _known(value: object) -> object:
    """With null for what JSON has no number for."""
    if isinstance(value, list):
        return [_known(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def test_half_a_character_becomes_a_question_mark() -> None:
    assert serialise.json_document({"name": "\ud800"}) == b'{"name":"?"}'


@pytest.mark.parametrize("name", ["Return", "in % of %s"])
def test_a_row_is_told_alike_in_one_piece_and_in_columns(name: str) -> None:
    """`rank --json` takes rows one by one, and the site column by column; a metric's name may look like a template."""
    by_return = Metric(name=name, kind="mean_return", direction="higher")
    task = make.task(metrics=(by_return, Metric(name="Length", kind="mean_length", direction="lower")))
    who = [make.entry("alice"), make.entry("bob")]
    results = [make.result(one, [float(number), 2.0], on=task) for number, one in enumerate(who)]
    board = build_standings(make.challenge(task), who, results, official=True).tasks[0]

    for row, line in zip(board.rows, rows.row_lines(task, board.rows), strict=True):
        told = json.loads(f"{{{line}}}")
        alone = rows_of(board)(row)
        both = alone.keys() & told.keys()
        assert {key: told[key] for key in both} == {key: alone[key] for key in both}
        assert {"place", "rank_low", "rank_high", "metrics", "attempts", "episodes", "key"} <= both
        assert list(told["metrics"]) == [name, "Length"]
