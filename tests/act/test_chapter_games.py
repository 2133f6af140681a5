"""A board of games, run by act: a player is validated in one round and has opponents in the next, which begins by itself."""

from collections.abc import Callable, Iterator

import pytest

from tests.act.forge import ActForge
from tests.act.seen import labels, only_comment, places, run_of
from tests.workflows.board import GAMES, player

pytestmark = [pytest.mark.docker, pytest.mark.act]


@pytest.fixture(scope="module")
def forge(weekly: None, open_forge: Callable[..., ActForge]) -> Iterator[ActForge]:
    made = open_forge("games", GAMES, private=True)
    made.world.person("alice", 11)
    return made


def recorded(forge: ActForge) -> list[str]:
    """Who met whom."""
    return sorted(path.split("/")[1] for path in forge.remote.paths("refs/heads/results"))


def test_1_the_named_example_is_validated(forge: ActForge) -> None:
    forge.tick()

    run = run_of(forge, "official")
    assert [name for name, _ in forge.runs].count("official") == 1
    assert recorded(forge) == ["local+random--local+random"]
    assert not run.began_another


def test_2_a_merge_takes_two_rounds_by_itself(forge: ActForge) -> None:
    number = forge.open("alice", player("alice", "middle", "int(legal[len(legal) // 2])"))
    assert "`local/random` (baseline)" in only_comment(forge, number)
    before = len(forge.runs)
    forge.merge(number)

    rounds = [run for name, run in forge.runs[before:] if name == "official"]
    assert [run.began_another for run in rounds] == [True, False]
    assert recorded(forge) == ["alice+middle--alice+middle", "alice+middle--local+random", "local+random--local+random"]
    assert "Elo on Tictactoe" in only_comment(forge, number)
    assert "official" in labels(forge, number)
    assert sorted(places(forge, "tictactoe")) == ["alice/middle", "local/random"]
    assert "tictactoe" in forge.page("tasks/tictactoe/duels/alice+middle--local+random/index.html").casefold()
