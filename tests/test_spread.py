"""Tests that may not run at once stay together, and names in the lists are names of what there is."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import spread

ROOT = Path(__file__).parents[1]
FILES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))


def test_every_name_in_the_lists_is_that_of_tests() -> None:
    groups = {spread.group_of(path) for path in FILES}

    assert [start for start in spread.FIRST if not any(group.startswith(start) for group in groups)] == []
    for paths in spread.TOGETHER.values():
        assert [start for start in paths if not any(path.startswith(start) for path in FILES)] == []


@pytest.mark.parametrize("word", ["torch_index", "agent_image.trim", "from tests.docker.hub import"])
def test_what_there_is_only_one_of_is_used_by_one_group(word: str) -> None:
    users = {spread.group_of(path) for path in FILES if word in (ROOT / path).read_text() and ROOT / path != Path(__file__)}

    assert users == {"images"}


def test_groups_are_side_by_side_and_the_longest_comes_first() -> None:
    paths = [
        "tests/scripts/git/test_git_repository.py",
        "tests/browser/test_axe.py",
        "tests/leaderboard/scoring/test_ranking.py",
        "tests/docker/test_image.py",
    ]
    paths += ["tests/docker/test_extras.py", "tests/browser/test_table.py", "tests/docker/test_templates.py"]
    items = [SimpleNamespace(nodeid=f"{path}::test_it") for path in paths]
    spread.longest_first(items)  # type: ignore[arg-type]

    assert [spread.group_of(item.nodeid) for item in items] == [
        "images", "images", "pages", "pages", "tests/docker/test_image.py", "tests/scripts/git/test_git_repository.py",
        "tests/leaderboard/scoring/test_ranking.py",
    ]  # fmt: skip
