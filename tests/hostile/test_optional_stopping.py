"""Participants who merge until they are lucky: each return to main is another draw, and the season ends with one for all."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import scipy.stats

from evaluator.host.deterministic import pinned_variables
from evaluator.host.loading.yaml_loader import parse_challenge
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.people import Ban, People
from evaluator.model.config.phase import Phase, Quota
from evaluator.model.records.duel_record import Duel, WantedDuel
from evaluator.model.records.result import Result, WantedResult
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import new_team_faults
from leaderboard.core.standings import FinalDraws, TaskStandings
from leaderboard.planning.admission_rules import AdmissionContext, admit_work
from leaderboard.planning.evaluation_quota import QuotaAccounts
from leaderboard.planning.missing_work import DuelWorkItem, MeasurementContext, WorkItem, missing_work
from leaderboard.planning.refusal_reasons import reason_in_words
from leaderboard.scoring.intervals import TAIL, student_quantiles
from scripts.console import CommandError
from scripts.git.folder_history import FolderHistory
from scripts.git.main_entries import read_entries
from scripts.git.season_commits import final_entries
from scripts.github.official import round_work
from scripts.github.official.record_results import record_accepted
from scripts.github.official.round_work import RoundWork, read_round_work
from scripts.github.workflow.plan_context import PlanContext
from scripts.maintenance.close_season import missing_final_work
from scripts.repository.checkout import Checkout
from scripts.repository.layout import record_store
from scripts.repository.season_file import SEASON_FILE, RevealedSecret, SeasonEntry, SeasonFile
from scripts.standings.recorded_standings import recorded_standings
from scripts.verification.verify_provenance import MainHistory
from tests.leaderboard import make
from tests.scripts.github.remotes import AGENT, CHALLENGE, MANIFEST, Clone, agent_files, git, make_board, origin_branch
from tests.scripts.github.rounds import ALONE, open_run, whole_round

RULES = CHALLENGE.replace(b"  - {id: FrozenLake-v1, episodes: 3}\n", b"")
FINAL = RULES + b'final: "1"\n'
SECRET = SeasonSecret(bytes(range(32)))


@pytest.fixture(autouse=True)
def _pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in pinned_variables().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def board(tmp_path: Path) -> Clone:
    return make_board(tmp_path / "board", {"challenge.yml": RULES})


def copy(number: int) -> bytes:
    """The agent, with another comment."""
    return AGENT + b"# %d\n" % number


def wanted(board: Clone, login: str = "alice") -> list[tuple[str, str]]:
    """Folder and beacon of what an official run would evaluate."""
    items = read_round_work(open_run(board), board.head, "").items
    return [(i.entry.agent, i.wanted.beacon) for i in items if isinstance(i, WorkItem) and i.entry.login == login]


def test_whoever_goes_back_to_the_best_of_twelve_copies_is_drawn_again(board: Clone) -> None:
    tried = [board.commit(agent_files("alice", source=copy(number))) for number in range(12)]
    back = board.commit(agent_files("alice", source=copy(3)))

    assert wanted(board) == [("a", tried[3]), ("a", back)]


def test_whoever_alternates_has_a_draw_for_each_return(board: Clone) -> None:
    commits = [board.commit(agent_files("alice", source=copy(number % 2))) for number in range(6)]

    assert wanted(board) == [("a", commit) for commit in commits[1::2]]


def test_a_copy_that_waits_in_a_parallel_folder_is_an_entry_with_a_draw_of_its_own(board: Clone) -> None:
    lucky = board.commit(agent_files("alice", "a", copy(1)))
    others = [board.commit(agent_files("alice", "b", copy(number))) for number in (2, 3)]

    assert wanted(board) == [("a", lucky), ("b", others[1])]


def test_moves_buy_nothing(board: Clone) -> None:
    first = board.commit(agent_files("alice", "a"))
    for old, new in (("a", "b"), ("b", "c"), ("c", "a")):
        board.commit({**dict.fromkeys(agent_files("alice", old)), **agent_files("alice", new)})

    assert wanted(board) == [("a", first)]


def test_where_nothing_ever_returned_nothing_is_wanted_anew(board: Clone, tmp_path: Path) -> None:
    board.commit(agent_files("alice"))
    board.commit(agent_files("bob"))
    board.push()

    assert len(whole_round(board, tmp_path / "1").recorded) == 2
    assert planned(board).items == ()


def record(board: Clone, at: str, *, beacon: str, score: float | None, login: str = "alice", **fields: str) -> None:
    """Record an official result of the agent that a login has on main."""
    rules = parse_challenge(board.repository.run("show", "HEAD:challenge.yml"))
    (entry,) = (e for e in read_entries(board.repository, board.head, rules)[0] if e.login == login)
    returns = [] if score is None else [score] * 3
    result = make.result(entry, returns, on=rules.tasks[0], beacon=beacon, at=at, **fields)
    record_store(board.path).write(result, None)


def ranked(board: Clone) -> dict[str, float]:
    """Logins with their scores on the site, and none for those that wait."""
    for path in ("challenge.yml", "submissions"):
        git(board.path, "checkout", "-q", "--", path)
    standings = recorded_standings(Checkout(board.path), official=True)
    return {row.entry.login: row.estimate.score for row in standings.tasks[0].rows}


@pytest.mark.attack(
    "return_that_is_never_drawn", family="people", outcome="waits without a place until it is drawn again",
    tries="Goes back to its luckiest version when no quota is left, so that the draw of the return is never made.",
)  # fmt: skip
def test_who_goes_back_when_the_quota_is_used_up_has_no_place_by_the_old_draw(tmp_path: Path) -> None:
    board = make_board(tmp_path / "board", {"challenge.yml": RULES + b"quota: {total: 2}\n"})
    lucky = board.commit({**agent_files("alice", source=copy(1)), **agent_files("bob", source=copy(9))})
    record(board, "2026-01-01T00:00:00Z", beacon=lucky, score=9.0)
    record(board, "2026-01-01T00:00:00Z", beacon=lucky, score=5.0, login="bob")
    assert ranked(board) == {"alice": 9, "bob": 5}
    second = board.commit(agent_files("alice", source=copy(2)))
    record(board, "2026-01-02T00:00:00Z", beacon=second, score=4.0)
    assert ranked(board) == {"alice": 4, "bob": 5}

    back = board.commit(agent_files("alice", source=copy(1)))

    assert ranked(board) == {"bob": 5}
    record(board, "2026-01-03T00:00:00Z", beacon=back, score=3.0)
    assert ranked(board) == {"alice": 6, "bob": 5}


@pytest.mark.attack(
    "return_that_a_checkout_makes", family="people", outcome="no place by the old draw",
    tries="Goes back to its luckiest version with other line ends, which the board's .gitattributes undo in a checkout.",
)  # fmt: skip
def test_who_goes_back_by_what_a_checkout_changes_has_no_place_by_the_old_draw(tmp_path: Path) -> None:
    board = make_board(tmp_path / "board", {"challenge.yml": RULES, ".gitattributes": b"*.bat text eol=crlf\n"})

    def enter(number: int, bat: bytes) -> str:
        return board.commit({**agent_files("alice", source=copy(number)), "submissions/alice/a/run.bat": bat})

    board.commit(agent_files("bob", source=copy(9)))
    record(board, "2026-01-01T00:00:00Z", beacon=board.head, score=5.0, login="bob")
    lucky = enter(1, b"rem\r\n")
    record(board, "2026-01-01T00:00:00Z", beacon=lucky, score=9.0)
    assert ranked(board) == {"alice": 9, "bob": 5}
    record(board, "2026-01-02T00:00:00Z", beacon=enter(2, b"rem\r\n"), score=4.0)
    assert ranked(board) == {"alice": 4, "bob": 5}

    enter(1, b"rem\n")

    assert ranked(board) == {"bob": 5}


QUARANTINE = b"""quarantines:
- {since: "2026-01-01T00:00:00Z", until: "2026-01-03T00:00:00Z", commit: %s, who: host, why: a bad machine}
"""


@pytest.mark.attack(
    "quota_that_a_quarantine_restores", family="people", outcome="charged once, and replayed without a charge",
    tries="Has its quota of versions once more after a quarantine, which replays only the one that is still on main.",
)  # fmt: skip
def test_what_is_in_quarantine_is_charged_and_replayed_without_a_charge(tmp_path: Path) -> None:
    board = make_board(tmp_path / "board", {"challenge.yml": RULES + b"quota: {total: 2}\n"})
    for number in (1, 2):
        beacon = board.commit(agent_files("alice", source=copy(number)))
        record(board, f"2026-01-0{number}T00:00:00Z", beacon=beacon, score=1.0)
    board.commit({"moderation.yml": QUARANTINE % board.head.encode()})

    def planned_and_held() -> tuple[list[str], list[str]]:
        with patch.object(round_work, "read_recorded", lambda *_: (Checkout(board.path).recorded[0], [])):
            work = read_round_work(open_run(board), board.head, "")
        return [i.wanted.beacon for i in work.items if i.players[0].login == "alice"], [
            reason_in_words(one.reason) for one in work.deferred
        ]

    assert planned_and_held() == ([beacon], [])
    board.commit(agent_files("alice", source=copy(3)))
    assert planned_and_held() == ([], ["quota: 2 of 2 this season; does not renew"])


@pytest.mark.attack(
    "tries_whose_names_a_quarantine_keeps", family="people", outcome="recorded, and three at most",
    tries="Lets its own host fail again once its three tries are in quarantine: whose names are taken is tried for ever.",
)  # fmt: skip
def test_tries_that_failed_are_recorded_again_after_a_quarantine(board: Clone, tmp_path: Path) -> None:
    """Else each round would play it, none would count against its owner, and nobody would be told."""
    board.commit(agent_files("alice"))
    board.push()
    official, rules = open_run(board), parse_challenge(RULES)

    def tried(day: str) -> int:
        """How many records a failure of that day makes; none where nothing is wanted."""
        board.repository.run("fetch", "-q", "origin")
        tip = board.repository.resolve("refs/remotes/origin/results") or ""
        for item in read_round_work(official, board.head, tip).items:
            names = {"key": item.wanted.key(), "beacon": item.wanted.beacon, "verdict": "internal_error"}
            failed = make.result(item.players[0], on=rules.tasks[0], at=f"{day}T00:00:00Z", **names)
            record_store(tmp_path / day).write(failed)
            return len(record_accepted(official, "1", tmp_path / day, datetime.now(UTC), ALONE).recorded)
        return 0

    assert [tried(f"2026-01-0{day}") for day in (1, 2)] == [1, 1]
    board.commit({"moderation.yml": QUARANTINE % board.head.encode()})

    assert [tried(f"2026-02-0{day}") for day in range(1, 6)] == [1, 1, 1, 0, 0]


@pytest.mark.attack(
    "versions_that_a_rivals_name_holds_back", family="people", outcome="refused before the merge",
    tries="Names a rival in twenty versions, which are not evaluated so, and leaves the name out of the luckiest.",
)  # fmt: skip
def test_a_new_version_that_would_be_held_back_for_its_authors_is_refused() -> None:
    """Held back, it would be no try and use up no quota, though everybody can compute its seeds."""
    people = People(one_team_each=True)
    rival, own = make.entry("rival"), make.entry("alice", agent="first")

    def named(*authors: str, version: str = "2") -> list[str]:
        on_main = [rival, own, make.entry("zoe", authors=("@paul",)), make.entry("bob", authors=("@alice",))]
        new = make.entry("alice", agent="first", version=version, authors=authors)
        return [fault.login for fault in new_team_faults(people, new, on_main)]

    assert named("@rival", "@paul", "@bob", "@mary") == ["paul", "rival"]
    # Who stands already may name an owner first; else no two owners could ever become a team.
    assert named("@rival", "@paul", version="1") == ["paul"]
    assert list(new_team_faults(People(), make.entry("alice", authors=("@rival",)), [rival])) == []


def numbered(duel: Duel) -> Duel:
    """The duel with the numbers of its players' accounts."""
    numbers = {"alice": 1, "bob": 2, "carol": 3}
    sides = tuple(side.model_copy(update={"login_id": numbers[side.login]}) for side in duel.players)
    return duel.model_copy(update={"players": sides})


