"""A forge whose workflows run under act."""

import os
from collections.abc import Callable, Iterator

import pytest

from evaluator.host.docker.engine import Engine
from tests.act import places
from tests.act.board import CHALLENGE
from tests.act.forge import ActForge
from tests.workflows.board import lay_out
from tests.workflows.engine import Expressions
from tests.workflows.facts import facts

# What checkout itself asks GitHub, which GitHub's description of its API does not have; a 404 makes it take SHA-1.
UNDESCRIBED = "/repos/host/board/hash-algorithm"
Opened = Callable[..., ActForge]


@pytest.fixture(scope="module")
def open_forge(
    expressions: Expressions, engine: Engine, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Opened]:
    """Opens forges of a chapter; each is closed at its end, and its minutes are written down."""
    for name in facts():
        places.action(name)
    places.program(), places.node(), places.tool_cache()
    opened: list[tuple[str, ActForge]] = []

    def start(chapter: str, challenge: str = CHALLENGE, *, private: bool = True) -> ActForge:
        place = tmp_path_factory.mktemp(chapter)
        opened.append((chapter, ActForge(place, lay_out(place / "files", challenge), expressions, private=private)))
        return opened[-1][1]

    yield start
    for chapter, forge in opened:
        forge.close()
        forge.write_minutes(chapter)
    assert [line for _, forge in opened for line in forge.stand_in.violations if UNDESCRIBED not in line] == []


@pytest.fixture(scope="module")
def weekly() -> None:
    """For chapters that take long: they run where PULLRANK_ACT_CHAPTERS=1 asks for them."""
    if os.environ.get("PULLRANK_ACT_CHAPTERS") != "1":
        pytest.skip("a long chapter: 'make act' runs it, as does the weekly workflow")
