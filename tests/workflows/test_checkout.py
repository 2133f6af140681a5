"""What a checkout holds, by its depth: the stand-in does what the real action does, and our workflows ask for the least."""

from pathlib import Path

import pytest

from tests.github.world import World
from tests.workflows.actions import Actions
from tests.workflows.files import NAMES, steps
from tests.workflows.remote import Remote, git
from tests.workflows.runner import Machine


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    """A board of two commits, with something recorded on a branch of its own."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "README.md").write_text("board\n")
    made = Remote(tmp_path / "remote")
    made.start(tmp_path / "files")
    made.change_main({"README.md": "newer\n"}, "Change")
    git(made.desk, "checkout", "--quiet", "--orphan", "results")
    (made.desk / "result.json").write_text("{}\n")
    git(made.desk, "add", "result.json")
    git(made.desk, "commit", "--quiet", "--message", "record")
    git(made.desk, "tag", "v1")
    git(made.desk, "push", "--quiet", "origin", "HEAD:refs/heads/results", "v1")
    return made


def check_out(remote: Remote, place: Path, **inputs: object) -> Path:
    """The workspace after a checkout of main."""
    github = {"sha": remote.tip(), "ref": "refs/heads/main"}
    machine = Machine(workspace=place / "work", temp=place / "temp", github=github, matrix={})
    machine.workspace.mkdir()
    actions = Actions(remote, World(), place)
    actions.checkout(machine, inputs)
    assert actions.checkouts == [machine.workspace]
    return machine.workspace


def holds(remote: Remote, place: Path) -> bool:
    """Whether the recorded file's object is there."""
    name = remote.blob("results", "result.json")
    return git(place, "cat-file", "--batch-check", given=name) != f"{name} missing"


def test_depth_0_is_every_branch_and_tag(remote: Remote, tmp_path: Path) -> None:
    place = check_out(remote, tmp_path, **{"fetch-depth": 0})

    assert holds(remote, place)
    assert "refs/tags/v1" in git(place, "for-each-ref", "--format=%(refname)").splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_no_checkout_of_ours_holds_what_was_recorded(name: str, remote: Remote, tmp_path: Path) -> None:
    depths = {step["with"].get("fetch-depth", 1) for _, step in steps(name) if "actions/checkout@" in step.get("uses", "")}
    assert depths
    for depth in sorted(depths):
        (tmp_path / str(depth)).mkdir()
        place = check_out(remote, tmp_path / str(depth), **{"fetch-depth": depth})

        assert not holds(remote, place)
        assert git(place, "for-each-ref", "--format=%(refname)") == ""
        assert git(place, "rev-list", "--count", "HEAD") == ("1" if depth == 1 else "2")
        assert git(place, "rev-parse", "--is-shallow-repository") == ("true" if depth == 1 else "false")