def tries(board: Clone) -> dict[str, int]:
    standings = recorded_standings(Checkout(board.path), official=True)
    return {row.entry.login: row.tries for row in standings.tasks[0].rows}


@pytest.mark.attack(
    "tries_that_a_quarantine_hides", family="people", outcome="all of them are tries, also those that are not replayed",
    tries="Keeps the luckiest of many copies, and counts as one try once a quarantine hides those that are not on main.",
)  # fmt: skip
def test_a_quarantine_makes_nobodys_tries_forgotten(board: Clone) -> None:
    """A replay has the same seeds, so the version that stands was chosen among the others all the same."""
    for number in (1, 2):
        beacon = board.commit(agent_files("alice", source=copy(number)))
        record(board, f"2026-01-0{number}T00:00:00Z", beacon=beacon, score=float(number))
    assert (ranked(board), tries(board)) == ({"alice": 2.0}, {"alice": 2})

    board.commit({"moderation.yml": QUARANTINE % board.head.encode()})
    git(board.path, "checkout", "-q", "--", "moderation.yml")
    assert ranked(board) == {}
    record(board, "2026-01-04T00:00:00Z", beacon=beacon, score=2.0)

    assert (ranked(board), tries(board)) == ({"alice": 2.0}, {"alice": 2})


def test_a_quarantine_makes_no_tries_of_a_team_forgotten() -> None:
    """Also of a mate whose number stands in hidden records alone."""
    task, game = make.task(), make.game()
    player, mate = make.entry("alice", authors=("@carol",)), make.entry("carol", authors=("@alice",))
    tried = [make.entry("carol", version=str(n)) for n in range(6)]
    hidden_results = [make.result(one, [1.0, 2.0], on=task, beacon=f"merge{n}", login_id=3) for n, one in enumerate(tried)]
    hidden_duels = [numbered(make.duel(one, on=game, beacon=f"merge{n}")) for n, one in enumerate(tried)]
    results = [make.result(one, [1.0, 2.0], on=task, login_id=number) for one, number in ((player, 1), (OPPONENT, 2))]
    duels = [make.duel(player, on=game), make.duel(OPPONENT, on=game), make.duel(player, OPPONENT, "wwwl", on=game)]

    boards = build_standings(
        make.challenge(task, game), [player, mate, OPPONENT], results, official=True, duels=map(numbered, duels),
        tried_records=[*hidden_results, *hidden_duels],
    )  # fmt: skip

    for board in (*boards.tasks, *boards.games):
        assert {row.entry.login: row.tries for row in board.rows} == {"alice": 7, "bob": 1}


