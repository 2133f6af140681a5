"""The text of documents: CSV cells, XML, numbers, and rows that are the same everywhere."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.model.config.metric import Metric
from evaluator.model.visible_text import visible
from leaderboard.api.agents import AgentContext, short_numbers, task_document_of_agent
from leaderboard.api.api_inputs import api_inputs
from leaderboard.api.table_columns import task_table
from leaderboard.api.task_leaderboards import ranked_row, task_improvements, task_rows
from leaderboard.build_standings import build_standings
from leaderboard.core.standings import listed_by_agent
from leaderboard.text import serialise
from tests.leaderboard import make
from tests.leaderboard.api.leaderboards import CONTEXT


def test_xml_leaves_nothing_as_it_is_that_it_would_change() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    plain = [one for one in characters if serialise._XML_SAFE.fullmatch(one)]

    assert len(plain) > 100_000
    assert [one for one in plain if serialise.xml(one) != visible(one) or one in "&<>\"'"] == []


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5))
def test_numbers_have_seven_digits(values: list[float]) -> None:
    numbers = json.loads(serialise.json_text(short_numbers(values)))

    assert numbers == [pytest.approx(value, rel=5.001e-7, abs=0) for value in values]
    assert numbers == [float(f"{value:.7g}") for value in numbers]


def test_numbers_are_written_as_short_as_they_can_be() -> None:
    lists = [[0.0, -0.0, 1.0, -20.0], [], [0.5, 1.10, 123456.789, 1e9], [1e15, 1e16, 1e300, 5e-324]]

    assert [serialise.json_text(short_numbers(values)) for values in lists] == [
        "[0,0,1,-20]", "[]", "[0.5,1.1,123456.8,1000000000]", "[1000000000000000,1e+16,1e+300,5e-324]",
    ]  # fmt: skip


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | TEXTS, lambda inner: st.lists(inner)))
def test_a_value_is_written_as_the_standard_library_has_it_with_nothing_hidden(value: object) -> None:
    assert repr(json.loads(serialise.json_text([value]))) == repr([_finite(value)])


def _finite(value: object) -> object:
    """With null for what JSON has no number for, and marks for what hides."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, str):
        return visible(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


@pytest.mark.attack(
    "half_a_character", family="pages", outcome="a question mark",
    tries="Has half a character in a name, which no document can encode.",
)  # fmt: skip
def test_half_a_character_becomes_a_question_mark() -> None:
    assert serialise.json_document({"name": "\ud800"}) == b'{"name":"?"}'


@pytest.mark.parametrize("name", ["Return", "in % of %s"])
def test_a_row_is_the_same_in_all_documents(name: str) -> None:
    """What `rank --json` prints is in the leaderboard, the table and the agent's document."""
    by_return = Metric(name=name, kind="mean_return", direction="higher")
    task = make.task(metrics=(by_return, Metric(name="Length", kind="mean_length", direction="lower")))
    who = [make.entry("alice"), make.entry("bob")]
    results = [make.result(entry, [float(number), 2.0], on=task) for number, entry in enumerate(who)]
    standings = build_standings(make.challenge(task), who, results, official=True)
    board = standings.tasks[0]
    rows = task_rows(board)
    table = task_table(board, rows)
    agents = listed_by_agent(standings, standings.entries)

    for (row, beside), document, cells in zip(task_improvements(board), rows, table["rows"], strict=True):
        printed = ranked_row(row, task, beside)
        assert {"place", "rank_low", "rank_high", "metrics", "attempts", "episodes", "key"} <= printed.keys()
        assert {key: document[key] for key in printed} == printed
        assert list(document["metrics"]) == [name, "Length"]
        assert dict(zip(table["columns"], cells, strict=True))["metric:Length"] == printed["metrics"]["Length"]
        context = AgentContext(entry=row.entry, inputs=api_inputs(standings, CONTEXT))
        [(entered, listed)] = agents[row.entry.name]
        agent = task_document_of_agent(entered.task, listed, context)
        assert {key: agent[key] for key in printed.keys() & agent.keys()} == {
            key: printed[key] for key in printed if key not in ("login", "agent", "name", "improvement_on_next")
        }
