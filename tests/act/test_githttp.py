"""The git server of these tests, with git itself and with our own reading of branches."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scripts.git.data_branches import export_files, results_commit
from scripts.git.git_repository import Credentials, GitError, GitRepository
from tests.act.githttp import GitServer
from tests.github.world import NAME, OWNER
from tests.workflows.remote import Remote, git

Served = Callable[[bool], GitServer]


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    made = Remote(tmp_path)
    (tmp_path / "files" / "CartPole-v1").mkdir(parents=True)
    (tmp_path / "files" / "CartPole-v1" / "a.json").write_text("{}\n")
    made.start(tmp_path / "files")
    git(made.bare, "branch", "results", "main")
    git(made.bare, "config", "http.receivepack", "true")
    return made


@pytest.fixture
def serve(remote: Remote, tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "served" / OWNER).mkdir(parents=True)
    (tmp_path / "served" / OWNER / NAME).symlink_to(remote.bare)
    opened: list[GitServer] = []

    def start(private: bool) -> GitServer:
        opened.append(GitServer(tmp_path / "served", {"right": "somebody"}, private=private))
        return opened[-1]

    yield start
    for server in opened:
        server.stop()


def clone_of(server: GitServer, place: Path, token: str = "") -> GitRepository:
    place.mkdir()
    git(place, "init", "--quiet")
    git(place, "remote", "add", "origin", f"{server.address}/{OWNER}/{NAME}")
    return GitRepository(place, Credentials(server_url=server.address, token=token) if token else None)


def test_a_private_repository_is_read_with_its_token(serve: Served, remote: Remote, tmp_path: Path) -> None:
    clone = clone_of(serve(True), tmp_path / "clone", "right")

    sha = results_commit(clone)
    assert sha == remote.tip("refs/heads/results")
    assert export_files(clone, sha, tmp_path / "out") == 1
    assert (tmp_path / "out" / "CartPole-v1" / "a.json").read_text() == "{}\n"


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_private_repository_tells_nobody_else_anything(serve: Served, tmp_path: Path, token: str) -> None:
    server = serve(True)

    with pytest.raises(GitError, match="git ls-remote failed"):
        results_commit(clone_of(server, tmp_path / "clone", token))
    assert {request.status for request in server.requests} == {401}


def test_a_public_repository_is_read_by_everybody_and_written_with_a_token(serve: Served, tmp_path: Path) -> None:
    server = serve(False)
    anonymous = clone_of(server, tmp_path / "anonymous")
    sha = results_commit(anonymous)
    anonymous.fetch(sha)

    with pytest.raises(GitError, match="git push failed"):
        anonymous.run("push", "origin", f"{sha}:refs/heads/mine")
    known = clone_of(server, tmp_path / "known", "right")
    known.fetch(sha)
    known.run("push", "origin", f"{sha}:refs/heads/mine")
    assert {request.login for request in server.requests if request.is_push and request.status == 200} == {"somebody"}