@pytest.mark.attack(
    "tries_in_folders_that_cannot_be_read", family="people", outcome="all of them are tries",
    tries="Tries each copy in a folder of its own, and makes the unlucky ones too large by two pull requests at once.",
)  # fmt: skip
def test_a_folder_that_cannot_be_read_makes_nobodys_tries_forgotten(board: Clone) -> None:
    for number in (1, 2):
        beacon = board.commit(agent_files("alice", f"t{number}", copy(number)))
        git(board.path, "checkout", "-q", "--", "challenge.yml", "submissions")
        rules = parse_challenge(board.repository.run("show", "HEAD:challenge.yml"))
        (entry,) = (e for e in read_entries(board.repository, board.head, rules)[0] if e.agent == f"t{number}")
        result = make.result(entry, [1.0] * 3, on=rules.tasks[0], beacon=beacon, at=f"2026-01-0{number}T00:00:00Z")
        record_store(board.path).write(result, None)
    assert tries(board) == {"alice": 2}

    for half in ("a", "b"):  # Each of them alone leaves a folder that can be read.
        board.commit({f"submissions/alice/t1/{half}{number}.txt": b"" for number in range(60)})
    git(board.path, "checkout", "-q", "--", "submissions")

    assert tries(board) == {"alice": 2}


GAME_RULES = (
    b'title: Test\nseason: "1"\ntasks:\n  - {id: tictactoe, game: pettingzoo.classic.tictactoe_v3}\nquota: {total: 2}\n'
)


@pytest.mark.attack(
    "player_that_returns_without_a_quota", family="games", outcome="waits without a place, and meets nobody",
    tries="Goes back to its luckiest version in a game when no quota is left, for its old place and more matches.",
)  # fmt: skip
def test_a_player_that_goes_back_when_the_quota_is_used_up_has_no_place_and_meets_nobody(tmp_path: Path) -> None:
    board, rules = make_board(tmp_path / "board", {"challenge.yml": GAME_RULES}), parse_challenge(GAME_RULES)

    def play(outcomes: str, beacon: str, at: str, *logins: str) -> None:
        entries = {entry.login: entry for entry in read_entries(board.repository, board.head, rules)[0]}
        runtime = open_run(board).runtime_digest
        for pair in [*((login,) for login in logins), *([("alice", "bob")] if outcomes else [])]:
            players = [entries[login] for login in sorted(pair)]
            wanted = WantedDuel(
                submission_digests=(players[0].digest, players[-1].digest), task_digest=rules.games[0].digest(),
                runtime_digest=runtime, season="1", beacon=beacon,
            )  # fmt: skip
            played = outcomes if len(pair) == 2 else "dd"
            fields = {"beacon": beacon, "runtime_digest": runtime, "key": wanted.key(), "at": at}
            record_store(board.path).write(make.duel(players[0], players[-1], played, on=rules.games[0], **fields))

    def state() -> tuple[list[str], list[str]]:
        """Who has a place, and which duels are planned."""
        for path in ("challenge.yml", "submissions"):
            git(board.path, "checkout", "-q", "--", path)
        standings = recorded_standings(Checkout(board.path), official=True).games[0]
        with patch.object(round_work, "read_recorded", lambda *_: ([], Checkout(board.path).duels)):
            items = read_round_work(open_run(board), board.head, "").items
        return [row.entry.login for row in standings.rows], ["-".join(e.login for e in item.players) for item in items]

    lucky = board.commit({**agent_files("alice", source=copy(1)), **agent_files("bob", source=copy(9))})
    play("w" * 8 + "l" * 2, lucky, "2026-01-01T00:00:00Z", "alice", "bob")
    second = board.commit(agent_files("alice", source=copy(2)))
    play("w" * 2 + "l" * 8, second, "2026-01-02T00:00:00Z", "alice")
    assert state() == (["bob", "alice"], [])

    back = board.commit(agent_files("alice", source=copy(1)))

    assert state() == ([], [])
    play("", back, "2026-01-03T00:00:00Z", "alice")
    assert state() == (["alice", "bob"], ["alice-bob"])


@pytest.mark.attack(
    "player_that_returns_until_it_is_validated", family="games", outcome="refused until it is changed",
    tries="Leaves main and comes back after a validation in which it broke a rule, until it breaks none by luck.",
)  # fmt: skip
def test_a_player_that_broke_a_rule_in_one_stay_is_refused_whatever_its_later_validations_say() -> None:
    game, bob, carol = make.game(), make.entry("bob"), make.entry("carol")
    alice = replace(make.entry("alice"), stay_beacons={game.id: frozenset({"first", "back"})})
    duels = [
        make.duel(alice, outcomes="dI", on=game, beacon="first", at="2026-01-01T00:00:00Z"),
        make.duel(alice, on=game, beacon="back", at="2026-01-02T00:00:00Z"),
        *(make.duel(entry, on=game) for entry in (bob, carol)),
        make.duel(bob, carol, "wl", on=game),
        make.duel(alice, bob, "ww", on=game, beacon="back"),
    ]

    standings = build_standings(make.challenge(game), [alice, bob, carol], [], official=True, duels=duels).games[0]

    assert [(failure.entry.login, failure.duel.beacon) for failure in standings.failures] == [("alice", "first")]
    assert {row.entry.login for row in standings.rows} == {"bob", "carol"}


@pytest.mark.attack(
    "lost_duels_left_behind_by_a_return", family="games", outcome="forfeited by its owner in the third try, as without it",
    tries="Lets its web host fail in duels that it would lose, and comes back before the third try: these are gone.",
)  # fmt: skip
def test_a_duel_that_failed_in_an_earlier_stay_is_still_wanted() -> None:
    """Else the duels that it won stood alone in the rating, and it paid for each return with a try and no loss."""
    game, players = make.game(), [make.entry(login) for login in ("alice", "bob")]
    rules, name = make.challenge(game), (players[0].spelled_name, game.id)
    order = {"bob": 0, "first": 1, "back": 2}

    def duels_wanted(recorded: list[Duel], *stays: str) -> list[tuple[str, int | None]]:
        """The seeds of each wanted duel of the two, and who is liable."""
        where = MeasurementContext(runtime_digest="0" * 64, beacon="bob", beacons={name: stays}, order=order)
        items = [item for item in missing_work(rules, players, [], where, recorded) if isinstance(item, DuelWorkItem)]
        keys.update((item.wanted.beacon, item.wanted.key()) for item in items if not item.is_validation)
        return [(item.wanted.beacon, item.liable_side) for item in items if not item.is_validation]

    keys: dict[str, str] = {}
    recorded = [make.duel(*players[:1], on=game, beacon="first"), make.duel(*players[1:], on=game, beacon="bob")]
    assert duels_wanted(recorded, "first") == [("first", None)]
    failing = ("internal_error", "ok")
    failed = make.duel(*players, "", on=game, beacon="first", key=keys["first"], verdicts=failing)
    recorded += [failed, failed, make.duel(players[0], on=game, beacon="back", at="2026-01-02T00:00:00Z")]

    assert duels_wanted(recorded, "first", "back") == [("back", None), ("first", 0)]

    forfeited = make.duel(*players, "ww", on=game, beacon="first", key=keys["first"], verdicts=("timeout", "ok"))
    assert duels_wanted([*recorded, forfeited], "first", "back") == [("back", None)]
    assert duels_wanted([*recorded, failed], "first", "back") == [("back", None)], "three tries in all"
    players[1] = replace(players[1], digest="9" * 64)
    recorded.append(make.duel(players[1], on=game, beacon="bob"))
    assert duels_wanted(recorded, "first", "back") == [("back", None)], "a new version would know those seeds beforehand"


