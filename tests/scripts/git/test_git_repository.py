"""Git as an owner of objects: what it reads is data, what it is told is checked, what it says is one line."""

import re
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.console import CommandError
from scripts.git.git_repository import Credentials, GitError, GitRepository, full_sha
from scripts.git.tree_diff import tree_changes
from tests.scripts.github.remotes import Clone, agent_files, git, make_board


@pytest.fixture
def board(tmp_path: Path) -> Clone:
    return make_board(tmp_path, agent_files("bob"))


@pytest.mark.attack(
    "commit_that_is_an_option", family="supply", outcome="refused",
    tries="Names a commit like an option of git.",
)  # fmt: skip
@pytest.mark.parametrize("sha", ["", "HEAD", "main", "--upload-pack=touch x", "a" * 39, "A" * 40, "a" * 40 + "\n", "a" * 41])
def test_only_full_commit_ids_reach_a_command_line(sha: str) -> None:
    with pytest.raises(CommandError, match="not a full commit id"):
        full_sha(sha)


@pytest.mark.attack(
    "head_fetched_as_data", family="supply", outcome="fetched as data",
    tries="Brings hooks and configuration with the head of a pull request.",
)  # fmt: skip
def test_a_pull_requests_head_is_fetched_by_its_id_as_data(board: Clone, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "origin.git", "fork")
    fork = Clone(tmp_path / "fork")
    head = fork.commit(agent_files("alice"))
    git(fork.path, "push", "-q", "origin", "HEAD:refs/pull/1/head")

    assert board.repository.resolve(head) is None
    board.repository.fetch(head)
    assert [change.path for change in tree_changes(board.repository, board.head, head, "alice")] == [
        b"submissions/alice/a/agent.py", b"submissions/alice/a/submission.yml",
    ]  # fmt: skip
    assert not (board.path / "submissions").exists()


def test_what_git_refuses_is_one_line(board: Clone) -> None:
    with pytest.raises(GitError, match=r"^git fetch failed: (fatal|error): ") as caught:
        board.repository.fetch("0" * 40)

    assert "\n" not in str(caught.value)


def test_folders_blobs_and_first_parents(board: Clone) -> None:
    main = board.head
    own = board.commit({**agent_files("alice"), "755:x": b""} | {"100755:submissions/alice/a/run.sh": b"#!\n"})
    merge = board.commit({}, "merge", (main, own))
    repository = board.repository

    assert repository.folders(merge) == [("alice", "a"), ("bob", "a")]
    assert repository.folders(merge, "bob") == [("bob", "a")]
    assert repository.folders(merge, "bo") == []
    assert repository.logins(merge) == ["alice", "bob"]
    assert [(blob.path, blob.executable) for blob in repository.blobs(merge, "submissions/alice/a")] == [
        ("agent.py", False), ("run.sh", True), ("submission.yml", False),
    ]  # fmt: skip
    assert repository.first_parent(merge) == [merge, main]
    assert repository.blobs(merge, "submissions/ali") == ()


def test_reading_what_is_no_blob_is_an_error(board: Clone) -> None:
    with pytest.raises(GitError, match="no blob"):
        board.repository.read([board.head])
    with pytest.raises(GitError, match="no blob"):
        board.repository.read(["0" * 40])


def test_the_token_is_for_one_server_and_stands_in_no_command_line(tmp_path: Path) -> None:
    secret = Credentials(server_url="https://example.org/", token="t0ken")
    environment = secret.environment()

    assert environment["GIT_CONFIG_KEY_0"] == "http.https://example.org/.extraheader"
    assert "t0ken" not in "".join(environment.values())
    git(tmp_path, "init", "-q", ".")
    repository = GitRepository(tmp_path, secret, is_ours=True)
    assert repository.run("config", "--get-urlmatch", "http.extraheader", "https://example.org/a/b") != b""
    with pytest.raises(GitError):
        repository.run("config", "--get-urlmatch", "http.extraheader", "https://evil.example/a/b")
    with pytest.raises(GitError):  # where a clone's own configuration could send it elsewhere, only network commands have it
        replace(repository, is_ours=False).run("config", "--get-urlmatch", "http.extraheader", "https://example.org/a/b")


