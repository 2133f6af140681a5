"""Beacons are the first-parent commits of main that began the stays of a version; whole history or nothing."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluator.model.config.challenge import Challenge
from leaderboard.core.entry import AgentName
from scripts.console import CommandError
from scripts.git.beacons import SeedBeacon, known_origins, version_origins
from scripts.git.folder_history import FolderHistory, read_commits
from scripts.git.git_repository import GitRepository
from scripts.git.main_entries import read_entries
from scripts.git.season_commits import season_commits
from scripts.standings.admission_context import admission_at
from scripts.verification.verify_provenance import MainHistory
from tests.scripts.github.remotes import AGENT, MANIFEST, Clone, agent_files, git, make_board

POLE = "CartPole-v1"
RULES = Challenge.model_validate({"title": "Test", "season": "1", "tasks": [{"id": "CartPole-v1"}]})


def beacons(repository: GitRepository, main_sha: str, digests: dict[AgentName, str]) -> dict[AgentName, SeedBeacon]:
    """The commits that brought versions."""
    return version_origins(repository, main_sha, digests, {}).versions


@pytest.fixture
def board(tmp_path: Path) -> Clone:
    return make_board(tmp_path)


def digest(board: Clone, login: str = "alice") -> str:
    return next(entry.digest for entry in read_entries(board.repository, board.head, RULES)[0] if entry.login == login)


def version_commit(board: Clone, login: str = "alice") -> str:
    return commit_of(board, AgentName(login, "a"), digest(board, login))


def commit_of(board: Clone, name: AgentName, version: str) -> str:
    return beacons(board.repository, board.head, {name: version})[name].sha


def test_the_commit_that_brought_it_is_the_beacon_whatever_came_later(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit({"README.md": b"later\n"})
    board.commit(agent_files("bob"))

    assert version_commit(board) == first


def test_another_version_has_another_beacon_and_going_back_begins_another_stay(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    second = board.commit(agent_files("alice", source=AGENT + b"# 2\n"))
    assert version_commit(board) == second
    third = board.commit(agent_files("alice"))

    assert version_commit(board) == first
    assert stays(board, "a") == {POLE: [first, third]}


def stays(board: Clone, agent: str, *tasks: str, login: str = "alice", since: str | None = None) -> dict[str, list[str]]:
    """The commits that began the stays of a folder's version on each task."""
    name = (login, agent)
    entry = next(one for one in read_entries(board.repository, board.head, RULES)[0] if (one.login, one.agent) == name)
    origins = version_origins(board.repository, board.head, {name: entry.digest}, {name: tasks or (POLE,)}, since)
    return {task: [item.sha for item in items] for (_, task), items in origins.tasks.items()}


def of_tasks(board: Clone, agent: str, *tasks: str) -> dict[str, str]:
    """The commit that the seeds of each task come from, where there was one stay."""
    return {task: only for task, (only,) in stays(board, agent, *tasks).items()}


def test_a_task_that_is_named_later_has_seeds_of_a_later_commit(board: Clone) -> None:
    """Else one could merge many versions, try each one's seeds for the task at home, and name it in the best."""
    first = board.commit(agent_files("alice", manifest=MANIFEST + b"tasks: [CartPole-v1]\n"))
    second = board.commit(agent_files("alice", manifest=MANIFEST + b"tasks: [CartPole-v1, Acrobot-v1]\n"))
    board.commit(agent_files("alice", manifest=MANIFEST + b"tasks: [Acrobot-v1]\n"))
    last = board.commit(agent_files("alice", manifest=MANIFEST + b"tasks: all\n"))

    assert version_commit(board) == first
    assert stays(board, "a", "CartPole-v1", "Acrobot-v1", "Taxi-v4") == {
        "CartPole-v1": [first, last], "Acrobot-v1": [second], "Taxi-v4": [last],
    }  # fmt: skip