@pytest.mark.attack(
    "points_of_many_returns", family="games", outcome="points of a match count, not their sum",
    tries="Leaves main and comes back, so that it plays all its duels again and has the most points.",
)  # fmt: skip
def test_a_player_that_comes_back_has_no_better_place_by_points() -> None:
    game, players = make.game(), [make.entry(login) for login in ("alice", "bob", "carol")]
    alice, bob, carol = players
    duels = [*(make.duel(player, on=game) for player in players), make.duel(bob, carol, "wwwl", on=game)]
    for beacon in ("test", "back", "again"):
        duels += [make.duel(alice, other, "wwll", on=game, beacon=beacon) for other in (bob, carol)]

    standings = build_standings(make.challenge(game), players, [], official=True, duels=duels).games[0]

    assert {row.entry.login: (row.points_place, row.count.points) for row in standings.rows} == {
        "bob": (1, 18), "alice": (2, 24), "carol": (3, 14),
    }  # fmt: skip


@pytest.mark.attack(
    "return_whose_draw_fails_on_our_side", family="people", outcome="waits without a place until it is drawn again",
    tries="Goes back to its luckiest version and lets its own registry fail whenever the new draw would be a bad one.",
)  # fmt: skip
def test_who_lets_the_draw_of_a_return_fail_has_no_place_by_the_old_one(board: Clone) -> None:
    lucky = board.commit(agent_files("alice", source=copy(1)))
    record(board, "2026-01-01T00:00:00Z", beacon=lucky, score=9.0)
    board.commit(agent_files("alice", source=copy(2)))
    back = board.commit(agent_files("alice", source=copy(1)))
    record(board, "2026-01-03T00:00:00Z", beacon=back, score=None, verdict="internal_error")

    assert ranked(board) == {}


LUCKY, UNLUCKY = make.entry("alice", version="6"), [make.entry("alice", version=str(number)) for number in range(5)]


@pytest.mark.attack(
    "replaced_before_the_last_try", family="images", outcome="each version is a try and uses up the quota",
    tries="Lets its own host fail twice when its seeds are bad ones, and has another version merged before the third try.",
)  # fmt: skip
def test_whose_host_failed_until_it_was_replaced_has_used_a_try_and_the_quota() -> None:
    """The seeds are known from the merge on: six draws were one try, whatever the quota."""
    failed = [
        make.result(version, beacon=f"merge-{version.digest}", at=at, verdict="internal_error", unfetched=True)
        for version in UNLUCKY
        for at in ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z")
    ]
    challenge = make.challenge().model_copy(update={"quota": Quota(total=5)})
    context = MeasurementContext(runtime_digest="0" * 64, beacon="lucky")

    plan = admit_work(challenge, [LUCKY], failed, [], context, AdmissionContext(now=datetime(2026, 1, 2, tzinfo=UTC)))

    assert [reason_in_words(kept.reason) for kept in plan.deferred] == ["quota: 5 of 5 this season; does not renew"]
    (row,) = build_standings(challenge, [LUCKY], [*failed, make.result(LUCKY, [1.0])], official=True).tasks[0].rows
    assert (row.tries, row.versions_tried) == (6, 6)


@pytest.mark.parametrize(("host_failed", "tries"), [(True, 6), (False, 1)])
def test_a_player_whose_host_failed_until_it_was_replaced_has_used_a_try_and_the_quota(
    host_failed: bool, tries: int
) -> None:
    """Not where the evaluator failed."""
    verdict = "internal_error" if host_failed else "ok"
    failed = [
        make.duel(version, outcomes="", verdicts=(verdict, "ok"), beacon=f"merge-{version.digest}") for version in UNLUCKY
    ]
    challenge = make.challenge(make.game()).model_copy(update={"quota": Quota(total=9)})
    bob = make.entry("bob")
    played = [make.duel(LUCKY), make.duel(bob), make.duel(LUCKY, bob)]

    standings = build_standings(challenge, [LUCKY, bob], [], official=True, duels=[*failed, *played])

    assert {row.entry.login: row.tries for row in standings.games[0].rows} == {"alice": tries, "bob": 1}
    (account,) = QuotaAccounts(challenge, [LUCKY, bob], [*failed, *played]).of("alice", ["game"])
    assert len(account.first) == tries


COPIES = [make.entry("alice", agent=f"a{number:02}", version=str(number)) for number in range(20)]
OPPONENT = make.entry("bob")


def after_the_end(live: np.ndarray, final: np.ndarray, opponent: np.ndarray) -> TaskStandings:
    """The final ranks of twenty copies that all stand, each with a live and a final draw, and of one opponent."""
    results = [make.result(OPPONENT, opponent.tolist(), beacon="final")]
    for number, copy in enumerate(COPIES):
        early, late = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
        results.append(make.result(copy, live[number].tolist(), beacon=f"merge{number}", at=early))
        results.append(make.result(copy, final[number].tolist(), beacon="final", at=late))
    return build_standings(
        make.challenge(), [*COPIES, OPPONENT], results, official=True, final=FinalDraws(beacon="final")
    ).tasks[0]


@pytest.mark.attack(
    "copies_until_the_end", family="people", outcome="one of them holds the place, chosen by the live scores",
    tries="Leaves twenty copies on main until the end, to keep the best of twenty final draws.",
)  # fmt: skip
def test_of_twenty_copies_that_all_stand_at_the_end_the_best_final_draw_is_not_kept() -> None:
    """Which copy holds the owner's place is decided by the live scores, so its final draw is one draw."""
    random, gains, shown = np.random.default_rng(5), [], 20 * [0]
    for _ in range(30):
        live, final = random.normal(size=(2, len(COPIES), 25))
        board = after_the_end(live, final, random.normal(size=25))
        placed = [row for row in board.rows if not row.is_unranked]
        (own,) = (row for row in placed if row.entry.login == "alice")
        gains.append(own.estimate.score * 5)
        shown[COPIES.index(own.entry)] += 1
        best = int(live.mean(axis=1).argmax())
        assert (own.entry, own.estimate.score) == (COPIES[best], pytest.approx(final[best].mean()))
        assert (len(placed), len(board.rows), sorted(row.place for row in placed)) == (2, 21, [1, 2])
        assert {row.superseded_by for row in board.rows if row.is_unranked} == {own.entry.shown}
        assert {row.tries for row in board.rows} == {1}

    # The mean of thirty gains has a standard error of 0.18; the best of twenty final draws gains 1.87.
    assert abs(float(np.mean(gains))) < 0.6
    assert max(shown) < 10


