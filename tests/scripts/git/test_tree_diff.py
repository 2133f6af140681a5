"""Trees that a stranger made are read within limits, and what breaks them is the pull request's fault, in words."""

import os
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from evaluator.host.usage import MIB
from evaluator.model.config.submission_limits import SubmissionLimits
from scripts.console import CommandError
from scripts.git import tree_diff
from scripts.git.git_repository import GitError, GitLimitError, GitRepository
from scripts.git.pull_request_guard import AGENTS_CHANGED, GuardedPaths, PullAuthor, inspect_pull
from scripts.git.tree_diff import UnreadableError, fetch_head, tree_changes
from tests.scripts.git.tree_bombs import BLOB, TREE, bomb, chain, commit_tree, object_id, raw_tree, write_objects
from tests.scripts.github.remotes import AGENT, Clone, agent_files, git, make_board

LIMITS = SubmissionLimits(files=5, kib=4)
ALICE = PullAuthor(login="alice", id=1)


@pytest.fixture
def board(tmp_path: Path) -> Clone:
    return make_board(tmp_path, agent_files("bob"))


def judge(board: Clone, head: str) -> GuardedPaths:
    return inspect_pull(board.repository, board.head, head, ALICE, LIMITS)


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes git printed, for each call."""
    sizes: list[int] = []
    run = GitRepository.run

    def counted(self: GitRepository, *arguments: str, **options: object) -> bytes:
        try:
            output = run(self, *arguments, **options)  # type: ignore[arg-type]
        except GitLimitError:
            sizes.append(int(options["at_most"]))  # type: ignore[call-overload]
            raise
        sizes.append(len(output))
        return output

    monkeypatch.setattr(GitRepository, "run", counted)
    return sizes


@pytest.mark.attack(
    "tree_bomb", family="supply", outcome="refused once, git is stopped",
    tries="Commits a few trees that contain each other and unfold to a million paths.",
)  # fmt: skip
@pytest.mark.parametrize("path", ["submissions/alice", "submissions/alice/a", "submissions/alice/a/data"])
def test_a_few_trees_that_unfold_to_a_million_paths_are_refused(board: Clone, path: str, printed: list[int]) -> None:
    paths = judge(board, commit_tree(board, path, bomb(board.path, 6), board.head))

    assert not paths.is_clean
    assert paths.faults == ("submissions/alice: holds more than can be listed; leave out what is no part of an agent",)
    assert sum(printed) <= tree_diff.LIST_BYTES + 10_000


@pytest.mark.attack(
    "tree_bomb_outside_the_folder", family="supply", outcome="refused once, little is unfolded",
    tries="Commits a tree bomb outside of the author's folder.",
)  # fmt: skip
@pytest.mark.parametrize("path", ["docs", "submissions/zed", "submissions/bob/a/data"])
def test_outside_the_authors_folder_little_is_unfolded(board: Clone, path: str, printed: list[int]) -> None:
    paths = judge(board, commit_tree(board, path, bomb(board.path, 12), board.head))

    assert paths.outside[0].startswith(f"{path}/d0/")
    assert len(paths.outside) == 51
    assert len(printed) < 2 * tree_diff.FOLDERS_OPENED + 20
    assert sum(printed) < 100_000


def test_an_honest_change_outside_is_named_by_its_files(board: Clone) -> None:
    head = board.commit({"a/b/c/d.txt": b"1\n", "a/b/e.txt": b"2\n", "README.md": None})
    paths = inspect_pull(board.repository, git(board.path, "rev-parse", "origin/main"), head, ALICE, LIMITS)

    assert paths.outside == ("README.md", "a/b/c/d.txt", "a/b/e.txt")


def test_a_folder_that_is_not_opened_is_named_as_a_whole(board: Clone) -> None:
    files = {f"docs/{n:03}/file.txt": b"x\n" for n in range(tree_diff.FOLDERS_OPENED + 5)}
    main = board.head
    changes = tree_changes(board.repository, main, board.commit(files), "alice")

    assert [change.path for change in changes[:2]] == [b"docs/000/file.txt", b"docs/001/file.txt"]
    assert [change.path for change in changes if change.path.endswith(b"/")] == [
        b"docs/%03d/" % n for n in range(tree_diff.FOLDERS_OPENED - 1, tree_diff.FOLDERS_OPENED + 5)
    ]
    assert all((one.status, one.new_mode) == ("A", "040000") for one in changes if one.path.endswith(b"/"))


@pytest.mark.attack(
    "folder_without_a_floor", family="supply", outcome="refused",
    tries="Nests folders as deep as git allows.",
)  # fmt: skip
@pytest.mark.parametrize("levels", [100, 5_000, 100_000])
def test_a_folder_without_a_floor_is_refused(board: Clone, levels: int) -> None:
    (fault,) = judge(board, commit_tree(board, "submissions/alice/a/x", chain(board.path, levels), board.head)).faults

    assert fault.startswith("submissions/alice: ")
    assert "64 deep" in fault or "git cannot read it" in fault
    assert "\n" not in fault


def test_a_folder_without_a_floor_elsewhere_is_outside(board: Clone) -> None:
    paths = judge(board, commit_tree(board, "docs", chain(board.path, 100_000), board.head))

    assert paths.faults == ()
    assert [path[:9] for path in paths.outside] == ["docs/d/d/"]


@pytest.mark.attack(
    "tree_of_a_million_names", family="supply", outcome="refused",
    tries="Commits more files than anybody lists.",
)  # fmt: skip
def test_a_tree_with_more_names_than_are_listed_is_refused(board: Clone) -> None:
    blob = object_id("blob", b"x\n")
    names = ((BLOB, b"f%07d" % n, blob) for n in range(80_000))
    *_, tree = write_objects(board.path, [("blob", b"x\n"), ("tree", raw_tree(names))])
    inside = judge(board, commit_tree(board, "submissions/alice/a", tree, board.head))
    outside = judge(board, commit_tree(board, "docs", tree, board.head))

    assert "more than can be listed" in inside.faults[0]
    assert outside.outside == ("docs/",)


@pytest.mark.attack(
    "name_of_a_megabyte", family="supply", outcome="one short line",
    tries="Gives a file a name of a megabyte.",
)  # fmt: skip
def test_a_very_long_name_is_one_short_line(board: Clone) -> None:
    tree = raw_tree([(BLOB, b"n" * 3_000_000, object_id("blob", b"x\n"))])
    *_, oid = write_objects(board.path, [("blob", b"x\n"), ("tree", tree)])
    (fault,) = judge(board, commit_tree(board, "submissions/alice/a", oid, board.head)).faults

    assert len(fault) < 400


@pytest.mark.attack(
    "name_twice_in_a_tree", family="supply", outcome="refused",
    tries="Writes a tree that holds a name twice, one for each reader.",
)  # fmt: skip
@pytest.mark.parametrize(
    "entries",
    [
        [(BLOB, b"agent.py", b"x\n"), (BLOB, b"agent.py", b"y\n")],
        [(BLOB, b"data", b"x\n"), (TREE, b"data", b"")],
    ],
)
def test_a_name_that_stands_twice_is_refused(board: Clone, entries: list[tuple[str, bytes, bytes]]) -> None:
    inner = ("tree", raw_tree([(BLOB, b"f", object_id("blob", b"x\n"))]))
    named = [(m, n, object_id(*inner) if m == TREE else object_id("blob", content)) for m, n, content in entries]
    objects = [("blob", b"x\n"), ("blob", b"y\n"), inner, ("tree", raw_tree(named))]
    tree = write_objects(board.path, objects)[-1]
    (fault,) = judge(board, commit_tree(board, "submissions/alice/a", tree, board.head)).faults

    assert "malformed" in fault or "a file and a folder at once" in fault


@pytest.mark.attack(
    "root_that_holds_submissions_twice", family="supply", outcome="refused",
    tries="Writes a root that holds the folder of submissions twice.",
)  # fmt: skip
def test_a_root_that_holds_submissions_twice_is_refused(board: Clone) -> None:
    """The first is main's own, so that a look at the first alone would see no change."""
    honest = git(board.path, "rev-parse", f"{board.head}:submissions")
    evil = bomb(board.path, 2)
    rest = [(TREE, b"submissions", honest), (TREE, b"submissions", evil)]
    (root,) = write_objects(board.path, [("tree", raw_tree(rest))])
    head = git(board.path, "commit-tree", root, "-p", board.head, "-m", "two")

    assert "malformed" in judge(board, head).faults[0]


