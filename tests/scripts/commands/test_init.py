"""`pullrank init`: a fresh copy becomes one's own board, and nothing else of it changes."""

import shutil
from pathlib import Path

import pytest

from evaluator.host.loading.yaml_loader import parse_moderation, read_challenge
from scripts.commands import init
from scripts.console import CommandError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("challenge.yml", "moderation.yml"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".github").mkdir()
    shutil.copy(ROOT / ".github" / "CODEOWNERS", tmp_path / ".github" / "CODEOWNERS")
    for folder in ("submissions/alice/pole", "results/CartPole-v1", "example_agents/random"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def become(**changes: object) -> int:
    return init.run(
        **{
            "title": 'My "board"',
            "owner": "me",
            "repository": "me/board",
            "task": None,
            "season": None,
            "suite": None,
            **changes,
        }
    )  # type: ignore[arg-type]


def test_title_repository_and_owner_are_ones_own(copy: Path) -> None:
    assert become() == 0

    challenge = read_challenge(copy / "challenge.yml")
    assert (challenge.title, challenge.repository) == ('My "board"', "https://github.com/me/board")
    assert len(challenge.tasks) == len(read_challenge(ROOT / "challenge.yml").tasks)
    owners = (copy / ".github" / "CODEOWNERS").read_text()
    assert "*             @me" in owners
    assert "maintainers" not in owners.replace("maintainers merge", "")


def test_the_origins_entries_go_and_the_examples_stay(copy: Path) -> None:
    moderation = copy / "moderation.yml"
    moderation.write_text("# Why\nexclusions:\n  - {login: a, since: '2026-01-01', who: b, why: c, link: https://x.org/1}\n")
    moderation.rename(copy.parent / "outside.yml")
    moderation.symlink_to(copy.parent / "outside.yml")
    become()

    assert not (copy / "submissions").exists()
    assert not (copy / "results").exists()
    assert (copy / "example_agents" / "random" / "file").exists()
    assert parse_moderation(moderation.read_bytes()).exclusions == ()
    assert moderation.read_text().startswith("# Why")
    assert "since" in (copy.parent / "outside.yml").read_text()


def test_chosen_tasks_stay_as_they_were_written(copy: Path) -> None:
    before = {task.id: task for task in read_challenge(copy / "challenge.yml").tasks}
    become(task=["Taxi-v4", "CartPole-v1"], season="autumn")

    challenge = read_challenge(copy / "challenge.yml")
    assert [task.id for task in challenge.tasks] == ["CartPole-v1", "Taxi-v4"]
    assert list(challenge.tasks) == [before["CartPole-v1"], before["Taxi-v4"]]
    assert challenge.season == "autumn"
    assert challenge.limits == read_challenge(ROOT / "challenge.yml").limits


def test_comments_of_the_file_stay(copy: Path) -> None:
    become()

    assert (copy / "challenge.yml").read_text().startswith("# yaml-language-server")


def test_doing_it_again_changes_nothing_more(copy: Path) -> None:
    become()
    once = (copy / "challenge.yml").read_text()
    become()

    assert (copy / "challenge.yml").read_text() == once


@pytest.mark.parametrize("suite", list(init.Suite))
def test_a_suite_brings_tasks_with_anchors_and_sources(copy: Path, suite: init.Suite) -> None:
    become(suite=suite, title="Mine")

    challenge = read_challenge(copy / "challenge.yml")
    assert challenge.title == "Mine"
    assert "Eight classic" not in challenge.description
    for task in challenge.tasks:
        assert (task.game is not None) == (suite == "games")
        assert task.game or (task.random and task.reference and len(task.random.source) > 10 and task.script is None)
    assert {task.extra for task in challenge.tasks} <= {None, suite.value}
    assert challenge.limits == read_challenge(ROOT / "challenge.yml").limits


def test_a_text_on_several_lines_is_replaced_as_a_whole(copy: Path) -> None:
    path = copy / "challenge.yml"
    path.write_text(path.read_text().replace("description: Eight", "description:\n  Eight", 1))
    become(task=["Taxi-v4"])

    assert read_challenge(path).description == "Taxi."


def test_a_suite_can_be_narrowed_and_the_description_fits(copy: Path) -> None:
    become(suite=init.Suite.MUJOCO, task=["Hopper-v5", "Ant-v5"])

    challenge = read_challenge(copy / "challenge.yml")
    assert [task.id for task in challenge.tasks] == ["Hopper-v5", "Ant-v5"]
    assert challenge.description == "Hopper and Ant."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"owner": "me; rm"}, "--owner"),
        ({"owner": "a/b/c"}, "--owner"),
        ({"repository": "board"}, "--repository"),
        ({"task": ["Nowhere-v0"]}, "Nowhere-v0"),
        ({"task": ["CartPole-v1"], "suite": init.Suite.ATARI}, "there is no task 'CartPole-v1'; the tasks are Pong"),
        ({"title": ""}, "nothing was written"),
        ({"season": "a\nb: c"}, "nothing was written"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(copy: Path, changes: dict[str, object], message: str) -> None:
    before = (copy / "challenge.yml").read_text()

    with pytest.raises(CommandError, match=message):
        become(**changes)

    assert (copy / "challenge.yml").read_text() == before
    assert (copy / "submissions").exists()