@pytest.mark.attack(
    "return_on_unlucky_tasks_only", family="people", outcome="tries for each task that chance chose",
    tries="Leaves just the tasks on which it was unlucky, and enters them again, for a better overall score.",
)  # fmt: skip
def test_who_is_drawn_again_on_the_unlucky_tasks_alone_is_not_certain_of_the_overall_score() -> None:
    """Each task has two draws at most, yet which ones have two was chosen among all sets of tasks."""
    random, alice, held = np.random.default_rng(5), make.entry("alice"), 0
    tasks = [make.task(f"task{number}") for number in range(60)]
    for _ in range(30):
        first, second = 1 + 0.3 * random.normal(size=(2, len(tasks), 10))
        results = [
            make.result(alice, draw.tolist(), on=task, beacon=beacon, at=f"2026-01-0{day}T00:00:00Z")
            for task, *draws in zip(tasks, first, second, strict=True)
            for day, (beacon, draw) in enumerate(zip(("came", "back"), draws, strict=True), start=1)
            if beacon == "came" or draws[0].mean() < 1
        ]
        (row,) = build_standings(make.challenge(*tasks), [alice], results, official=True, with_iqm=False).overall
        held += row.estimate.low <= 1 <= row.estimate.high

    assert held >= 28  # of 30; with two tries for the whole set it was 20


@pytest.mark.parametrize(("again", "tries"), [(0, 1), (1, 3), (2, 4), (3, 4), (4, 3), (5, 2)])
def test_an_overall_score_has_as_many_tries_as_tasks_were_left_out_of_a_return_or_took_part_alone(
    again: int, tries: int
) -> None:
    alice, tasks = make.entry("alice"), [make.task(f"task{number}") for number in range(5)]
    results = [make.result(alice, [1.0, 2.0], on=task) for task in tasks]
    results += [make.result(alice, [1.0, 2.0], on=task, beacon="back", at="2026-02-01T00:00:00Z") for task in tasks[:again]]

    (row,) = build_standings(make.challenge(*tasks), [alice], results, official=True).overall

    assert row.tries == tries


@pytest.mark.attack(
    "tries_before_other_settings", family="people", outcome="all of them are tries under the new settings, too",
    tries="Keeps the luckiest of twenty copies, and counts as one try once the host changes the task's settings.",
)  # fmt: skip
def test_a_change_of_the_settings_makes_nobodys_tries_forgotten() -> None:
    """More episodes begin with those that the version was chosen by."""
    few, many, kept = make.task(episodes=25), make.task(episodes=50), make.entry("alice", version="7")
    versions = [make.entry("alice", version=str(number)) for number in range(20)]
    before = [make.result(one, [1.0, 2.0], on=few, beacon=f"merge{number}") for number, one in enumerate(versions)]
    results = [*before, make.result(kept, [1.0, 2.0], on=many, beacon="merge7"), make.result(OPPONENT, [1.0, 2.0], on=many)]

    rows = build_standings(make.challenge(many), [kept, OPPONENT], results, official=True).tasks[0].rows

    assert {row.entry.login: (row.tries, row.versions_tried) for row in rows} == {"alice": (20, 20), "bob": (1, 1)}
    assert {row.entry.login: len(row.pooled_results) for row in rows} == {"alice": 1, "bob": 1}


def test_a_change_of_the_settings_makes_no_tries_of_a_team_forgotten() -> None:
    """Also of a mate who is not validated under the new ones: the mate's number stands in the old records alone."""
    short, long = make.game(max_plies=7), make.game()
    player, mate = make.entry("alice", authors=("@carol",)), make.entry("carol", authors=("@alice",))
    before = [make.duel(make.entry("carol", version=str(n)), on=short, beacon=f"merge{n}") for n in range(6)]
    now = [make.duel(player, on=long), make.duel(OPPONENT, on=long), make.duel(player, OPPONENT, "wwwl", on=long)]
    duels = map(numbered, [*before, *now])

    board = build_standings(make.challenge(long), [player, mate, OPPONENT], [], official=True, duels=duels).games[0]

    assert {row.entry.login: row.tries for row in board.rows} == {"alice": 7, "bob": 1}


def planned(board: Clone) -> RoundWork:
    board.repository.run("fetch", "-q", "origin", "results")
    tip = board.repository.resolve("FETCH_HEAD")
    return read_round_work(open_run(board), board.head, tip or "")


def test_the_end_of_submissions_draws_once_for_what_stood_then(board: Clone, tmp_path: Path) -> None:
    """Whatever is merged or withdrawn afterwards, with seeds that anybody can compute, takes no part."""
    board.commit(agent_files("alice"))
    board.commit(agent_files("alice", source=copy(2)))
    board.commit(agent_files("alice"))
    board.commit(agent_files("bob", "b", copy(5)))
    final = board.commit({"challenge.yml": FINAL})
    board.commit({**agent_files("alice", source=copy(3)), **dict.fromkeys(agent_files("bob", "b"))})
    board.commit(agent_files("carol", source=copy(7)))
    board.push()

    work = read_round_work(open_run(board), board.head, "")
    published = whole_round(board, tmp_path / "1")

    assert [(i.entry.login, i.wanted.beacon) for i in work.items if isinstance(i, WorkItem)] == [
        ("alice", final), ("bob", final),
    ]  # fmt: skip
    results = [one for one in published.recorded if isinstance(one, Result)]
    assert {(one.beacon, one.beacon_verified) for one in results} == {(final, True)}
    assert {one.login: one.login_id for one in results} == {"alice": 11, "bob": None}
    assert len(origin_branch(board, "results")) == 2
    assert planned(board).items == ()
    history = MainHistory(board.repository, board.head)
    assert [history.check(record).faults for record in published.recorded] == [(), ()]


@pytest.mark.attack(
    "folder_that_is_broken_after_the_end", family="people", outcome="the final ranks stay as they are",
    tries="Breaks the folder of its best version once the final draws are known, so that another one holds its place.",
)  # fmt: skip
def test_a_folder_that_cannot_be_read_after_the_end_changes_no_final_rank(board: Clone) -> None:
    live = board.commit({**agent_files("alice", "a", copy(1)), **agent_files("alice", "b", copy(2))})
    final, rules = board.commit({"challenge.yml": FINAL}), parse_challenge(RULES)
    entries, _ = read_entries(board.repository, live, rules)
    for day, (beacon, scores) in enumerate(((live, (3.0, 2.0)), (final, (1.0, 5.0))), 1):
        for entry, score in zip(entries, scores, strict=True):
            at = f"2026-01-0{day}T00:00:00Z"
            result = make.result(entry, [score] * 3, on=rules.tasks[0], beacon=beacon, at=at)
            record_store(board.path).write(result, None)

    def places() -> list[tuple[str, float, str | None]]:
        git(board.path, "checkout", "-q", "--", "challenge.yml", "submissions")
        rows = recorded_standings(Checkout(board.path), official=True).tasks[0].rows
        return [(row.entry.agent, row.estimate.score, row.superseded_by) for row in rows]

    before = places()
    board.commit({"submissions/alice/a/submission.yml": b"name: broken\n"})

    assert before == [("a", 1.0, None), ("b", 5.0, "alice/a")]
    assert places() == before


