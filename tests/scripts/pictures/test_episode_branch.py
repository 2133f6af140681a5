"""The branch of rendered episodes: one commit without a past, made of what is shown and rendered once."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from leaderboard.core.store import RECORD_ENDING, TRACE_ENDING
from leaderboard.text.urls import traces_branch_name
from scripts.commands import bot, recorded
from scripts.git.git_repository import GitError
from scripts.pictures import episode_branch as keeping
from scripts.pictures import render_episodes as rendering
from scripts.pictures.render_episodes import RenderRequest, episodes_folder, render_requests
from scripts.repository.checkout import Checkout, open_checkout
from scripts.standings.recorded_standings import recorded_standings
from tests.evaluations import evaluated
from tests.scripts.github.remotes import Clone, agent_files, git, make_board

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SEASON = "1"
CHALLENGE = b'title: Test\nseason: "1"\ntasks:\n  - {id: FrozenLake-v1, episodes: 3}\n'
FILES = {"best.webp", "median.webp", "worst.webp", "json"}
BLIND = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return 2\n"


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A board whose result and trace are recorded on their branches, and nowhere else but for the result."""
    made = make_board(tmp_path, {"challenge.yml": CHALLENGE, **agent_files("alice", "test", BLIND.encode())})
    for setting in ("allowAnySHA1InWant", "allowFilter"):
        git(tmp_path / "origin.git", "config", f"uploadpack.{setting}", "true")
    main = made.head
    git(made.path, "checkout-index", "-a", "-f")
    done = evaluated(BLIND, open_checkout(made.path).challenge.tasks[0], season=SEASON)
    assert done.trace is not None
    other = {f"FrozenLake-v1/bob/old/{'0' * 12}{TRACE_ENDING}": b"a large one"}
    for branch, ending, content, more in (
        ("results", RECORD_ENDING, done.result.serialised(), {}),
        (traces_branch_name(SEASON), TRACE_ENDING, done.trace, other),
    ):
        git(made.path, "read-tree", "--empty")
        made.commit({done.result.path() + ending: content, **more})
        made.push(branch)
        made.switch(main)
    open_checkout(made.path).store.write(done.result, None)
    return made


def every(clone: Clone) -> list[RenderRequest]:
    board: Checkout = open_checkout(clone.path)
    return render_requests(board, recorded_standings(board, official=False))


def update(clone: Clone) -> bool:
    return keeping.update(clone.repository, SEASON, every(clone), episodes_folder(clone.path), NOW)


def on_branch(clone: Clone) -> list[str]:
    return git(clone.path.parent / "origin.git", "ls-tree", "-r", "--name-only", "episodes").splitlines()


def test_what_is_shown_is_rendered_from_its_trace_alone_and_kept(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = every(clone)
    fetched: list[Path] = []

    def render_new(every: list[RenderRequest], folder: Path, *, quiet: bool) -> int:
        fetched.extend(path for each in every for path in each.trace.parent.iterdir())
        return rendering.render_new(every, folder, quiet=quiet)

    monkeypatch.setattr(keeping, "render_new", render_new)

    assert update(clone)

    assert {name.removeprefix(one.key[:20])[1:] for name in on_branch(clone)} == FILES
    assert [path.name for path in fetched] == [one.key]
    # Where that folder is the site is built the slow way, and it is built next on the same machine.
    assert not (clone.path / "traces").exists()
    assert git(clone.path.parent / "origin.git", "rev-list", "--count", "episodes") == "1"


def test_nothing_is_rendered_or_pushed_twice(clone: Clone) -> None:
    update(clone)
    before = git(clone.path.parent / "origin.git", "rev-parse", "episodes")
    (one,) = every(clone)
    for path in episodes_folder(clone.path).iterdir():
        path.unlink()

    assert not update(clone)

    assert not one.trace.exists()
    assert {path.name.removeprefix(one.key[:20])[1:] for path in episodes_folder(clone.path).iterdir()} == FILES
    assert git(clone.path.parent / "origin.git", "rev-parse", "episodes") == before


def test_what_is_shown_no_more_leaves_the_branch_and_its_past(clone: Clone) -> None:
    update(clone)

    assert keeping.update(clone.repository, SEASON, [], episodes_folder(clone.path), NOW)
    assert on_branch(clone) == []
    assert git(clone.path.parent / "origin.git", "rev-list", "--count", "episodes") == "1"


def test_a_foreign_file_on_the_branch_is_neither_taken_nor_kept(clone: Clone) -> None:
    main = clone.head
    git(clone.path, "read-tree", "--empty")
    clone.commit({"index.html": b"<script>", "a/" + "0" * 20 + ".json": b"{}"})
    clone.push("episodes")
    clone.switch(main)

    assert keeping.fetch(clone.repository, SEASON, episodes_folder(clone.path)) == 0
    assert not episodes_folder(clone.path).exists()
    assert update(clone)
    assert "index.html" not in on_branch(clone)


def test_before_the_first_there_is_nothing(clone: Clone) -> None:
    assert keeping.fetch(clone.repository, SEASON, episodes_folder(clone.path)) == 0


def test_a_refused_push_costs_pictures_only(clone: Clone, capsys: pytest.CaptureFixture[str]) -> None:
    hook = clone.path.parent / "origin.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)

    assert not update(clone)
    assert "The branch episodes was not changed" in capsys.readouterr().err.replace("\n", " ")


def test_recorded_fetches_them_where_it_is_asked_to(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    update(clone)
    for path in episodes_folder(clone.path).iterdir():
        path.unlink()
    monkeypatch.chdir(clone.path)

    assert recorded.run(token="", server="", episodes=False) == 0
    assert list(episodes_folder(clone.path).iterdir()) == []
    assert recorded.run(token="", server="", episodes=True) == 0
    assert len(list(episodes_folder(clone.path).iterdir())) == 4

    def broken(*given: object) -> int:
        raise GitError("fetch", "fatal: no")

    monkeypatch.setattr(recorded, "fetch", broken)
    assert recorded.run(token="", server="", episodes=True) == 0
    assert "No rendered episodes: git fetch failed" in capsys.readouterr().err.replace("\n", " ")


def test_the_verb_shows_official_results_only(
    clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    event = tmp_path / "event.json"
    event.write_text("{}")
    variables = {
        "GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": str(event), "GITHUB_RUN_ID": "1", "GITHUB_TOKEN": "bot-token",
        "GITHUB_REPOSITORY": "host/board", "GITHUB_REPOSITORY_ID": "1", "GITHUB_SHA": clone.head,
        "GITHUB_WORKSPACE": str(clone.path),
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert bot.episodes() == 0
    assert "The branch episodes stays as it is; 0 results are shown." in capsys.readouterr().err.replace("\n", " ")