def test_another_folder_that_named_the_task_before_keeps_its_seeds(board: Clone) -> None:
    first = board.commit(agent_files("alice", manifest=MANIFEST + b"tasks: [Acrobot-v1]\n"))
    gone: dict[str, bytes | None] = dict.fromkeys(agent_files("alice"))
    board.commit({**gone, **agent_files("alice", "b", manifest=MANIFEST + b"tasks: all\n")})

    assert of_tasks(board, "b", "Acrobot-v1") == {"Acrobot-v1": first}


def test_other_words_in_the_manifest_keep_the_beacon(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit(agent_files("alice", manifest=MANIFEST + b"description: better words\n"))

    assert version_commit(board) == first


def test_a_folder_with_two_manifests_is_no_stay_of_the_version_in_its_header(board: Clone) -> None:
    """Nobody evaluates it, so its seeds would be known before the second manifest is removed."""
    header = b"# /// pullrank\n" + b"".join(b"# " + line + b"\n" for line in MANIFEST.splitlines()) + b"# ///\n"
    board.commit(agent_files("alice", source=header + AGENT))
    only = board.commit({"submissions/alice/a/submission.yml": None})

    assert version_commit(board) == only
    assert stays(board, "a") == {POLE: [only]}
    states = FolderHistory(board.repository, board.head).holding("alice", digest(board))
    assert [state.sha for state in states] == [only]


def test_withdrawn_and_entered_again_begins_another_stay_in_whatever_folder(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit(dict.fromkeys(agent_files("alice")))
    second = board.commit(agent_files("alice", "b"))

    assert stays(board, "b") == {POLE: [first, second]}


def test_a_merge_commit_is_the_beacon_not_the_authors_own_commits(board: Clone) -> None:
    """Whoever could choose the id of his commit could choose his seeds."""
    main = board.head
    own = board.commit(agent_files("alice"))
    merge = board.commit(agent_files("alice"), "merge", (main, own))

    assert version_commit(board) == merge


def test_other_folders_with_odd_names_do_not_pass_for_commits(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit({f"submissions/bob/a/{'0' * 40} 2020-01-01T00:00:00Z": b"", "submissions/bob/a/x\n\ny": b""})
    board.commit({f"submissions/alice/{'1' * 40} 2020": b""})

    assert version_commit(board) == first


def test_a_version_that_main_does_not_hold_has_none(board: Clone) -> None:
    board.commit(agent_files("alice"))

    with pytest.raises(CommandError, match="no commit of main holds"):
        beacons(board.repository, board.head, {("carol", "a"): "0" * 64})


def test_a_shallow_clone_is_refused(board: Clone, tmp_path: Path) -> None:
    board.commit(agent_files("alice"))
    board.push()
    origin = (tmp_path / "origin.git").as_uri()
    git(tmp_path, "clone", "-q", "--depth", "1", origin, "shallow")
    shallow = GitRepository(tmp_path / "shallow")

    assert shallow.is_shallow()
    with pytest.raises(CommandError, match="fetch-depth: 2147483647"):
        beacons(shallow, board.head, {AgentName("alice", "a"): digest(board)})


def moved(old: str, new: str, login: str = "alice") -> dict[str, bytes | None]:
    """The same files in another folder."""
    return {**dict.fromkeys(agent_files(login, old)), **agent_files(login, new)}


def test_a_folder_that_is_renamed_keeps_its_seeds_and_so_does_the_way_back(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit(moved("a", "b"))
    version = digest(board)

    assert beacons(board.repository, board.head, {("alice", "b"): version})["alice", "b"].sha == first
    board.commit(moved("b", "a"))
    assert version_commit(board) == first


def test_twenty_folders_of_one_login_draw_once(board: Clone) -> None:
    first = board.commit(agent_files("alice", "a0"))
    version = digest(board)
    for number in range(1, 20):
        board.commit(agent_files("alice", f"a{number}"))
    asked = {("alice", f"a{number}"): version for number in range(20)}

    assert {item.sha for item in beacons(board.repository, board.head, asked).values()} == {first}
    assert {item.sha for item in known_origins(board.repository, board.head, asked, {}).versions.values()} == {first}


def test_other_words_and_another_folder_keep_the_beacon(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    reworded = agent_files("alice", "b", manifest=MANIFEST + b"tasks: [CartPole-v1]\n")
    board.commit({**dict.fromkeys(agent_files("alice")), **reworded})

    assert beacons(board.repository, board.head, {("alice", "b"): digest(board)})["alice", "b"].sha == first


def test_another_kind_of_manifest_is_another_version(board: Clone) -> None:
    board.commit(agent_files("alice", manifest=MANIFEST + b"adapter: function\n"))
    second = board.commit({**dict.fromkeys(agent_files("alice")), **agent_files("alice", "b")})

    assert beacons(board.repository, board.head, {("alice", "b"): digest(board)})["alice", "b"].sha == second


def test_another_spelling_of_a_login_is_the_same_login_and_another_login_is_not(board: Clone) -> None:
    first = board.commit(agent_files("Alice"))
    board.commit(dict.fromkeys(agent_files("Alice")))
    board.commit(agent_files("alice", "b"))
    other = board.commit(agent_files("bob"))
    version = digest(board)

    assert commit_of(board, AgentName("alice", "b"), version) == first
    assert commit_of(board, AgentName("bob", "a"), version) == other


def test_what_is_no_part_of_a_version_changes_no_beacon(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit({**moved("a", "b"), "submissions/alice/b/__pycache__/agent.pyc": b"x"})

    assert beacons(board.repository, board.head, {("alice", "b"): digest(board)})["alice", "b"].sha == first


def test_a_folder_that_once_held_a_link_held_no_version_then(board: Clone) -> None:
    board.commit({**agent_files("alice"), "120000:submissions/alice/a/link": b"agent.py"})
    second = board.commit({"submissions/alice/a/link": None})

    assert version_commit(board) == second


def test_a_long_history_is_walked_once_and_read_hardly(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        board.commit(agent_files("alice", f"a{number % 3}", source=AGENT + b"# %d\n" % number))
    asked = {(entry.login, entry.agent): entry.digest for entry in read_entries(board.repository, board.head, RULES)[0]}
    verbs: list[str] = []
    run = GitRepository.run

    def counted(self: GitRepository, *arguments: str, **limits: Any) -> bytes:
        verbs.append(arguments[0])
        return run(self, *arguments, **limits)

    monkeypatch.setattr(GitRepository, "run", counted)

    assert len(beacons(board.repository, board.head, asked)) == 3
    assert verbs.count("log") == 1
    assert len(verbs) <= 4


def test_a_move_in_one_commit_begins_no_stay_and_a_move_in_two_does(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit(moved("a", "b"))
    assert stays(board, "b") == {POLE: [first]}
    board.commit(dict.fromkeys(agent_files("alice", "b")))
    second = board.commit(agent_files("alice"))

    assert stays(board, "a") == {POLE: [first, second]}


def test_a_folder_renamed_and_its_content_swapped_in_one_commit(board: Clone) -> None:
    """The old name now holds another version: neither is lost, and neither returns."""
    first = board.commit(agent_files("alice"))
    other = AGENT + b"# 2\n"
    second = board.commit({**agent_files("alice", "b"), **agent_files("alice", "a", other)})
    board.commit({**agent_files("alice", "a"), **agent_files("alice", "b", other)})

    assert stays(board, "a") == {POLE: [first]}
    assert stays(board, "b") == {POLE: [second]}


def test_a_twin_keeps_a_stay_alive_until_the_last_folder_leaves(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit(agent_files("alice", "b"))
    board.commit(dict.fromkeys(agent_files("alice")))
    board.commit(agent_files("alice"))
    assert stays(board, "a") == {POLE: [first]}
    board.commit({**dict.fromkeys(agent_files("alice")), **dict.fromkeys(agent_files("alice", "b"))})
    second = board.commit(agent_files("alice", "b"))

    assert stays(board, "b") == {POLE: [first, second]}


def test_a_task_that_is_left_and_named_again_begins_a_stay_there_alone(board: Clone) -> None:
    first = board.commit(agent_files("alice", manifest=MANIFEST + b"tasks: all\n"))
    board.commit(agent_files("alice", manifest=MANIFEST + b"tasks: [CartPole-v1]\n"))
    second = board.commit(agent_files("alice", manifest=MANIFEST + b"tasks: [CartPole-v1, FrozenLake-v1]\n"))
    board.commit(agent_files("alice", manifest=MANIFEST + b"tasks: all\ndescription: better\n"))

    assert stays(board, "a", POLE, "FrozenLake-v1") == {POLE: [first], "FrozenLake-v1": [first, second]}


def test_a_parallel_folder_without_the_task_does_not_hold_the_stay(board: Clone) -> None:
    first = board.commit(agent_files("alice", manifest=MANIFEST + b"tasks: [CartPole-v1]\n"))
    elsewhere = agent_files("alice", "b", manifest=MANIFEST + b"tasks: [FrozenLake-v1]\n")
    board.commit({**dict.fromkeys(agent_files("alice")), **elsewhere})
    second = board.commit(agent_files("alice", "b", manifest=MANIFEST + b"tasks: all\n"))

    assert stays(board, "b") == {POLE: [first, second]}


def test_another_spelling_of_the_login_begins_no_stay(board: Clone) -> None:
    first = board.commit(agent_files("Alice"))
    board.commit({**dict.fromkeys(agent_files("Alice")), **agent_files("alice")})

    assert stays(board, "a") == {POLE: [first]}


def test_a_revert_begins_a_stay_and_what_others_do_begins_none(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit(agent_files("bob"))
    board.commit(agent_files("alice", source=b"class Agent: pass\n"))
    board.commit(agent_files("bob", source=AGENT + b"# 2\n"))
    reverted = board.commit(agent_files("alice"), "Revert")
    board.commit(agent_files("bob"))

    assert stays(board, "a") == {POLE: [first, reverted]}


def test_many_merges_in_one_push_are_commits_of_their_own(board: Clone) -> None:
    """A branch that leaves and returns within one merge was never away from main."""
    first = board.commit(agent_files("alice"))
    away = board.commit(dict.fromkeys(agent_files("alice")))
    back = board.commit({**agent_files("alice"), "README.md": b"merged\n"})
    board.switch(first)
    board.commit({**agent_files("alice"), "README.md": b"merged\n"}, "merge", (first, back))
    assert stays(board, "a") == {POLE: [first]}
    board.commit(dict.fromkeys(agent_files("alice")), "merge", (board.head, away))
    second = board.commit(agent_files("alice"), "merge", (board.head, back))

    assert stays(board, "a") == {POLE: [first, second]}


def test_an_example_has_stays_as_any_agent(board: Clone) -> None:
    files = {path.replace("submissions/alice", "example_agents"): text for path, text in agent_files("alice").items()}
    rules = RULES.model_copy(update={"baselines": ("a",)})
    first = board.commit(files)
    board.commit({"example_agents/a/agent.py": AGENT + b"# 2\n"})
    second = board.commit(files)
    entry = next(one for one in read_entries(board.repository, board.head, rules)[0] if one.login == "local")
    name = AgentName("local", "a")
    origins = version_origins(board.repository, board.head, {name: entry.digest}, {name: [POLE]})

    assert [item.sha for item in origins.tasks[name, POLE]] == [first, second]


SEASON = b"title: Test\nseason: %b\ntasks: [{id: CartPole-v1}]\n"


def test_stays_that_were_over_when_the_season_began_are_not_drawn_again(board: Clone) -> None:
    board.commit(agent_files("alice"))
    board.commit(dict.fromkeys(agent_files("alice")))
    second = board.commit(agent_files("alice"))
    board.commit({"challenge.yml": SEASON % b"'2'"})
    board.commit(dict.fromkeys(agent_files("alice")))
    third = board.commit(agent_files("alice"))
    began = season_commits(board.repository, board.head, "2").began

    assert stays(board, "a", since=began) == {POLE: [second, third]}


@pytest.mark.attack(
    "commit_of_a_year_without_dates", family="supply", outcome="counts as of the year 9990",
    tries="Dates a commit in the year 300,000, or in a zone of a hundred hours, for whoever brings it to main.",
)  # fmt: skip
@pytest.mark.parametrize("at", ["@253402300799 -0500", "@253402300800 +0000", "@9999999999999 +0000", "@4102444800 +9999"])
def test_a_commit_whose_time_is_no_date_keeps_nobody_from_planning(board: Clone, at: str) -> None:
    name = AgentName("mallory", "a")
    board.commit(agent_files("mallory"), at=at)
    board.commit({"challenge.yml": b"title: Test\nseason: '2'\n"}, at=at)
    origins = version_origins(board.repository, board.head, {name: digest(board, "mallory")}, {name: [POLE]})

    admission = admission_at(datetime.now(UTC), origins)

    assert datetime(2099, 1, 1, tzinfo=UTC) < admission.arrived[name] < datetime(9991, 1, 1, tzinfo=UTC)
    assert season_commits(board.repository, board.head, "2").began == board.head
    assert MainHistory(board.repository, board.head)._commits[board.head][1].year < 9991


# In this code page `%` is a line end, so a name of an author can hold lines of a commit's head.
CODE_PAGE = "IBM1047"
EARLIER = "m\ncommitter m <m@m> 1600000000 +0000\n\n".encode("cp037").replace(b"\x15", b"%")


@pytest.mark.attack(
    "commit_that_is_read_in_another_code_page", family="supply", outcome="its bytes are read as they are",
    tries="Names a code page in which its author's name holds another time of the merge, or in which it has none.",
)  # fmt: skip
@pytest.mark.parametrize("author", [b"m", EARLIER])
def test_a_commits_time_is_read_without_its_encoding(board: Clone, author: bytes) -> None:
    """Git writes a commit in UTF-8 before it looks for its dates."""
    name = AgentName("mallory", "a")
    board.commit(agent_files("mallory"), at="@1767225600 +0000")
    head = board.repository.run("cat-file", "commit", "HEAD")
    written = re.sub(rb"(?m)^author .*? <", lambda _: b"author " + author + b" <", head, count=1)
    written = written.replace(b"\n\n", f"\nencoding {CODE_PAGE}\n\n".encode(), 1)
    sha = board.repository.run("hash-object", "-t", "commit", "-w", "--stdin", given=written).decode().strip()
    git(board.path, "reset", "-q", "--soft", sha)

    origins = version_origins(board.repository, sha, {name: digest(board, "mallory")}, {name: [POLE]})

    assert origins.versions[name].committed_at == "2026-01-01T00:00:00+00:00"


def test_commits_that_are_long_together_are_read(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one call of git prints is limited, and main's own commits may have more in their messages together."""
    for number in range(8):
        board.commit({"submissions/alice/a/agent.py": f"x = {number}\n".encode()}, 500 * "a")
    usual = GitRepository.run

    def run(repository: GitRepository, *arguments: str, **options: Any) -> bytes:
        printed = usual(repository, *arguments, **options)
        assert arguments[:2] != ("cat-file", "--batch") or len(printed) < 3000
        return printed

    monkeypatch.setattr(GitRepository, "run", run)
    monkeypatch.setattr("scripts.git.git_repository.BATCH_BYTES", 1500)

    assert len(list(read_commits(GitRepository(board.path), board.head, "submissions"))) >= 8