@pytest.mark.attack(
    "live_draw_under_way_at_the_end", family="people", outcome="takes no part in the choice of the one that holds the place",
    tries="Computes its folders' final draws and lets the live one that is still under way fail where the final one is bad.",
)  # fmt: skip
def test_a_live_draw_that_ends_after_the_end_does_not_choose_who_holds_the_place(board: Clone) -> None:
    """What its owner's host serves can be let fail in a round under way, when the seeds of the final draws are known."""
    live = board.commit({**agent_files("alice", "a", copy(1)), **agent_files("alice", "b", copy(2))})
    final = board.commit({"challenge.yml": FINAL}, at="2026-01-01T12:00:00+02:00")
    rules = parse_challenge(RULES)
    first, second = read_entries(board.repository, live, rules)[0]

    def holder(at: str) -> list[str]:
        """Who has the place if the live draw of the second one was made then, and that of the first one failed."""
        draws = [(first, None, live, at), (second, 3.0, live, at), (first, 1.0, final, LATER), (second, 5.0, final, LATER)]
        for entry, score, beacon, when in draws:
            returns, verdict = ([], "internal_error") if score is None else ([score] * 3, "ok")
            result = make.result(entry, returns, on=rules.tasks[0], beacon=beacon, at=when, verdict=verdict)
            record_store(board.path).write(result, None)
        git(board.path, "checkout", "-q", "--", "challenge.yml", "submissions")
        rows = recorded_standings(Checkout(board.path), official=True).tasks[0].rows
        return [row.entry.agent for row in rows if row.superseded_by is None]

    assert holder("2026-01-01T10:00:01Z") == ["a"]
    assert holder("2026-01-01T09:59:59Z") == ["b"]


LATER = "2026-02-01T00:00:00Z"
SEALED = b"""quota: {per_day: 9}
seeds: sealed
sealed: {secret_sha256: %s, decimals: 0}
""" % SECRET.sha256.encode()


def reveal(board: Clone) -> None:
    """Record that the season is revealed now."""
    news = RevealedSecret(secret=SECRET.raw.hex(), at="2026-06-01T00:00:00Z", commit=board.head)
    seasons = SeasonFile(seasons=(SeasonEntry(season="1", revealed=news),))
    (board.path / "results" / SEASON_FILE).write_bytes(seasons.serialised())


@pytest.mark.attack(
    "return_after_the_reveal", family="people", outcome="ranked by what stood at the reveal",
    tries="Goes back, once a sealed season is revealed, to the version that all scores show to have been its best.",
)  # fmt: skip
def test_who_goes_back_after_the_reveal_is_ranked_by_what_stood_then(tmp_path: Path) -> None:
    """All versions have played the same episodes, and their exact scores are public."""
    board = make_board(tmp_path / "board", {"challenge.yml": RULES + SEALED})
    board.commit({**agent_files("alice", source=copy(1)), **agent_files("bob", source=copy(9))})
    record(board, "2026-01-01T00:00:00Z", beacon=SECRET.beacon, score=9.0)
    record(board, "2026-01-01T00:00:00Z", beacon=SECRET.beacon, score=5.0, login="bob")
    board.commit(agent_files("alice", source=copy(2)))
    record(board, "2026-01-02T00:00:00Z", beacon=SECRET.beacon, score=4.0)
    assert ranked(board) == {"alice": 4, "bob": 5}
    reveal(board)

    board.commit({**agent_files("alice", source=copy(1)), **dict.fromkeys(agent_files("bob"))})

    assert ranked(board) == {"alice": 4, "bob": 5}
    git(board.path, "checkout", "-q", "--orphan", "other")
    git(board.path, "commit", "-q", "-m", "other")
    with pytest.raises(CommandError, match="where main stood at the reveal of season 1"):
        ranked(board)


@pytest.mark.attack(
    "evaluation_that_ends_after_the_reveal", family="people", outcome="without a place, and a try",
    tries="Plays in a round under way when a sealed season is revealed, told by its files' host how to play these episodes.",
)  # fmt: skip
def test_what_is_evaluated_after_the_reveal_has_no_place(tmp_path: Path) -> None:
    """The secret is public by then: who serves an agent's files can tell it by the clock which of its policies is lucky."""
    board = make_board(tmp_path / "board", {"challenge.yml": RULES + SEALED})
    board.commit({**agent_files("alice", source=copy(1)), **agent_files("bob", source=copy(9))})
    record(board, "2026-05-31T23:59:59Z", beacon=SECRET.beacon, score=5.0, login="bob")
    record(board, "2026-06-01T00:10:00Z", beacon=SECRET.beacon, score=9.0)
    assert ranked(board) == {"alice": 9, "bob": 5}
    reveal(board)

    assert ranked(board) == {"bob": 5}
    (waiting,) = recorded_standings(Checkout(board.path), official=True).tasks[0].waiting
    assert waiting.login == "alice"


@pytest.mark.attack(
    "folders_in_a_sealed_season", family="people", outcome="one of them holds the place, with all as tries",
    tries="Enters twenty copies in folders of their own in a sealed season, and holds the first twenty places.",
)  # fmt: skip
def test_of_twenty_folders_in_a_sealed_season_the_best_holds_the_place_with_twenty_tries() -> None:
    """Whoever merges them one after the other keeps the best, too: all play the same episodes."""
    lucky = [make.result(one, [9.0, 8.0 + n / 9], beacon=SECRET.beacon) for n, one in enumerate(COPIES)]
    results = [*lucky, make.result(OPPONENT, [1.0, 2.0], beacon=SECRET.beacon)]

    def placed(final: FinalDraws | None) -> list[tuple[Entry, int, int]]:
        board = build_standings(make.challenge(), [*COPIES, OPPONENT], results, official=True, final=final).tasks[0]
        return [(row.entry, row.place, row.tries) for row in board.rows if not row.is_unranked]

    assert len(placed(None)) == 21
    assert placed(FinalDraws(beacon=SECRET.beacon)) == [(COPIES[-1], 1, 20), (OPPONENT, 2, 1)]


PHASED = (
    b'title: Test\nseason: "1"\ntasks:\n  - {id: CartPole-v1, episodes: 3}\n  - {id: twin, env: CartPole-v1, episodes: 3}\n'
    b'phases:\n  - {id: first, name: First, end: "2026-02-01T00:00:00Z", tasks: [twin]}\n'
)


def not_drawn(board: Clone) -> list[str]:
    """The tasks of the final draws that closing the season waits for."""
    git(board.path, "checkout", "-q", "--", ".")
    checkout = Checkout(board.path)
    return [item.task_id for item in missing_final_work(checkout, final_entries(checkout), datetime.now(UTC))]


@pytest.mark.attack(
    "season_that_a_later_merge_keeps_open", family="people", outcome="not waited for",
    tries="Names a task when its phase is over, and changes the agent after the end, so that closing waits for its draw.",
)  # fmt: skip
def test_what_is_merged_after_the_end_makes_no_late_entry_one_in_time(tmp_path: Path) -> None:
    """The official run never makes that draw, so the season could not be closed."""
    board, rules = make_board(tmp_path / "board", {"challenge.yml": PHASED}), parse_challenge(PHASED)
    both = MANIFEST + b"tasks: [CartPole-v1, twin]\n"
    board.commit(agent_files("alice", manifest=MANIFEST + b"tasks: [CartPole-v1]\n"), at="2026-01-10T00:00:00Z")
    board.commit(agent_files("alice", manifest=both), at="2026-02-10T00:00:00Z")
    final = board.commit({"challenge.yml": PHASED + b'final: "1"\n'}, at="2026-03-01T00:00:00Z")
    (entry,) = read_entries(board.repository, final, rules)[0]
    record_store(board.path).write(make.result(entry, [1.0] * 3, on=rules.tasks[0], beacon=final), None)

    assert not_drawn(board) == []
    board.commit(agent_files("alice", source=copy(2), manifest=both), at="2026-03-02T00:00:00Z")
    assert not_drawn(board) == []


