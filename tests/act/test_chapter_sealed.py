"""A sealed season, run by act: what is recorded, shown and told is rounded, and everything else is encrypted."""

import hashlib
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.act.board import BALANCES, CHALLENGE, entry
from tests.act.forge import ActForge
from tests.act.seen import only_comment, places, recorded, results, run_of

pytestmark = [pytest.mark.docker, pytest.mark.act]
SECRET = "5e" * 32
SEALED = f"""\
seeds: sealed
sealed:
  secret_sha256: "{hashlib.sha256(bytes.fromhex(SECRET)).hexdigest()}"
  decimals: -1
quota: {{per_day: 5, total: 30}}
"""


@pytest.fixture(scope="module")
def forge(weekly: None, open_forge: Callable[..., ActForge]) -> Iterator[ActForge]:
    made = open_forge("sealed", CHALLENGE + SEALED, private=True)
    made.runner.secrets["PULLRANK_SEASON_SECRET"] = SECRET
    made.world.person("bob", 12)
    return made


def test_a_merge_is_recorded_and_tells_only_what_is_rounded(forge: ActForge) -> None:
    number = forge.open("bob", entry("bob", "balance", BALANCES, ("CartPole-v1",)))
    assert "the place is an estimate" in only_comment(forge, number)
    forge.merge(number)

    run_of(forge, "official")
    assert recorded(forge) == [("CartPole-v1", "bob/balance")]
    (result,) = results(forge).values()
    assert result["verdict"] == "ok"
    assert not result.get("seeds")
    assert not result.get("returns")
    assert result["sealed"]["score"] % 10 == 0
    assert places(forge, "CartPole-v1") == ["bob/balance"]
    (trace,) = forge.remote.paths("refs/heads/traces-2026")
    content = subprocess.run(
        ["git", "-C", forge.remote.bare, "show", f"refs/heads/traces-2026:{trace}"], capture_output=True, check=True
    ).stdout
    assert len(content) > 100
    assert b'"actions"' not in content


def test_no_log_holds_the_secret(forge: ActForge) -> None:
    assert forge.runner.logs
    assert not [log for log in forge.runner.logs if SECRET in log.read_text()]
