"""What the soak calls a growth."""

import pytest

from bench.soak import COLUMNS, growths

FLAT = dict.fromkeys(COLUMNS, 100.0)


@pytest.mark.parametrize("name", COLUMNS)
def test_what_grows_is_named(name: str) -> None:
    samples = [{**FLAT, name: 100.0 * number} for number in range(1, 13)]

    assert growths([FLAT] * 12) == []
    assert [line.split(" grows")[0] for line in growths(samples)] == [name]


def test_warming_up_is_no_growth() -> None:
    samples = [{**FLAT, "evaluator MiB": 50.0 + 10 * number} for number in range(5)] + [FLAT] * 10

    assert growths(samples) == []


def test_too_few_rounds_show_nothing() -> None:
    assert growths([FLAT, FLAT]) == ["too few rounds to see a growth"]