@pytest.mark.attack(
    "spelling_that_opens_a_phase", family="people", outcome="refused as before",
    tries="Merges a version before its phase begins, and later another one under another spelling of the login.",
)  # fmt: skip
def test_a_login_spelled_otherwise_makes_no_early_version_one_in_time(tmp_path: Path) -> None:
    """The seeds of the early version are known, so its owner could bring it in only if they are lucky."""
    opens = b'phases:\n  - {id: first, name: First, start: "2026-03-01T00:00:00Z", tasks: [CartPole-v1]}\n'
    board = make_board(tmp_path / "board", {"challenge.yml": RULES + opens})
    board.commit(agent_files("Alice"), at="2026-02-01T00:00:00Z")
    board.commit(agent_files("alice", source=copy(2)), at="2026-03-02T00:00:00Z")

    context = PlanContext(now=datetime(2026, 3, 3, tzinfo=UTC))
    work = read_round_work(replace(open_run(board), plan_context=context), board.head, "")

    assert [item.players[0].login for item in work.items] == ["alice"]
    assert [held.item.players[0].login for held in work.deferred] == ["Alice"]


@pytest.mark.attack(
    "season_that_an_old_version_keeps_open", family="people", outcome="not waited for",
    tries="Brings a version of an earlier season back when the phase is over, so that closing waits for its draw.",
)  # fmt: skip
def test_what_stood_before_the_season_began_makes_no_late_entry_one_in_time(tmp_path: Path) -> None:
    """The official run counts what is in the season, and refuses it; the site must say the same."""
    ends = b'phases:\n  - {id: first, name: First, end: "2026-02-01T00:00:00Z", tasks: [CartPole-v1]}\n'
    board = make_board(tmp_path / "board", {"challenge.yml": RULES.replace(b'"1"', b'"0"')})
    board.commit(agent_files("alice"), at="2025-10-01T00:00:00Z")
    board.commit(dict.fromkeys(agent_files("alice")), at="2025-10-02T00:00:00Z")
    board.commit({"challenge.yml": RULES + ends}, at="2026-01-01T00:00:00Z")
    board.commit(agent_files("alice"), at="2026-02-10T00:00:00Z")
    board.commit({"challenge.yml": FINAL + ends}, at="2026-03-01T00:00:00Z")

    deferred = read_round_work(open_run(board), board.head, "").deferred

    assert ["too late" in reason_in_words(each.reason) for each in deferred] == [True]
    assert not_drawn(board) == []
    (waiting,) = recorded_standings(Checkout(board.path), official=True).tasks[0].waiting
    assert "too late" in waiting.refused["CartPole-v1"]


@pytest.mark.attack(
    "season_that_whoever_leaves_a_team_keeps_open", family="people", outcome="what was evaluated before is drawn",
    tries="Leaves, or hides, the organisation that may enter, so that closing waits for a draw that nobody makes.",
)  # fmt: skip
def test_whoever_leaves_the_team_before_the_end_keeps_the_final_draw(tmp_path: Path) -> None:
    """Who closes the season cannot see who is a member; what enters after its owner has left is not drawn."""
    rules_text = RULES + b"phases:\n  - {id: first, name: First, teams: [lab], tasks: [CartPole-v1]}\n"
    board, rules = make_board(tmp_path / "board", {"challenge.yml": rules_text}), parse_challenge(rules_text)
    live = board.commit({**agent_files("alice"), **agent_files("bob", source=copy(2))})
    board.commit({**agent_files("bob", source=copy(3)), "challenge.yml": rules_text + b'final: "1"\n'})
    entries, _ = read_entries(board.repository, live, rules)
    results = [make.result(entry, [1.0] * 3, on=rules.tasks[0], beacon=live) for entry in entries]
    for result in results:
        record_store(board.path).write(result, None)

    with patch.object(round_work, "read_recorded", return_value=(results, [])):
        items = read_round_work(open_run(board), board.head, "").items

    assert [item.entry.login for item in items if isinstance(item, WorkItem)] == ["alice"]
    assert not_drawn(board) == ["CartPole-v1"]


@pytest.mark.attack(
    "player_that_meets_no_newcomers", family="people", outcome="it meets them",
    tries="Makes a player that beats all present ones, and hides the membership, names another team, or ignores new terms.",
)  # fmt: skip
@pytest.mark.parametrize("way", ["membership", "author", "terms"])
def test_a_player_that_was_evaluated_meets_who_comes_later(way: str) -> None:
    """Its results stay on the board, so it would stay ahead of newcomers that beat it: of three, by 140 points."""
    game = make.game()
    phase = Phase(id="one", name="One", tasks=(game.id,), teams=("lab",) if way == "membership" else ())
    people = People(one_team_each=True, terms="terms.md" if way == "terms" else None)
    rules = make.challenge(game).model_copy(update={"phases": (phase,), "people": people})
    honest, newcomer = (
        replace(entry, submission=entry.submission.model_copy(update={"terms": True}))
        for entry in map(make.entry, ("bob", "carol"))
    )
    authors = ("@bob",) if way == "author" else ()
    leader, unevaluated = (make.entry("mallory", agent=name, authors=authors) for name in ("agent", "b"))
    entries = [honest, leader, newcomer, unevaluated]
    duels = [make.duel(player, on=game) for player in (honest, leader, newcomer)]
    duels += [make.duel(honest, newcomer, on=game), make.duel(leader, honest, "ww", on=game)]
    now = datetime(2026, 3, 1, tzinfo=UTC)
    members = {"lab": frozenset(["bob", "carol"])}
    admission = AdmissionContext(now=now, arrived={entry.name: now for entry in entries}, members=members)
    where = MeasurementContext(runtime_digest=make.digest("runtime"), beacon="test")

    def meetings(season: Challenge) -> set[frozenset[str]]:
        items = admit_work(season, entries, [], duels, where, admission).items
        return {frozenset(player.shown for player in item.players) for item in items}

    assert list(new_team_faults(rules.people, leader, entries)) == []
    assert frozenset(["mallory/agent", "carol/agent"]) in meetings(rules)
    assert frozenset(["mallory/b"]) not in meetings(rules)
    final, banned = rules.model_copy(update={"final": rules.season}), Ban(login="mallory", why="x")
    assert any("mallory/agent" in names for names in meetings(final)) == (way == "membership")
    stopped = rules.model_copy(update={"people": people.model_copy(update={"ban": (banned,)})})
    assert not any("mallory/agent" in names for names in meetings(stopped))


def test_a_final_draw_that_is_hidden_and_not_replayed_is_not_waited_for(board: Clone) -> None:
    """The official run makes it no more."""
    board.commit(agent_files("alice"))
    final, rules = board.commit({"challenge.yml": FINAL}), parse_challenge(RULES)
    (entry,) = read_entries(board.repository, final, rules)[0]
    record_store(board.path).write(make.result(entry, [1.0] * 3, on=rules.tasks[0], beacon=final), None)
    hidden = '{commit: %s, since: "2000-01-01T00:00:00Z", until: "2999-01-01T00:00:00Z", who: host, why: x, replay: %s}'

    waits = []
    for replay in ("true", "false"):
        board.commit({"moderation.yml": f"quarantines: [{hidden % ('a' * 40, replay)}]\n".encode()})
        waits.append(not_drawn(board))

    assert waits == [["CartPole-v1"], []]


