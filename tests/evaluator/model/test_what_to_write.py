"""Messages about challenge.yml that a host stumbled over: each says what to write."""

import re

import pytest

from evaluator.host.loading.yaml_loader import LoadError, parse_challenge


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "phases:\n  - {id: one, name: One, tasks: [CartPole-v1], end: 2026-12-20}",
            "write 2026-12-20T18:00:00Z",
        ),
        ("people: {fields: {number: {required: true}}}", "'people.fields' must be a list; begin each item with '- '"),
    ],
)
def test_a_bare_date_and_a_list_without_dashes_are_told_what_to_write(lines: str, message: str) -> None:
    text = f"title: T\nseason: s\ntasks:\n  - id: CartPole-v1\n{lines}\n"

    with pytest.raises(LoadError, match=re.escape(message)):
        parse_challenge(text.encode())