@pytest.mark.attack(
    "slash_in_a_name", family="supply", outcome="refused",
    tries="Writes a tree with a slash in a name, to pass for the author's folder.",
)  # fmt: skip
def test_a_path_in_one_name_does_not_pass_for_the_authors_folder(board: Clone) -> None:
    blob = git(board.path, "hash-object", "-w", "--stdin", given=AGENT)
    (root,) = write_objects(board.path, [("tree", raw_tree([(BLOB, b"submissions/alice/a/agent.py", blob)]))])
    head = git(board.path, "commit-tree", root, "-p", board.head, "-m", "one name")

    assert "malformed" in judge(board, head).faults[0]


@pytest.mark.attack(
    "many_spellings_of_a_login", family="people", outcome="one limit for all",
    tries="Uses every spelling of a login for folders of its own.",
)  # fmt: skip
def test_many_spellings_of_a_login_share_one_limit(
    board: Clone, printed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_diff, "LIST_BYTES", 100_000)
    monkeypatch.setattr(tree_diff, "ALL_BYTES", 400_000)
    blob = object_id("blob", b"x\n")
    spelled = [b"alice", b"alicE", b"aliCe", b"alIce", b"aLice", b"Alice", b"ALice", b"ALIce"]
    folders = [raw_tree((BLOB, spelling + b"%06d" % n, blob) for n in range(1400)) for spelling in spelled]
    _, *made = write_objects(board.path, [("blob", b"x\n"), *(("tree", content) for content in folders)])
    (own,) = write_objects(board.path, [("tree", raw_tree(sorted(zip([TREE] * 8, spelled, made, strict=True))))])
    paths = judge(board, commit_tree(board, "submissions", own, board.head))

    assert "more than can be listed" in paths.faults[0]
    assert 300_000 < sum(printed) <= 410_000