def test_the_end_cannot_be_taken_back(board: Clone) -> None:
    """Else a host, or whoever he listens to, could draw the end until it pleases."""
    final = board.commit({"challenge.yml": FINAL, **agent_files("alice")})
    board.commit({"challenge.yml": RULES})
    with pytest.raises(CommandError, match=f"submissions of season 1 ended with commit {final[:12]}"):
        wanted(board)
    board.commit({"challenge.yml": FINAL})

    assert wanted(board) == [("a", final)]


def claimed(board: Clone, beacon: str, commit: str = "") -> tuple[str, ...]:
    """What history says against a record of alice's agent with these seeds."""
    task = parse_challenge(RULES).tasks[0]
    (entry,) = (e for e in read_entries(board.repository, board.head, parse_challenge(RULES))[0] if e.login == "alice")
    key = WantedResult(
        submission_digest=entry.digest, task_digest=task.digest(), runtime_digest="0" * 64, season="1", beacon=beacon
    )
    record = Result.with_self_hash(
        {
            "key": key.key(), **key.model_dump(), "class": "official", "task": task.id, "login": "alice", "agent": "a",
            "sandbox": "docker", "verdict": "crashed", "limits": parse_challenge(RULES).limits, "cost": {},
            "provenance": {
                "commit": commit or board.head, "run_url": None, "evaluated_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
            },
        }
    )  # fmt: skip
    found = MainHistory(board.repository, board.head).check(record)
    return (*found.faults, *([found.stale] if found.stale else []))


def test_whoever_verifies_is_told_that_main_was_moved_to_a_branch_that_had_merged_it(board: Clone) -> None:
    began = board.head
    first = board.commit(agent_files("alice"))
    assert claimed(board, first) == ()
    board.switch(began)
    own = board.commit(agent_files("mallory", source=copy(2)))

    board.switch(first)
    files = agent_files("mallory", source=copy(2))
    board.commit(files, parents=(first, own))  # as GitHub merges
    assert claimed(board, first, commit=first) == ()
    board.switch(first)
    board.commit(files, parents=(own, first))  # as a branch that is brought up to date, and main moved to it
    (fault,) = claimed(board, first, commit=first)
    assert "is on main as a second parent only: main was moved to a branch that had merged it" in fault


def test_a_record_has_the_seeds_of_a_stay_or_of_the_end_and_no_others(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    away = board.commit(agent_files("alice", source=copy(2)))
    back = board.commit(agent_files("alice"))
    later = board.commit(agent_files("bob"))

    assert claimed(board, first) == claimed(board, back) == ()
    for commit in (away, later):
        (fault,) = claimed(board, commit)
        assert fault.startswith(f"its seeds come from {commit[:12]}, and the version came to main with ")
    assert claimed(board, back, away) == (f"commit {away[:12]}, which it says was evaluated, does not hold the version yet",)
    final = board.commit({"challenge.yml": FINAL})
    again = board.commit({"challenge.yml": FINAL + b"# again\n"})
    assert claimed(board, final) == ()
    assert len(claimed(board, again)) == 1


def test_who_was_away_when_submissions_ended_has_no_final_draw(board: Clone) -> None:
    board.commit(agent_files("alice"))
    board.commit(dict.fromkeys(agent_files("alice")))
    final = board.commit({"challenge.yml": FINAL})
    board.commit(agent_files("alice"))

    assert wanted(board) == []
    assert claimed(board, final)[0].startswith(f"its seeds come from {final[:12]}")


def returning(board: Clone, times: int) -> list[str]:
    """Commits by which alice and bob come back together so often, each time after another version."""
    blobs = [MANIFEST, copy(0), copy(1)]
    stream = [b"blob\nmark :%d\ndata %d\n%s\n" % (mark, len(blob), blob) for mark, blob in enumerate(blobs, start=1)]
    for number in range(2 * times):
        at = b"committer a <a@b> %d +0000\ndata 0\n" % (1_700_000_000 + number)
        stream.append(b"commit refs/heads/main\n" + at + (b"" if number else b"from %s\n" % board.head.encode()))
        for login in (b"alice", b"bob"):
            stream.append(b"M 100644 :1 submissions/%s/a/submission.yml\n" % login)
            stream.append(b"M 100644 :%d submissions/%s/a/agent.py\n" % (2 + number % 2, login))
    git(board.path, "fast-import", "--quiet", given=b"".join(stream))
    return board.repository.first_parent(board.head)[::2]


def test_a_thousand_returns_do_not_stall_the_check_of_duels(board: Clone) -> None:
    """Every pair of the players' stays would be a million for each duel."""
    backs = returning(board, 1000)
    (digest,) = {d for d in FolderHistory(board.repository, board.head).digests([AgentName("alice", "a")]).values() if d}
    players = [
        Entry(login=login, agent="a", submission=make.entry(login).submission, digest=digest) for login in ("alice", "bob")
    ]
    history, began = MainHistory(board.repository, board.head), time.process_time()
    for back in backs[:5]:
        duel = make.duel(*players, "ww", beacon=back)
        assert not [fault for fault in history.check(duel).faults if "seeds" in fault]

    assert time.process_time() - began < 4


def test_a_task_that_is_named_after_its_phase_ended_is_not_entered(tmp_path: Path) -> None:
    phase = b"phases:\n  - {id: spring, name: Spring, tasks: [FrozenLake-v1], end: '2026-03-01T00:00:00Z'}\n"
    board = make_board(tmp_path / "phases", {"challenge.yml": CHALLENGE + phase})
    only, all_tasks = MANIFEST + b"tasks: [CartPole-v1]\n", MANIFEST + b"tasks: all\n"
    board.commit(
        {**agent_files("alice", manifest=only), **agent_files("bob", manifest=all_tasks)}, at="2026-02-01T00:00:00Z"
    )
    # The files stay those of the version that came in time; alice has seen bob's score by now.
    board.commit(agent_files("alice", manifest=all_tasks), at="2026-04-01T00:00:00Z")

    work = read_round_work(open_run(board), board.head, "")

    assert {(item.entry.login, item.task_id) for item in work.items if isinstance(item, WorkItem)} >= {
        ("alice", "CartPole-v1"), ("bob", "CartPole-v1"), ("bob", "FrozenLake-v1"),
    }  # fmt: skip
    assert [(one.item.players[0].login, one.item.task_id) for one in work.deferred] == [("alice", "FrozenLake-v1")]
    assert reason_in_words(work.deferred[0].reason).startswith("too late: phase 'spring' ended 2026-03-01")


@pytest.mark.parametrize("freedom", [19, 99, 199])
def test_an_owner_with_a_thousand_tries_among_a_thousand_does_not_stop_the_ranking(freedom: int) -> None:
    """Critical values that far out were searched for ever."""
    shares = TAIL / (1000 * 999) / np.arange(1, 1000)

    critical = student_quantiles(freedom, 1 - shares)

    assert critical == pytest.approx(scipy.stats.t.isf(shares, freedom), rel=1e-5)
