"""A clone as commands see it."""

import json
import os
from pathlib import Path

import pytest

from scripts.commands.site import needs_pinning
from scripts.console import CommandError
from scripts.repository.checkout import Checkout, open_checkout
from tests.leaderboard import make
from tests.scripts.checkouts import GAMES, game_board

AGENT = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return 0\n"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A board of one good agent and one that cannot be read, a result recorded of each and of one that is gone."""
    (tmp_path / "challenge.yml").write_text(json.dumps({"title": "T", "season": "1", "tasks": [{"id": "CartPole-v1"}]}))
    for login in ("alice", "bob"):
        folder = tmp_path / "submissions" / login / "agent"
        folder.mkdir(parents=True)
        (folder / "submission.yml").write_text("name: A\nalgorithm: none\n" if login == "alice" else "name: [\n")
        (folder / "agent.py").write_text(AGENT)
    board = Checkout(tmp_path)
    for login in ("alice", "bob", "carol"):
        board.store.write(make.result(make.entry(login), [1.0], on=board.challenge.tasks[0]), None)
    return tmp_path


def test_results_of_a_folder_that_cannot_be_read_are_left_out_and_those_of_one_that_is_gone_are_not(clone):
    assert [result.login for result in Checkout(clone).results] == ["alice", "carol"]


def test_from_a_relative_path_the_same_is_seen(clone, monkeypatch):
    monkeypatch.chdir(clone.parent)

    assert [result.login for result in Checkout(Path(os.path.relpath(clone))).results] == ["alice", "carol"]


def test_a_board_that_is_only_shown_keeps_no_files_and_the_same_digest(clone):
    whole, lean = (open_checkout(clone, is_lean=is_lean).read_all()[0][0] for is_lean in (False, True))

    assert (len(whole.folder.blobs), len(lean.folder.blobs)) == (2, 0)
    assert lean.entry() == whole.entry()


def test_a_site_is_pinned_where_players_are_rated_or_environments_stepped(tmp_path: Path) -> None:
    root = game_board(tmp_path)
    assert needs_pinning(open_checkout(root))

    (root / "challenge.yml").write_text(GAMES.partition("  - id: tictactoe")[0])
    assert not needs_pinning(open_checkout(root))

    (root / "traces").mkdir()
    assert needs_pinning(open_checkout(root))


def test_a_task_is_named_by_its_id_or_its_title_whatever_the_capitals(tmp_path: Path) -> None:
    ids = ("CartPole-v1", "connect_four", "one", "two")
    titles = {"connect_four": "Connect Four", "one": "Same", "two": "Same"}
    tasks = [
        {"id": i, "title": titles.get(i), **({"game": "pettingzoo.classic.connect_four_v3"} if "four" in i else {})}
        for i in ids
    ]
    (tmp_path / "challenge.yml").write_text(json.dumps({"title": "T", "season": "1", "tasks": tasks}))
    board = Checkout(tmp_path)

    named = board.tasks(["cartpole-V1", "Connect Four", "One", "two"])

    assert [task.id for task in named] == list(ids)
    assert [task.id for task in board.games(["connect four"])] == ["connect_four"]
    with pytest.raises(CommandError, match="there is no task 'Same'"):
        board.tasks(["Same"])
    with pytest.raises(CommandError, match="CartPole-v1 is played alone"):
        board.games(["cartpole-v1"])
