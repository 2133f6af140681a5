"""Somebody else's board, verified by its address: fetched as data, and nothing of it is run."""

import http.server
import os
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

from evaluator.host.verification import VerificationStatus
from evaluator.model.records.duel_record import duel_path
from scripts.console import CommandError
from scripts.git.git_repository import GitError
from scripts.verification import verify_address as verify_address_module
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
        contents[branch] = files_below(folder)
    if spoil:
        for name, content in contents["results"].items():
            contents["results"][name] = content.replace(b'"returns":[', b'"returns":[1').replace(
                b'"returns": [', b'"returns": [1'
            )
    push_branches(remote, place, contents)
    return remote


def files_below(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def push_branches(remote: Path, place: Path, contents: dict[str, dict[str, bytes]]) -> None:
    """Make branches of these files, each of one commit."""
    for branch, files in contents.items():
        clone = Clone(place / branch)
        clone.path.mkdir(parents=True)
        git(clone.path, "init", "--quiet")
        clone.commit(files)
        git(clone.path, "push", "--quiet", "--force", str(remote), f"HEAD:refs/heads/{branch}")


def test_a_board_verifies_whole_or_for_one_agent(tmp_path: Path) -> None:
    remote = board_with_results(tmp_path)

    everything = verify_remote(str(remote), None, quiet=True)
    (one,) = verify_remote(str(remote), "alice/one", quiet=True)

    assert [finding.status for finding in everything] == [VerificationStatus.VERIFIED] * 2
    assert one.path.startswith("results/CartPole-v1/alice/one/")
    with pytest.raises(CommandError, match="no record of bob/x"):
        verify_remote(str(remote), "bob/x", quiet=True)


@pytest.mark.parametrize(
    ("agent", "others"),
    [("alice/one", "alice+one2--bob+x"), ("lice/one", "alice+one--bob+x"), ("bob/y", "alice+one--bob+x")],
)
def test_one_agents_duels_are_not_those_of_another_with_a_longer_name(tmp_path: Path, agent: str, others: str) -> None:
    remote = board_of(tmp_path, {f"game/{others}/k.json": b'{"kind": "duel", "task": "game"}'})

    with pytest.raises(CommandError, match=f"no record of {agent}"):
        verify_remote(str(remote), agent, quiet=True)


@pytest.mark.parametrize("agent", ["old--login/x--y", "bob/x"])
def test_an_agents_duels_are_found_on_both_sides(tmp_path: Path, agent: str) -> None:
    path = duel_path("game", "old--login+x--y", "bob+x", "k" * 64)

    assert verify_remote(str(board_of(tmp_path, {f"{path}.json": b"{}"})), agent, quiet=True)


def test_records_of_an_earlier_season_are_replayed_with_its_traces(tmp_path: Path) -> None:
    remote = board_with_results(tmp_path)
    local = tmp_path / "local"
    text = (local / "challenge.yml").read_text()
    rules = text.replace("season: test", "season: next")
    assert rules != text
    (local / "challenge.yml").write_text(rules)
    folder = submit(local, "three", RULE + "# three\n", "[CartPole-v1]")
    assert run(local, "evaluate", folder, "--sandbox", "process")[0] == 0
    pushed = {
        "main": {"challenge.yml": rules.encode()},
        "results": files_below(local / "results"),
        "traces-next": {name: file for name, file in files_below(local / "traces").items() if "/three/" in name},
    }
    push_branches(remote, tmp_path / "later", pushed)

    findings = verify_remote(str(remote), None, quiet=True)

    assert [(finding.status, finding.faults) for finding in findings] == [(VerificationStatus.VERIFIED, ())] * 3


def test_records_of_tasks_that_are_not_run_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = "{id: CartPole-v1, episodes: 20, kwargs: {sutton_barto_reward: 'a:b'}}"
    challenge = f"title: T\nseason: test\ntasks:\n  - {tasks}\n".encode()
    remote = board_with_results(tmp_path, challenge)

    assert verify_remote(str(remote), None, quiet=True) == []
    assert verify_remote(str(remote), "alice/one", quiet=True) == []
    assert "CartPole-v1: is measured by the board's own code, or names some" in capsys.readouterr().err


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


def board_of(place: Path, files: dict[str, bytes], tasks: str = "\n  - {id: CartPole-v1, episodes: 20}\n") -> Path:
    """A board whose branch of results has what a hostile host put there."""
    remote = place / "remote.git"
    remote.mkdir()
    git(remote, "init", "--quiet", "--bare")
    git(remote, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(remote, "config", "uploadpack.allowFilter", "true")
    rules = f"title: T\nseason: test\ntasks:{tasks}".encode()
    push_branches(remote, place, {"main": {"challenge.yml": rules}, "results": files})
    return remote


@pytest.mark.attack(
    "board_that_names_code_of_a_clone", family="pages", outcome="named, left out, and not imported",
    tries="Gives a known environment an id that imports an agent's code from the clone of whoever verifies the board.",
)  # fmt: skip
@pytest.mark.parametrize("world", ["submissions.eve.a.agent:space/World-v0", "submissions.eve.b-2.agent:World-v0"])
def test_a_known_environment_imports_nothing_for_a_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], world: str
) -> None:
    ran = tmp_path / "ran"
    for agent in ("a", "b-2"):  # As in the root of a clone, where Python searches the folder that it is started in.
        folder = tmp_path / "submissions" / "eve" / agent
        folder.mkdir(parents=True)
        (folder / "agent.py").write_text(f"open({str(ran)!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "minigrid", ModuleType("minigrid"))
    module = "evaluator.environments.minigrid_images"
    tasks = f"""
  - {{id: game, game: "{module}:make_world", matches: 4, kwargs: {{world: "{world}"}}}}
  - {{id: solo, env: "{module}:MiniGridImages-v0", episodes: 20, kwargs: {{world: "{world}"}}}}
"""
    files = {"game/a+x--b+y/k.json": b'{"kind": "duel", "task": "game"}', "solo/a/x/k.json": b'{"task": "solo"}'}

    verify_remote(str(board_of(tmp_path, files, tasks)), None, quiet=True)

    assert not ran.exists()
    assert capsys.readouterr().err.count("is measured by the board's own code, or names some") == 2


@pytest.mark.attack(
    "board_of_one_blob_with_many_names", family="pages", outcome="one line, and no more of the disk than the limit",
    tries="Names one object a thousand times, so that a small board fills the disk of whoever verifies it.",
)  # fmt: skip
def test_a_board_takes_no_more_of_the_disk_than_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = board_of(tmp_path, {f"t/l/a{number}/k.json": b"{}" + b" " * (1 << 16) for number in range(40)})
    monkeypatch.setattr(verify_address_module, "BRANCH_BYTES", 1 << 20)

    with pytest.raises(CommandError, match="records have more than 1 MiB") as caught:
        verify_remote(str(remote), None, quiet=True)

    assert caught.value.code == 1


@pytest.mark.attack(
    "board_of_a_large_pack", family="pages", outcome="one line, and no more of the disk than the limit",
    tries="Has so much to fetch that it fills the disk of whoever verifies it.",
)  # fmt: skip
def test_what_is_fetched_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = board_of(tmp_path, {"t/l/a/k.json": os.urandom(3 << 20)})
    monkeypatch.setattr(verify_address_module, "BRANCH_BYTES", 1 << 20)

    with pytest.raises(GitError, match="git fetch failed"):
        verify_remote(str(remote), None, quiet=True)


@pytest.mark.attack(
    "board_with_a_name_that_no_disk_takes", family="pages", outcome="one line",
    tries="Names a record so that the disk of whoever verifies the board refuses to write it.",
)  # fmt: skip
@pytest.mark.parametrize("name", ["t/l/" + 300 * "n" + "/k.json", "t/" + 60 * ("d" * 100 + "/") + "k.json"])
def test_a_name_that_cannot_be_written_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandError, match="cannot be written here") as caught:
        verify_remote(str(board_of(tmp_path, {name: b"{}"})), None, quiet=True)

    assert "\n" not in str(caught.value)


@pytest.mark.attack(
    "board_that_sends_git_elsewhere", family="pages", outcome="not followed",
    tries="Redirects git to plain http, such as to a host of the network of whoever verifies the board.",
)  # fmt: skip
def test_git_follows_a_board_to_no_plain_http(tmp_path: Path) -> None:
    class Page(http.server.BaseHTTPRequestHandler):
        asked: ClassVar[list[str]] = []

        def do_GET(self) -> None:
            self.asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(GitError, match="'http' not allowed"):
            verify_remote(f"http://127.0.0.1:{server.server_port}/board", None, quiet=True)
        server.shutdown()

    assert Page.asked == []


@pytest.mark.parametrize("url", ["http://github.com/a/b", "https://127.0.0.1/a", "https://a:b@github.com/x", "file:///etc"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(CommandError, match="is no https address"):
        verify_address(url, None, quiet=True)
