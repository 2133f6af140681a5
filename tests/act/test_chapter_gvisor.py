"""A leaderboard that evaluates in gVisor, run by act: its preview and its official run are played there, and say so."""

from collections.abc import Callable, Iterator

import pytest

from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from tests.act.board import BALANCES, CHALLENGE, entry
from tests.act.forge import ActForge
from tests.act.seen import only_comment, recorded, results, run_of

pytestmark = [pytest.mark.docker, pytest.mark.act]


@pytest.fixture(scope="module")
def forge(weekly: None, gvisor: SelectedSandbox, open_forge: Callable[..., ActForge]) -> Iterator[ActForge]:
    made = open_forge("gvisor", CHALLENGE + "runners: {sandbox: gvisor}\n", private=True)
    made.world.person("bob", 12)
    return made


def test_a_merge_is_played_in_gvisor_from_the_preview_to_the_record(forge: ActForge) -> None:
    number = forge.open("bob", entry("bob", "balance", BALANCES, ("CartPole-v1",)))
    assert "the official score is computed after merge" in only_comment(forge, number)
    forge.merge(number)

    run_of(forge, "official")
    assert recorded(forge) == [("CartPole-v1", "bob/balance")]
    (result,) = results(forge).values()
    assert (result["verdict"], result["sandbox"]) == ("ok", "gvisor")
