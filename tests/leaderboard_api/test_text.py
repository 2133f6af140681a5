"""Text of documents: what is written faster is written as the plain way has it."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.model.metric import Metric
from leaderboard.api import sheet, text
from leaderboard.api.documents import rows_of
from leaderboard.api.numbers import MOST, Numbers
from leaderboard.board import standings
from leaderboard.markdown import visible
from tests.leaderboard import make


@given(st.text())
def test_a_cell_stands_as_csv_has_it(value: str) -> None:
    whole = io.StringIO(newline="")
    csv.writer(whole).writerow(["first", text.cell(value)])

    assert f"first,{text.csv_cell(value)}\r\n" == whole.getvalue()


def test_xml_leaves_nothing_as_it_is_that_it_would_change() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    kept = [one for one in characters if text._PLAIN.fullmatch(one)]

    assert len(kept) > 100_000
    assert [one for one in kept if visible(one) != one or one in "&<>\"'"] == []


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
def test_numbers_have_seven_digits(values: list[float]) -> None:
    numbers = Numbers()

    for _ in range(2):
        assert numbers.list(values) == f"[{','.join(format(value, '.7g') for value in values)}]"


def test_zero_and_its_negative_are_told_apart() -> None:
    numbers = Numbers()

    assert [numbers.list([0.0]), numbers.list([-0.0]), numbers.list([0.0, -0.0])] == ["[0]", "[-0]", "[0,-0]"]


def test_numbers_that_are_too_many_to_keep_are_written_all_the_same() -> None:
    numbers = Numbers()
    numbers.list([float(number) for number in range(1, MOST + 1)])

    assert numbers.list([0.5, -0.0, 1e300]) == "[0.5,-0,1e+300]"


@pytest.mark.parametrize("name", ["Return", "in % of %s"])
def test_a_row_is_told_alike_in_one_piece_and_in_columns(name: str) -> None:
    """`rank --json` takes rows one by one, and the site column by column; a metric's name may look like a template."""
    by_return = Metric(name=name, kind="mean_return", direction="higher")
    task = make.task(metrics=(by_return, Metric(name="Length", kind="mean_length", direction="lower")))
    who = [make.entry("alice"), make.entry("bob")]
    results = [make.result(one, [float(number), 2.0], on=task) for number, one in enumerate(who)]
    board = standings(make.challenge(task), who, results, official=True).tasks[0]

    for row, line in zip(board.rows, sheet.lines(task, board.rows), strict=True):
        told = json.loads(f"{{{line}}}")
        alone = rows_of(board)(row)
        both = alone.keys() & told.keys()
        assert {key: told[key] for key in both} == {key: alone[key] for key in both}
        assert {"place", "rank_low", "rank_high", "metrics", "attempts", "episodes", "key"} <= both
        assert list(told["metrics"]) == [name, "Length"]
