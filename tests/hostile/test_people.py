"""Tricks on people: names and logins that look like another's, authors, and teams."""

import html
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.model.config.moderation import Moderation, VerifiedEntry
from evaluator.model.config.people import People
from evaluator.model.identifiers import LOGIN
from leaderboard.core.owners import (
    AuthorWithoutLogin,
    TeamTooLarge,
    author_logins,
    mentioned_login,
    participant_faults,
    teams_of,
)
from leaderboard.pages.render_pages import render_pages
from leaderboard.planning.missing_work import MeasurementContext, missing_work
from leaderboard.planning.play_order import in_turns
from leaderboard.visibility import with_host_flags
from scripts.git import folder_history
from scripts.github.official.round_work import read_round_work
from tests.leaderboard import make
from tests.leaderboard.pages import samples
from tests.scripts.github.remotes import AGENT, agent_files, git, make_board
from tests.scripts.github.rounds import open_run


@pytest.mark.attack(
    "name_of_another_agent", family="people", outcome="each row names its owner",
    tries="Gives one's agent exactly the name of the leader's, or one that looks alike.",
)  # fmt: skip
def test_agents_of_one_name_are_told_apart_by_their_owners() -> None:
    entries = [samples.entry(f"a{number}", login) for number, login in enumerate(("alice", "mallory", "eve"))]
    named = ["Champion", "Champion", "Ch\u0430mpion"]
    entries = [
        replace(entry, submission=entry.submission.model_copy(update={"name": name}))
        for entry, name in zip(entries, named, strict=True)
    ]
    rows = [samples.row(entry, samples.POLE, place, 9.0 - place) for place, entry in enumerate(entries, 1)]
    page = render_pages(samples.board(samples.task_board(samples.POLE, rows)), samples.CONTEXT)["tasks/CartPole-v1.md"]
    by_row = [row for row in html.unescape(page).split("<tr")[1:] if "mpion</bdi>" in row]

    assert len(by_row) == 3
    for row, login in zip(by_row, ("alice", "mallory", "eve"), strict=True):
        assert f"agents/{login}/" in row
        assert f">{login}<" in row


@pytest.mark.attack(
    "login_in_letters_that_look_alike", family="people", outcome="no login of GitHub's",
    tries="Makes a folder for a login with letters that look alike, or are wide, or invisible.",
)  # fmt: skip
@pytest.mark.parametrize("login", ["\u0430lice", "al\u0131ce", "ＡＬＩＣＥ", "alice\u200b", "ali\u0301ce", "alice "])
def test_a_login_is_in_githubs_letters(login: str) -> None:
    assert not LOGIN.fullmatch(login)
    assert mentioned_login(f"@{login}") is None


@pytest.mark.attack(
    "author_that_is_hardly_a_mention", family="people", outcome="no login, and refused where logins are asked for",
    tries="Names an author almost as @login, to count as nobody or as somebody else.",
)  # fmt: skip
@pytest.mark.parametrize("author", ["@\u200balice", "＠alice", "@ alice", "@@alice", "@alice/x", "@al\u0456ce"])
def test_an_author_is_a_login_or_a_plain_name(author: str) -> None:
    plain = samples.entry("a", "mallory").submission
    forged = plain.model_copy(update={"authors": (author,)})

    assert author_logins(forged) == frozenset()
    assert [type(fault) for fault in participant_faults(People(one_team_each=True), "mallory", forged)] == [
        AuthorWithoutLogin
    ]


@pytest.mark.attack(
    "authors_in_other_capitals", family="people", outcome="one person",
    tries="Names one person in many spellings, or many as one, to fit a team's size.",
)  # fmt: skip
def test_a_person_counts_once_whatever_the_capitals() -> None:
    plain = samples.entry("a", "mallory").submission
    same = plain.model_copy(update={"authors": ("@Bob", "@bob", "@BOB", "@Mallory")})
    more = plain.model_copy(update={"authors": ("@bob", "@carol")})

    assert list(participant_faults(People(team_size=2), "mallory", same)) == []
    assert [type(fault) for fault in participant_faults(People(team_size=2), "mallory", more)] == [TeamTooLarge]


@pytest.mark.attack(
    "team_by_one_side", family="people", outcome="no team until both name each other",
    tries="Names a rival as an author, so that the rival's matches against one count for nothing.",
)  # fmt: skip
def test_a_team_is_mutual() -> None:
    mallory = samples.entry("a", "mallory", authors=("@alice", "@eve"))
    teams = teams_of([mallory, samples.entry("b", "alice"), samples.entry("c", "Eve", authors=("@Mallory",))])

    assert teams["alice"] == {"alice"}
    assert teams["mallory"] == teams["eve"] == {"mallory", "eve"}


@pytest.mark.attack(
    "mark_of_the_host_on_another_version", family="people", outcome="no mark",
    tries="Puts another agent into a folder that the host verified.",
)  # fmt: skip
def test_the_hosts_mark_is_of_the_version_that_the_host_looked_at() -> None:
    net = make.entry("alice", agent="net", version="retrained by the host")
    moved = replace(make.entry("alice", agent="net2"), digest=net.digest)
    swapped = make.entry("alice", agent="net", version="something else")
    vouched = VerifiedEntry(
        login="alice", agent="net", digest=net.digest, since="2026-05-01", who="host", why="retrained from its code"
    )
    rules, moderation = make.challenge(), Moderation(verified=(vouched,))

    marks = [entry.verified for entry in with_host_flags((net, swapped, moved), rules, moderation)]

    assert marks == [vouched, None, vouched]