def test_more_agents_than_one_pull_request_may_change_are_refused(board: Clone) -> None:
    main = board.head
    tree = git(board.path, "rev-parse", f"{main}:submissions/bob/a")
    lines = "".join(f"040000 tree {tree}\tagent{n}\n" for n in range(AGENTS_CHANGED + 1))
    head = commit_tree(board, "submissions/alice", git(board.path, "mktree", given=lines.encode()), main)

    assert judge(board, head).faults == (
        f"the pull request changes more than {AGENTS_CHANGED} agents; split it into several",
    )


@pytest.mark.attack(
    "history_of_many_merges", family="supply", outcome="refused",
    tries="Makes a history that meets main's in very many places.",
)  # fmt: skip
def test_many_places_where_histories_meet_are_refused(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_diff, "MERGE_BASES", 0)

    assert "begin a new branch" in judge(board, board.commit(agent_files("alice"))).faults[0]


def test_git_is_stopped_when_it_takes_too_long_or_prints_too_much(board: Clone) -> None:
    with pytest.raises(GitLimitError, match=r"longer than 0\.2 seconds"):
        board.repository.run("-c", "alias.doze=!sleep 60", "doze", seconds=0.2)
    with pytest.raises(GitLimitError, match="more than 10 bytes"):
        board.repository.run("cat-file", "-p", board.head, at_most=10)


@pytest.mark.attack(
    "head_that_git_cannot_send", family="supply", outcome="its author is told, the others continue",
    tries="Pushes objects that git cannot send.",
)  # fmt: skip
def test_a_head_that_keeps_git_from_sending_it_is_its_authors_fault(board: Clone, tmp_path: Path) -> None:
    origin = Clone(tmp_path / "origin.git")
    missing = write_objects(origin.path, [("tree", raw_tree([(BLOB, b"f", "1" * 40)]))])[0]
    head = commit_tree(origin, "submissions/alice/a", missing, board.head)
    git(origin.path, "update-ref", "refs/pull/1/head", head)

    with pytest.raises(UnreadableError, match="cannot be fetched"):
        fetch_head(board.repository, head)


def test_an_origin_that_does_not_answer_is_nobodys_fault(board: Clone, tmp_path: Path) -> None:
    head = board.commit(agent_files("alice"))
    fresh = Clone(tmp_path / "fresh")
    git(tmp_path, "clone", "-q", "origin.git", "fresh")
    (tmp_path / "origin.git").rename(tmp_path / "gone.git")

    with pytest.raises(GitError):
        fetch_head(fresh.repository, head)


