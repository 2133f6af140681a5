"""SECURITY.md: each promise names tests that are there, and says what is not promised."""

import ast
import re

import pytest

from tests.scripts.checkouts import ROOT

HEAD = "| Promise | Test that holds it | Not promised |"
NAMED = re.compile(r"`tests/([\w/]+\.py)::(\w+)`")


def promises() -> list[list[str]]:
    """The cells of every row of every table of promises."""
    tables = (ROOT / "SECURITY.md").read_text().split(HEAD)[1:]
    lines = [line for table in tables for line in table.split("\n\n")[0].strip().splitlines()[1:]]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


ROWS = promises()


def test_every_promise_is_read() -> None:
    assert len(ROWS) >= 25
    assert {len(cells) for cells in ROWS} == {3}
    assert all(promise for promise, _, _ in ROWS)
    assert sum(bool(limit) for _, _, limit in ROWS) >= 20


@pytest.mark.parametrize(("promise", "tests"), [cells[:2] for cells in ROWS], ids=[cells[0][:50] for cells in ROWS])
def test_the_tests_that_hold_a_promise_are_there(promise: str, tests: str) -> None:
    named = NAMED.findall(tests)

    assert named, promise
    assert "".join(f"`tests/{file}::{name}`" for file, name in named) == tests.replace("<br>", "")
    for file, name in named:
        tree = ast.parse((ROOT / "tests" / file).read_text())
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in functions, f"{file} has no {name}"
        marks = [ast.unparse(decorator) for decorator in functions[name].decorator_list]
        assert [mark for mark in marks if mark.startswith(("pytest.mark.skip", "pytest.mark.xfail", "every_night"))] == []


def test_a_hole_is_reported_in_private() -> None:
    text = (ROOT / "SECURITY.md").read_text()

    assert "do not open a public issue" in text
    assert 'Use "Report a vulnerability" on the repository\'s Security tab' in text
