"""The files of a release: the same from the same commit, and refused where tag, version and changelog disagree."""

from pathlib import Path

import pytest

from scripts.console import CommandError
from scripts.git.git_repository import GitRepository
from scripts.github.workflow.release_files import write_release
from tests.workflows.remote import git

IMAGE = "ghcr.example/host/board/evaluator@sha256:" + "a" * 64
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-02\n\n- New.\n"


@pytest.fixture
def clone(tmp_path: Path) -> GitRepository:
    place = tmp_path / "clone"
    place.mkdir()
    git(place, "init", "--quiet")
    (place / "pyproject.toml").write_text('[project]\nname = "pullrank"\nversion = "1.2.0"\n')
    (place / "CHANGELOG.md").write_text(CHANGELOG)
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "-m", "Begin")
    return GitRepository(place)


def test_the_same_commit_gives_the_same_files(clone: GitRepository, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        (folder / "sbom.cdx.json").write_text("{}")
        (clone.path / "not-committed").write_text(folder.name)

        assert write_release(clone, "v1.2.0", IMAGE, folder) == ["image.txt", "pullrank-1.2.0.tar.gz", "sbom.cdx.json"]

    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert first == second
    assert first["notes"].decode() == f"- New.\n\nThe evaluator image is `{IMAGE}`.\n"
    assert first["SHA256SUMS"].count(b"\n") == 3


@pytest.mark.parametrize(
    ("tag", "image", "changelog", "fault"),
    [
        ("v1.3.0", IMAGE, CHANGELOG, "pyproject.toml says 1.2.0"),
        ("1.2.0", IMAGE, CHANGELOG, "tag v1.2.0"),
        ("v1.2.0", IMAGE.partition("@")[0] + ":latest", CHANGELOG, "no image by digest"),
        ("v1.2.0", "", CHANGELOG, "no image by digest"),
        ("v1.2.0", IMAGE, CHANGELOG.replace("1.2.0", "1.1.0"), "says nothing of 1.2.0"),
        ("v1.2.0", IMAGE, "## [1.2.0]\n\n## [1.1.0]\n- Old.\n", "says nothing of 1.2.0"),
    ],
)
def test_what_does_not_agree_is_refused_and_nothing_is_written(
    clone: GitRepository, tmp_path: Path, tag: str, image: str, changelog: str, fault: str
) -> None:
    (clone.path / "CHANGELOG.md").write_text(changelog)
    with pytest.raises(CommandError, match=fault):
        write_release(clone, tag, image, tmp_path / "out")

    assert not (tmp_path / "out").exists()
