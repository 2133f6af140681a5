"""A board of games from the workflow files: a player is validated in one round, has opponents in the next, and then rest.

One chapter follows from the one before it.
"""

import os
from collections.abc import Iterator

import pytest

from evaluator.host.docker.engine import Engine
from tests.workflows.board import GAMES, lay_out, player
from tests.workflows.engine import Expressions
from tests.workflows.forge import Forge

pytestmark = pytest.mark.docker
NUMBERS: dict[str, int] = {}


@pytest.fixture(scope="module")
def forge(expressions: Expressions, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    place = tmp_path_factory.mktemp("games")
    base = {"BASE_IMAGE": os.environ["BASE_IMAGE"]} if "BASE_IMAGE" in os.environ else {}
    made = Forge(place, lay_out(place / "files", GAMES), expressions, base)
    made.world.person("alice", 11)
    yield made
    made.close()
    assert made.stand_in.violations == []


def recorded(forge: Forge) -> list[str]:
    """Who met whom."""
    return sorted(path.split("/")[1] for path in forge.remote.paths("refs/heads/results"))


def officials(forge: Forge) -> list[str]:
    """How the official runs ended."""
    return [run.conclusion or "" for name, run in forge.runs if name == "official"]


def test_1_the_named_example_is_validated(forge: Forge) -> None:
    forge.tick()

    assert officials(forge) == ["success"], forge.last("official").log()
    assert recorded(forge) == ["local+random--local+random"]
    assert not forge.last("official").began_another  # nobody to meet


def test_2_the_preview_tells_what_came_of_the_matches(forge: Forge) -> None:
    NUMBERS["alice"] = forge.open("alice", player("alice", "middle", "int(legal[len(legal) // 2])"))
    (comment,) = forge.comments(NUMBERS["alice"])

    assert forge.last("preview").conclusion == "success", forge.last("preview").log()
    assert "`local/random` (baseline)" in comment
    assert "Elo on Tictactoe" in comment


def test_3_a_merge_takes_two_rounds_by_itself(forge: Forge) -> None:
    before = len(officials(forge))
    forge.merge(NUMBERS["alice"])

    assert officials(forge)[before:] == ["success", "success"]
    assert recorded(forge) == ["alice+middle--alice+middle", "alice+middle--local+random", "local+random--local+random"]
    first, second = [run for name, run in forge.runs if name == "official"][before:]
    assert (first.began_another, second.began_another) == (True, False)
    (comment,) = forge.comments(NUMBERS["alice"])
    assert "Official: " in comment
    assert "Elo on Tictactoe" in comment
    assert "official" in forge.world.labelled[NUMBERS["alice"]]


def test_4_a_player_that_breaks_a_rule_is_refused(forge: Forge) -> None:
    number = forge.open("alice", player("alice", "cheat", "int(observation['action_mask'].argmin())"))
    (comment,) = forge.comments(number)

    assert "Refused on Tictactoe" in comment
    assert "The position in which that happened" in comment
    assert "needs-changes" in forge.world.labelled[number]


def test_5_no_job_used_more_than_it_was_permitted(forge: Forge) -> None:
    assert forge.overreaches() == []