@pytest.mark.attack(
    "head_that_fills_the_disk", family="supply", outcome="refused, nothing of it stays, the others continue",
    tries="Pushes commits of gigabytes that its last commit takes back, so that no disk has room for anybody else's.",
)  # fmt: skip
def test_a_head_of_a_huge_pack_is_refused_and_leaves_nothing(
    board: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_diff, "HEAD_BYTES", MIB)
    honest = propose(board, agent_files("alice"))
    names = [f"submissions/mallory/a/w{number}.bin" for number in range(5)]
    propose(board, {name: os.urandom(MIB // 2) for name in names})
    head = propose(board, {**dict.fromkeys(names), **agent_files("mallory")})
    git(tmp_path, "clone", "-q", "--single-branch", "-b", "main", f"file://{tmp_path}/origin.git", "fresh")
    fresh = Clone(tmp_path / "fresh")

    with pytest.raises(UnreadableError, match="more than 1 MiB; begin a new branch on main, with one commit"):
        fetch_head(fresh.repository, head)

    assert sum(path.stat().st_size for path in (fresh.path / ".git/objects").rglob("*")) < MIB
    fetch_head(fresh.repository, honest)
    assert fresh.repository.resolve(honest) == honest


@pytest.mark.attack(
    "heads_that_fill_the_disk_together", family="supply", outcome="the disk keeps room, the others continue",
    tries="Opens many pull requests of half a gigabyte each, so that one report fetches more than its disk holds.",
)  # fmt: skip
def test_many_heads_together_leave_room_on_the_disk(board: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main, heads = board.head, []
    for content in (b"small", *(os.urandom(MIB + 1) for _ in range(12))):
        heads.append(board.commit({"w.bin": content}, parents=(main,)))
        git(board.path, "push", "-q", "origin", f"{heads[-1]}:refs/pull/{len(heads)}/head")
    git(tmp_path, "clone", "-q", "--single-branch", "-b", "main", f"file://{tmp_path}/origin.git", "fresh")
    fresh = Clone(tmp_path / "fresh")

    def free(_: Path) -> SimpleNamespace:
        taken = sum(path.stat().st_size for path in (fresh.path / ".git/objects").rglob("*"))
        return SimpleNamespace(free=max(0, 14 * MIB - taken))

    def fetch_all() -> None:
        for head in heads[1:]:
            fetch_head(fresh.repository, head)

    monkeypatch.setattr(tree_diff.shutil, "disk_usage", free)
    monkeypatch.setattr(tree_diff, "HEAD_BYTES", 2 * MIB)
    monkeypatch.setattr(tree_diff, "SPARE_BYTES", 2 * MIB)

    with pytest.raises(CommandError, match="the disk has no room") as caught:
        fetch_all()

    assert not isinstance(caught.value, UnreadableError)  # It is not said of the author.
    assert free(fresh.path).free > 4 * MIB
    fetch_head(fresh.repository, heads[0])
    assert fresh.repository.resolve(heads[0]) == heads[0]
    monkeypatch.setattr(tree_diff, "SPARE_BYTES", 14 * MIB)
    with pytest.raises(CommandError, match="the disk has no room"):
        fetch_head(fresh.repository, heads[0])


def propose(board: Clone, files: Mapping[str, bytes | None]) -> str:
    """Commit files, and put the commit where the origin has it."""
    sha = board.commit(files)
    git(board.path, "push", "-q", "origin", f"{sha}:refs/pull/1/head")
    return sha


def test_a_full_disk_is_nobodys_fault(board: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = propose(board, agent_files("alice"))
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    full = "echo 'fatal: write error: No space left on device' >&2; exit 128"
    program.write_text(f'#!/bin/sh\ncase " $* " in *" fetch "*) {full};; esac\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    with pytest.raises(GitError, match="No space left") as caught:
        fetch_head(board.repository, head)

    assert not isinstance(caught.value, UnreadableError)


def test_a_slow_fetch_is_stopped(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_diff, "FETCH_SECONDS", 0.3)

    with socket.create_server(("127.0.0.1", 0)) as never_answers:
        git(board.path, "config", "remote.origin.url", f"http://127.0.0.1:{never_answers.getsockname()[1]}/")

        with pytest.raises(UnreadableError, match=r"takes more than 0\.3 seconds"):
            fetch_head(board.repository, "1" * 40)
