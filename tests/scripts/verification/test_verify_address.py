"""Somebody else's board, verified by its address: fetched as data, and nothing of it is run."""

import sys
from pathlib import Path

import pytest

from evaluator.host.solo.verify_result import VerificationStatus
from scripts.console import CommandError
from scripts.verification.verify_address import verify_address, verify_remote
from tests.scripts.checkouts import game_board, run, submit
from tests.scripts.github.remotes import Clone, git

RULE = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return int(observation[2] > 0)\n"


def board_with_results(place: Path, challenge: bytes | None = None, spoil: bool = False) -> Path:
    """A repository whose branches have what was evaluated here."""
    local = place / "local"
    local.mkdir()
    game_board(local)
    for name in ("one", "two"):
        folder = submit(local, name, RULE + f"# {name}\n", "[CartPole-v1]")
        assert run(local, "evaluate", folder, "--sandbox", "process")[0] == 0
    remote = place / "remote.git"
    remote.mkdir()
    git(remote, "init", "--quiet", "--bare")
    git(remote, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(remote, "config", "uploadpack.allowFilter", "true")
    contents = {"main": {"challenge.yml": challenge or (local / "challenge.yml").read_bytes()}}
    for branch, folder in (("results", local / "results"), ("traces-test", local / "traces")):
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        contents[branch] = files
    if spoil:
        for name, content in contents["results"].items():
            contents["results"][name] = content.replace(b'"returns":[', b'"returns":[1').replace(
                b'"returns": [', b'"returns": [1'
            )
    for branch, files in contents.items():
        clone = Clone(place / branch)
        clone.path.mkdir()
        git(clone.path, "init", "--quiet")
        clone.commit(files)
        git(clone.path, "push", "--quiet", str(remote), f"HEAD:refs/heads/{branch}")
    return remote


def test_a_board_verifies_whole_or_for_one_agent(tmp_path: Path) -> None:
    remote = board_with_results(tmp_path)

    everything = verify_remote(str(remote), None, quiet=True)
    (one,) = verify_remote(str(remote), "alice/one", quiet=True)

    assert [finding.status for finding in everything] == [VerificationStatus.VERIFIED] * 2
    assert one.path.startswith("results/CartPole-v1/alice/one/")
    with pytest.raises(CommandError, match="no record of bob/x"):
        verify_remote(str(remote), "bob/x", quiet=True)


def test_a_changed_number_is_refuted(tmp_path: Path) -> None:
    findings = verify_remote(str(board_with_results(tmp_path, spoil=True)), None, quiet=True)

    assert {finding.status for finding in findings} == {VerificationStatus.REFUTED}


@pytest.mark.attack(
    "board_that_runs_its_code", family="pages", outcome="named, left out, and not imported",
    tries="Has a task whose environment or metric would import a module on the machine of whoever verifies the board.",
)  # fmt: skip
def test_nothing_of_the_board_is_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    challenge = b"title: T\nseason: test\ntasks:\n  - {id: evil, env: 'antigravity:Evil-v0', episodes: 20}\n"
    findings = verify_remote(str(board_with_results(tmp_path, challenge)), None, quiet=True)

    assert "antigravity" not in sys.modules
    assert "evil: is measured by the board's own code" in capsys.readouterr().err
    assert VerificationStatus.VERIFIED not in {finding.status for finding in findings}


@pytest.mark.parametrize("url", ["http://github.com/a/b", "https://127.0.0.1/a", "https://a:b@github.com/x", "file:///etc"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(CommandError, match="is no https address"):
        verify_address(url, None, quiet=True)