@pytest.mark.attack(
    "agents_that_fill_every_round", family="people", outcome="owners take turns",
    tries="Enters two hundred agents under a login that comes first by name, so that others wait for days.",
)  # fmt: skip
def test_owners_are_evaluated_in_turns(tmp_path: Path) -> None:
    files: dict[str, bytes | None] = {}
    for number in range(30):
        files |= agent_files("0mallory", f"a{number}", AGENT + b"# %d\n" % number)
    board = make_board(tmp_path, files | agent_files("zoe"))
    work = read_round_work(open_run(board), board.head, "")
    owners = [item.players[0].login for item in work.items]

    assert owners[:4] == ["0mallory", "zoe", "0mallory", "zoe"]
    assert len(owners) == 62


@pytest.mark.attack(
    "new_agents_while_all_are_measured_again", family="people", outcome="three of them come first",
    tries="Enters two hundred agents when a season begins, so that nobody else's agent is measured again for days.",
)  # fmt: skip
def test_new_agents_of_an_owner_come_first_only_by_threes() -> None:
    rules = make.challenge(make.task())
    measurement = MeasurementContext(runtime_digest=make.digest("runtime"), beacon="test")
    honest = [make.entry(name) for name in ("alice", "bob", "carol")]
    old = [make.result(entry, [1.0], season="earlier") for entry in honest]
    entries = [*honest, *(make.entry("0mallory", agent=f"a{number:03}") for number in range(200)), make.entry("zoe")]

    owners = [item.entry.login for item in in_turns(missing_work(rules, entries, old, measurement, []))]

    assert sorted(owners[:4]) == ["0mallory"] * 3 + ["zoe"]
    assert {"alice", "bob", "carol"} <= set(owners[:12])
    assert len(owners) == 204


@pytest.mark.attack(
    "players_that_fill_rivals_turns", family="people", outcome="rivals meet each other first",
    tries="Enters many players that meet all others, so that their matches with them are taken for the others' own turns.",
)  # fmt: skip
@pytest.mark.parametrize("login", ["0mallory", "zmallory"])
def test_many_players_of_an_owner_do_not_take_their_opponents_turns(login: str) -> None:
    game = make.game(opponents=20)
    honest = [make.entry(name) for name in ("alice", "bob", "carol")]
    entries = [*honest, *(make.entry(login, agent=f"a{number:02}") for number in range(15))]
    duels = [make.duel(entry, on=game) for entry in entries]
    measurement = MeasurementContext(runtime_digest=make.digest("runtime"), beacon="test")

    work = in_turns(missing_work(make.challenge(game), entries, [], measurement, duels))

    matches = [{player.name.login for player in item.players} for item in work if item.players[0] != item.players[-1]]
    assert len(matches) == 48
    assert max(number for number, owners in enumerate(matches) if login not in owners) < 6


@pytest.mark.attack(
    "authors_of_a_hundred_folders", family="people", outcome="each manifest's authors are read once",
    tries="Names other authors in each of its folders and changes all of them often, so that a plan of teams takes hours.",
)  # fmt: skip
def test_who_names_many_authors_does_not_keep_the_board_from_being_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders, commits, read = 10, 5, list[object]()

    def manifest(folder: int, words: str) -> bytes:
        named = [f'"@u{folder}-{number}"' for number in range(20)]
        return f"name: A\nalgorithm: none\nauthors: [{', '.join(named)}]\ndescription: {words}\n".encode()

    board = make_board(tmp_path)
    for commit in range(commits):
        files = [agent_files("mallory", f"a{n}", manifest=manifest(n, f"words {commit}")) for n in range(folders)]
        board.commit({path: content for agent in files for path, content in agent.items()})
    monkeypatch.setattr(folder_history, "author_logins", lambda submission: read.append(1) or author_logins(submission))
    wanted = {f"u{n}-{number}" for n in range(folders) for number in range(20)}
    named = folder_history.FolderHistory(board.repository, board.head).naming({"mallory": wanted})

    assert {login for _, login in named} == wanted
    assert {state.sha for state in named.values()} == {git(board.path, "rev-parse", f"HEAD~{commits - 1}")}
    assert len(read) <= folders * commits


@pytest.mark.attack(
    "folders_that_change_together", family="people", outcome="each folder's own changes are looked at",
    tries="Has hundreds of folders under one login and changes all of them again and again, so that a plan takes hours.",
)  # fmt: skip
def test_who_changes_many_folders_does_not_keep_the_board_from_being_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders, commits, looked_at = 20, 4, list[object]()
    board = make_board(tmp_path)
    for commit in range(commits):
        files = [agent_files("mallory", f"a{n}", AGENT + b"# %d of %d\n" % (n, commit)) for n in range(folders)]
        board.commit({path: content for agent in files for path, content in agent.items()})
    original = folder_history.groupby
    monkeypatch.setattr(
        folder_history, "groupby", lambda each, key: original((looked_at.append(1) or one for one in each), key)
    )
    work = read_round_work(open_run(board), board.head, "")

    assert {item.wanted.beacon for item in work.items} == {board.head}
    assert len(work.items) == 2 * folders
    assert len(looked_at) == 2 * folders * commits
