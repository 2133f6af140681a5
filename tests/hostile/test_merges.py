"""A pull request that changes only its author's files does not, once it is merged, change anybody else's.

Git's merge takes a file that main lost, and one like it that main got meanwhile, for one file that was moved, and makes the
pull request's change there.
"""

from pathlib import Path

import pytest

from evaluator.model.config.submission_limits import SubmissionLimits
from scripts.git.pull_request_guard import GuardedPaths, PullAuthor, inspect_pull
from tests.scripts.github.remotes import Clone, agent_files, git, make_board

LIMITS = SubmissionLimits()
ALICE = PullAuthor(login="alice", id=1)
TABLE = b"".join(b"weight_%d = %d\n" % (index, index * index) for index in range(60))
CHANGED = TABLE + b"print('of alice')\n"
BOBS = TABLE.replace(b"weight_2 = 4", b"weight_2 = 5")


@pytest.fixture
def board(tmp_path: Path) -> Clone:
    return make_board(tmp_path)


def judge(board: Clone, main: str, head: str) -> GuardedPaths:
    return inspect_pull(board.repository, main, head, ALICE, LIMITS)


def merged_changes(board: Clone, main: str, head: str, *settings: str) -> list[str]:
    """The paths that git's merge changes on main; it has no conflict."""
    words = [word for setting in settings for word in ("-c", setting)]
    tree = git(board.path, *words, "merge-tree", "--write-tree", main, head)
    return git(board.path, "diff", "--no-renames", "--name-only", main, tree).splitlines()


@pytest.mark.attack(
    "change_that_follows_a_move", family="bot", outcome="refused",
    tries="Changes a withdrawn agent on an older branch, so that the merge changes somebody's new file that is like it.",
)  # fmt: skip
@pytest.mark.parametrize("target", ["submissions/bob/b/agent.py", "evaluator/new.py", ".github/workflows/new.yml"])
def test_a_change_of_what_main_has_no_longer_is_refused(board: Clone, target: str) -> None:
    began = board.commit(agent_files("alice", source=TABLE))
    head = board.commit(agent_files("alice", source=CHANGED))
    board.switch(began)
    main = board.commit({**dict.fromkeys(agent_files("alice")), "submissions/alice/c/agent.py": b"", target: BOBS})

    assert merged_changes(board, main, head) == [target]
    (fault,) = judge(board, main, head).faults
    assert fault.startswith("submissions/alice/a: main has it no longer")


@pytest.mark.attack(
    "file_that_follows_its_folder", family="bot", outcome="refused",
    tries="Adds a file to a folder that main has lost: git can be told to put it where that folder seems to have gone.",
)  # fmt: skip
@pytest.mark.parametrize("folder", ["submissions/alice/a", "submissions/alice/a/nets"])
def test_a_new_file_in_a_folder_that_main_has_no_longer_is_refused(board: Clone, folder: str) -> None:
    files = {f"{folder}/1.txt": TABLE, f"{folder}/2.txt": TABLE + b"2"}
    began = board.commit({**files, "submissions/alice/z/agent.py": b""})
    head = board.commit({f"{folder}/x.txt": CHANGED})
    board.switch(began)
    moved = {path.replace(folder, "submissions/bob/b"): content for path, content in files.items()}
    main = board.commit({**dict.fromkeys(files), **moved})

    assert merged_changes(board, main, head, "merge.directoryRenames=true") == ["submissions/bob/b/x.txt"]
    (fault,) = judge(board, main, head).faults
    assert fault.startswith("submissions/alice/a: main has it no longer")


def test_who_withdrew_all_may_begin_anew_on_an_older_branch(board: Clone) -> None:
    began = board.commit(agent_files("alice", source=TABLE))
    head = board.commit(agent_files("alice", "new", CHANGED))
    board.switch(began)
    main = board.commit({**dict.fromkeys(agent_files("alice")), **agent_files("bob", "a", BOBS)})

    assert merged_changes(board, main, head, "merge.directoryRenames=true") == [*agent_files("alice", "new")]
    assert judge(board, main, head).is_clean


@pytest.mark.attack(
    "names_that_meet_in_a_merge", family="bot", outcome="refused in one line",
    tries="Brings two files whose names differ by case only, each by a pull request that began before the other's merge.",
)  # fmt: skip
@pytest.mark.parametrize("pair", [("W.bin", "w.bin"), ("nets/1.bin", "Nets/2.bin")])
def test_names_that_differ_by_case_from_those_on_main_do_not_come_in(board: Clone, pair: tuple[str, str]) -> None:
    first, second = (f"submissions/alice/a/{name}" for name in pair)
    began = board.commit(agent_files("alice"))
    main = board.commit({first: b"1"})
    board.switch(began)
    head = board.commit({second: b"2"})

    assert merged_changes(board, main, head) == [second]
    (fault,) = judge(board, main, head).faults
    assert fault.endswith("only by case; rename one")
    board.switch(main)
    assert judge(board, main, board.commit({first: None, second: b"2"})).is_clean


@pytest.mark.attack(
    "commits_of_others_that_count_as_merged", family="bot", outcome="refused",
    tries="Brings the commits of an open pull request along, and takes back what they change, so that it counts as merged.",
)  # fmt: skip
@pytest.mark.parametrize("how", ["merged without its files", "taken back", "in two steps", "of one merge"])
@pytest.mark.parametrize(
    "of_others", [agent_files("bob"), {"evaluator/mended.py": b"x = 2\n"}, {"Submissions/alice/new/agent.py": b"x = 2\n"}]
)
def test_commits_that_change_what_is_others_are_refused_though_it_is_taken_back(
    board: Clone, how: str, of_others: dict[str, bytes | None]
) -> None:
    main = board.head
    theirs = board.commit(of_others, "an open pull request")
    if how == "of one merge":  # It brings its files itself, as where somebody added them while merging main.
        board.switch(main)
        before = board.commit({}, "nothing yet")
        board.switch(main)
        theirs = board.commit(of_others, "an open pull request", parents=(main, before))
        board.switch(main)
    taken_back = {**dict.fromkeys(of_others), **agent_files("alice")}
    if how in ("merged without its files", "of one merge"):
        board.switch(main)
        own = board.commit(agent_files("alice"))
        head = board.commit({}, parents=(own, theirs))
    elif how == "taken back":
        head = board.commit(taken_back)
    else:
        board.switch(board.commit(dict.fromkeys(of_others)))
        head = board.commit(agent_files("alice"))

    assert merged_changes(board, main, head) == [*agent_files("alice")]
    merged = git(board.path, "commit-tree", f"{head}^{{tree}}", "-p", main, "-p", head, "-m", "Merge pull request #2")
    assert merged_changes(board, merged, theirs) == []  # GitHub calls it merged, and nobody can merge it any more.
    (fault,) = judge(board, main, head).faults
    assert "changes what is not in submissions/alice, though a later one takes it back" in fault


def test_whoever_merges_main_into_the_branch_is_welcome(board: Clone) -> None:
    began = board.commit(agent_files("alice", source=TABLE))
    head = board.commit(agent_files("alice", source=CHANGED))
    board.switch(began)
    main = board.commit(dict.fromkeys(agent_files("alice")))
    board.switch(head)
    again = board.commit({}, parents=(head, main))

    assert not judge(board, main, head).is_clean
    assert judge(board, main, again).is_clean