@pytest.mark.attack(
    "clone_that_brings_programs_for_git", family="supply", outcome="not run",
    tries="Hands out a clone whose configuration names programs for git to start: filters, transports, services, hooks.",
)  # fmt: skip
def test_a_clones_own_configuration_starts_no_program(board: Clone, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    program = f"touch {mark}; false"
    for name, value in {
        "filter.x.clean": program, "filter.a.b.process": program, "protocol.ext.allow": "always",
        "core.alternateRefsCommand": program, "remote.origin.uploadpack": program, "remote.origin.receivepack": program,
    }.items():  # fmt: skip
        git(board.path, "config", name, value)
    (board.path / ".git/info/attributes").write_text("*.py filter=x\n*.yml filter=a.b\n")
    for event in ("reference-transaction", "post-checkout", "post-index-change"):  # git 2.54 and later
        git(board.path, "config", "--add", "hook.a.b.event", event)
    git(board.path, "config", "hook.a.b.command", program)
    git(board.path, "config", "hook.a.b.enabled", "true")
    files = agent_files("bob")
    for path, content in files.items():
        (board.path / path).parent.mkdir(parents=True, exist_ok=True)
        (board.path / path).write_bytes(content + b"# changed\n")

    assert set(board.repository.status()) >= {f" M {path}" for path in files}
    board.repository.run("fetch", "--quiet", "origin")
    board.repository.begin_branch("other", board.head)
    git(board.path, "config", "remote.origin.url", f"ext::touch {mark}")
    with pytest.raises(GitError):
        board.repository.run("ls-remote", "origin")

    assert not mark.exists()


@pytest.mark.attack(
    "clone_that_lacks_an_object", family="supply", outcome="not run",
    tries="Hands out a clone without one object, whose configuration names a program that git starts to fetch it.",
)  # fmt: skip
def test_a_missing_object_is_not_fetched_as_the_clone_says(board: Clone, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for name, value in {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "x", "remote.x.url": str(board.path),
        "remote.x.promisor": "true", "remote.x.uploadpack": f"touch {mark}; false",
    }.items():  # fmt: skip
        git(board.path, "config", name, value)

    with pytest.raises(GitError, match="no blob"):
        board.repository.read(["1" * 40])
    with pytest.raises(GitError):
        board.repository.fetch("1" * 40, source=str(board.path))

    assert not mark.exists()


@pytest.mark.attack(
    "clone_with_another_history", family="supply", outcome="the commits' own parents count",
    tries="Hands out a clone whose files beside the commits give main other parents, though its commit is the true one.",
)  # fmt: skip
def test_grafts_and_replacements_change_no_history(board: Clone) -> None:
    first, head = board.head, board.commit({"a": b"1"})
    forged = git(board.path, "commit-tree", f"{head}^{{tree}}", "-m", "forged")
    git(board.path, "replace", head, forged)
    (board.path / ".git/info/grafts").write_text(f"{head} {forged}\n")

    assert board.repository.first_parent(head) == [head, first]
    assert board.repository.merge_bases(head, forged) == []


@pytest.mark.parametrize(
    "name", ["http.proxy", "http.https://127.0.0.1/.sslVerify", "http.saveCookies", "remote.origin.proxy", "HTTP.sslCAInfo"]
)
@pytest.mark.attack(
    "clone_that_leads_the_token_away", family="supply", outcome="refused, nothing is connected",
    tries="Hands out a clone whose configuration has git send what it asks, with the token, through somebody's proxy.",
)  # fmt: skip
def test_a_clones_own_configuration_does_not_say_how_servers_are_reached(tmp_path: Path, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        git(tmp_path, "init", "-q", ".")
        git(tmp_path, "config", "remote.origin.url", f"{address}/a/b")
        git(tmp_path, "config", name, address)
        clone = GitRepository(tmp_path, Credentials(server_url=address, token="t0ken"))

        for words in (("ls-remote", "origin"), ("fetch", "origin"), ("push", "origin", "HEAD:x")):
            with pytest.raises(CommandError, match=rf"(?i)configuration has {re.escape(name)}, .*clone it anew"):
                clone.run(*words, seconds=20.0)

        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()


def test_what_a_checkout_action_writes_is_no_way_to_reach_servers(board: Clone) -> None:
    git(board.path, "config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic x")
    git(board.path, "config", "http.postBuffer", "1000000")

    assert board.repository.run("ls-remote", "origin")
