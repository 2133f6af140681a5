"""`pullrank erase`: a person's name, words and files go; scores and everybody else's ranks stay."""

import itertools
import json
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.loading.yaml_loader import parse_moderation
from evaluator.model.config.moderation import Quarantine
from evaluator.model.config.submission import Submission
from evaluator.model.config.task import Task
from evaluator.model.identifiers import LOGIN
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import Entry
from leaderboard.core.standings import Standings
from leaderboard.core.store import ResultStore
from leaderboard.history import LeaderboardHistory
from leaderboard.site_context import former_entries
from scripts.maintenance.plan_erasure import Renaming, ranks_of_others
from scripts.repository.checkout import Checkout
from scripts.repository.moderation_file import with_entry
from scripts.standings.recorded_standings import rank_recorded, recorded_input
from tests.evaluations import FIRST_LEGAL, RANDOM_PLAYER, duelled
from tests.leaderboard import make
from tests.leaderboard.pages import samples
from tests.leaderboard.pages.samples import returns_around
from tests.scripts.checkouts import put, run

BOARD = "title: Board\nseason: '2026'\ntasks:\n  - {id: CartPole-v1, bounds: [1, 500]}\n"
TICTACTOE = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", matches=2)
SOURCE = "class Agent:\n    def act(self, observation):\n        return 0  # {}\n"


PUSH = ("--push", "--account")


def account(login: str) -> str:
    """The number of somebody's account at GitHub."""
    return str(int(samples.digest(login.casefold())[:6], 16))


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=t", "-c", "user.email=t@t.invalid")
    return subprocess.run(["git", *names, *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def enter(root: Path, login: str, agent: str, score: float, **fields: Any) -> None:
    """An agent on main with an official result."""
    put(root / "submissions" / login / agent, SOURCE.format(f"{login} {agent}"), "all")
    record(root, login, agent, score, **fields)


def record(root: Path, login: str, agent: str, score: float, **fields: Any) -> None:
    folder = Checkout(root).find(root / "submissions" / login / agent)
    task = Checkout(root).challenge.tasks[0]
    entry = Entry(login=login, agent=agent, submission=Submission(name=agent, algorithm="x"), digest=folder.folder.digest)
    made = samples.result(
        entry, task, returns_around(score, 5, seed=int(score)), log_tail=f"{login} was here",
        trace_sha256=None if fields.get("verdict") else samples.digest("trace"),
        **{"login_id": int(account(login)), **fields},
    )  # fmt: skip
    ResultStore(results=root / "results", traces=root / "traces").write(made, b"trace")


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """Three people on main, each with a result; results/ is a branch of its own on the origin."""
    root, origin = tmp_path / "board", tmp_path / "origin.git"
    root.mkdir()
    (root / "challenge.yml").write_text(BOARD)
    (root / "moderation.yml").write_text("# Decisions\nexclusions: []\n")
    (root / ".gitignore").write_text("results/\ntraces/\n")
    for login, agent, score in (
        ("ada", "net", 400.0),
        ("Bob", "net", 300.0),
        ("Bob", "other", 250.0),
        ("eve", "net", 200.0),
    ):
        enter(root, login, agent, score)
    git(root, "init", "-qb", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    git(tmp_path, "clone", "-q", "--bare", str(root), str(origin))
    git(root, "remote", "add", "origin", str(origin))
    for branch in ("results", "traces"):
        place = tmp_path / branch
        git(tmp_path, "init", "-qb", branch if branch == "results" else "traces-2026", branch)
        subprocess.run(["cp", "-r", f"{root / branch}/.", str(place)], check=True)
        git(place, "add", "-A")
        git(place, "commit", "-qm", "all")
        git(place, "push", "-q", str(origin), "HEAD")
    return root


def ranks(root: Path) -> list[tuple[Any, ...]]:
    document = json.loads(run(root, "rank", "--official", "--json")[1])
    rows = document["tasks"][0]["rows"]
    return [(row["login"], row["agent"], row["place"], row["rank_low"], row["rank_high"], row["estimate"]) for row in rows]


def everything(root: Path) -> str:
    """All that the clone shows, without git's history."""
    paths = [path for path in root.rglob("*") if path.is_file() and ".git/" not in str(path)]
    return "\n".join(f"{path}\n{path.read_text(errors='replace')}" for path in paths).replace(str(root), "")


def test_the_name_goes_and_nobodys_rank_moves(board: Path) -> None:
    before = ranks(board)
    hashes = {json.loads(path.read_text())["self_sha256"] for path in board.glob("results/*/Bob/*/*.json")}
    code, _, err = run(board, "erase", "bob", *PUSH, account("bob"))
    assert code == 0, err

    [mark] = {item.login for item in parse_moderation((board / "moderation.yml").read_bytes()).erasures}
    names = {("Bob", "net"): (mark, "agent-01"), ("Bob", "other"): (mark, "agent-02")}
    assert ranks(board) == [(*names.get(row[:2], row[:2]), *row[2:]) for row in before]
    assert "bob" not in everything(board).casefold()
    kept = [json.loads(path.read_text()) for path in board.glob(f"results/*/{mark}/*/*.json")]
    assert {one["erased_sha256"] for one in kept} == hashes
    assert {(one["log_tail"], one["login_id"], one["provenance"]["run_url"]) for one in kept} == {("", None, None)}
    assert len(list(board.glob(f"traces/*/{mark}/*/*"))) == 2
    assert (board / "moderation.yml").read_text().startswith("# Decisions\nexclusions: []\n")

    for branch in ("results", "traces-2026"):
        listed = git(board.parent / "origin.git", "ls-tree", "-r", "--name-only", branch)
        assert "bob" not in listed.casefold()
        assert listed.count(mark) == 2
        assert listed.count("ada/") == 1
    assert "git filter-repo --invert-paths --path submissions/bob/" in err
    assert run(board, "erase", "bob")[0] == 2


@pytest.mark.attack(
    "erasure_by_who_took_the_login", family="people", outcome="nothing is changed",
    tries="Takes a login that somebody gave up, and asks to be forgotten, so that the other's records go.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--push",), "add --account with its"),
        (("--push", "--account", "7"), "not 7: the login was somebody else's then"),
        (("--account", "7"), "not 7: the login was somebody else's then"),
    ],
)
def test_records_of_another_account_are_not_erased(board: Path, words: tuple[str, ...], reason: str) -> None:
    before, tips = everything(board), git(board, "ls-remote", "origin")

    code, _, err = run(board, "erase", "bob", *words)

    assert (code, reason in err) == (2, True), err
    assert f"records of bob are of account {account('bob')}" in err
    assert (everything(board), git(board, "ls-remote", "origin")) == (before, tips)


def test_a_login_that_changed_hands_is_not_erased(board: Path) -> None:
    record(board, "Bob", "other", 250.0, login_id=7)
    before = everything(board)

    for number in ("7", account("bob")):
        code, _, err = run(board, "erase", "bob", "--account", number)

        assert (code, "the login changed hands" in err) == (2, True), err
    assert everything(board) == before


def test_the_site_no_longer_names_them(board: Path) -> None:
    assert run(board, "erase", "Bob")[0] == 0
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "Erase"], cwd=board, check=True)

    shown = run(board, "rank", "--official")
    assert shown[0] == 0
    assert "bob" not in (shown[1] + shown[2]).casefold()


def test_an_erased_person_gets_no_grade(board: Path) -> None:
    assert run(board, "erase", "bob")[0] == 0

    _, *rows = run(board, "grades")[1].splitlines()

    assert [row.partition(",")[0] for row in rows] == ["ada", "eve"]


@pytest.mark.attack(
    "neighbours_of_a_login", family="people", outcome="erased, and no rank moves",
    tries="Meets somebody by two accounts whose logins stand next to theirs, so that no name is left for their erasure.",
)  # fmt: skip
@pytest.mark.parametrize("others", [("alibi", "alina"), ("alicd" + 34 * "z", "alice0")])
def test_who_met_the_neighbours_of_their_login_is_erased(board: Path, others: tuple[str, str]) -> None:
    is_erased_from_a_game(board, "alice", others, [("alice", other) for other in others])


def test_who_met_few_of_the_players_is_erased(board: Path) -> None:
    """In another order of names the ratings have other last bits."""
    is_erased_from_a_game(board, "zoe", ("abe", "fay", "gus", "kim", "lea"), [("zoe", "abe")])


def enter_game(root: Path, logins: tuple[str, ...], pairs: Iterable[tuple[str, str]]) -> None:
    """Players on main, whose validations and duels are recorded."""
    with (root / "challenge.yml").open("a") as file:
        file.write("  - {id: tictactoe, game: pettingzoo.classic.tictactoe_v3, matches: 2}\n")
    for one in logins:
        put(root / "submissions" / one / "net", SOURCE.format(one), "all")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "players")
    checkout = Checkout(root)
    players = {one: checkout.find(root / "submissions" / one / "net").entry() for one in logins}
    met = [*((one, one) for one in players), *pairs]
    for second, (one, other) in enumerate(met):
        outcomes, at = "wl" if one == other else "ww", f"2026-01-02T00:00:{second:02}Z"
        duel = make.duel(players[one], players[other], outcomes, on=checkout.challenge.tasks[1], season="2026", at=at)
        ResultStore(results=root / "results", traces=root / "traces").write(duel)


def is_erased_from_a_game(root: Path, login: str, others: tuple[str, ...], pairs: list[tuple[str, str]]) -> None:
    """The person met some of the others, and these met each other."""
    enter_game(root, (login, *others), [*pairs, *itertools.combinations(others, 2)])
    before, files = game_ranks(root), sorted(path.name for path in root.glob("results/tictactoe/*/*.json"))
    assert len(before) == 1 + len(others)

    code, _, err = run(root, "erase", login)

    assert code == 0, err
    [mark] = {item.login for item in parse_moderation((root / "moderation.yml").read_bytes()).erasures}
    after = [(login if row[0] == mark else row[0], *row[1:]) for row in game_ranks(root)]
    assert after == before
    assert LOGIN.fullmatch(mark)
    assert sorted(path.name for path in root.glob("results/tictactoe/*/*.json")) == files
    assert f"{login}/" not in everything(root)
    assert f"{login}+" not in everything(root)


def game_ranks(root: Path) -> list[tuple[Any, ...]]:
    rows = json.loads(run(root, "rank", "--official", "--json")[1])["games"][0]["rows"]
    return [(row["login"], row["place"], row["rank_low"], row["rank_high"], round(row["rating"]["elo"], 6)) for row in rows]


def test_a_duel_keeps_its_sides_and_its_winner() -> None:
    for login in ("ada", "mallory", "zoe"):
        mark = "erased_00000000"
        own, rival = make.entry(login), make.entry("bob")
        before = make.duel(own, rival, "wl", verdicts=("crashed", "ok"))
        after = Renaming(login=login, mark=mark, agents={own.agent: "agent-01"}).duel(before)
        assert [player.submission_digest for player in after.players] == [p.submission_digest for p in before.players]
        assert (after.matches, after.key, after.erased_sha256) == (before.matches, before.key, before.self_sha256)
        assert after.self_sha256 == after.self_hash()
        assert {player.login for player in after.players} == {mark, "bob"}


@pytest.mark.attack(
    "erasing_one_who_looks_alike", family="people", outcome="nothing is changed: the login is compared as a whole",
    tries="Asks to erase a login that begins, ends or looks like a rival's, or is a pattern.",
)  # fmt: skip
@pytest.mark.parametrize("login", ["bo", "obb", "bob-", "b*b", "../ada", "\u0412ob", "bob/net", "", "local", "bob2"])
def test_a_login_that_looks_alike_erases_nobody(board: Path, login: str) -> None:
    before = everything(board)

    code, _, err = run(board, "erase", login)
    assert (code, err.count("\n")) == (2, 1), err
    assert everything(board) == before


@pytest.mark.attack(
    "erasure_that_lifts_others", family="people", outcome="the place stays taken",
    tries="Has the leader erased, so that the next in the ranks leads.",
)  # fmt: skip
def test_erasing_the_leader_makes_nobody_lead(board: Path) -> None:
    before = {row[0]: row[2] for row in ranks(board)}
    assert run(board, "erase", "ada")[0] == 0

    after = {row[0]: row[2] for row in ranks(board)}
    assert (after["Bob"], after["eve"]) == (before["Bob"], before["eve"])
    assert 1 not in {after["Bob"], after["eve"]}


@pytest.mark.attack(
    "copy_that_withholds_an_erasure", family="people", outcome="erased, and no rank moves",
    tries="Has the very files of somebody else, as of a starter, whose place then seems to move by that person's erasure.",
)  # fmt: skip
def test_who_has_the_files_of_somebody_else_is_erased(board: Path) -> None:
    for path in (board / "submissions/Bob/net").iterdir():
        (board / "submissions/eve/net" / path.name).write_bytes(path.read_bytes())
    git(board, "commit", "-qam", "A copy")
    record(board, "eve", "net", 200.0)
    before = ranks(board)

    code, _, err = run(board, "erase", "bob")

    assert code == 0, err
    [mark] = {item.login for item in parse_moderation((board / "moderation.yml").read_bytes()).erasures}
    assert [row[1:] for row in ranks(board) if row[0] != mark] == [row[1:] for row in before if row[0] != "Bob"]


@pytest.mark.attack(
    "erasure_out_of_quarantine", family="people", outcome="stays hidden, and no rank moves",
    tries="Asks to be erased when the results of one's login are in quarantine, which does not name the new one.",
)  # fmt: skip
@pytest.mark.parametrize("replay", [True, False])
@pytest.mark.parametrize("is_edited", [False, True])
@pytest.mark.parametrize("in_game", [False, True])
def test_what_is_in_quarantine_stays_there(board: Path, in_game: bool, is_edited: bool, replay: bool) -> None:
    if in_game:
        enter_game(board, ("bob", "gus", "kim"), itertools.combinations(("bob", "gus", "kim"), 2))
    fields = {"since": "2020-01-01T00:00:00Z", "until": "2030-01-01T00:00:00Z", "commit": 40 * "a", "who": "host"}
    quarantine = Quarantine.model_validate({**fields, "login": "Bob", "why": "cheated", "replay": replay})
    content = with_entry(b"exclusions: []\n", "quarantines", quarantine)
    edited = content.replace(b"login: 'Bob'", b"login: BOB # who cheated") if is_edited else content
    (board / "moderation.yml").write_bytes(edited)
    show = game_ranks if in_game else ranks
    before = show(board)
    assert before
    assert not [row for row in before if row[0].casefold() == "bob"]

    code, _, err = run(board, "erase", "bob", *PUSH, account("bob"))

    assert code == 0, err
    assert show(board) == before
    assert ("bob" in (board / "moderation.yml").read_text().casefold()) == is_edited


EXCLUDED = "since: '2026-03-02', who: host, why: cheated, link: 'https://github.com/c/c/issues/1'"


@pytest.mark.attack(
    "erasure_out_of_an_exclusion", family="people", outcome="stays excluded, under the name that stands for nobody",
    tries="Asks to be erased once it is excluded for a score that beats all records, which does not name the new login.",
)  # fmt: skip
@pytest.mark.parametrize("named", ["", ", agent: net", ", digest: DIGEST", ", agent: older, digest: DIGEST"])
def test_what_is_excluded_stays_so(board: Path, named: str) -> None:
    """As a withdrawn agent it would hold the record, and who set one before would be listed no more."""
    digest = Checkout(board).find(board / "submissions/ada/net").folder.digest
    rule = f"exclusions:\n  - {{login: ADA{named.replace('DIGEST', digest)}, {EXCLUDED}}}\n"
    (board / "moderation.yml").write_text(rule)
    git(board, "commit", "-qam", "Exclude")
    before = records_and_excluded(board)
    assert before == ({"Bob", "eve"}, ["cheated"])

    code, _, err = run(board, "erase", "ada", *PUSH, account("ada"))

    assert code == 0, err
    git(board, "add", "-A")
    git(board, "commit", "-qm", "Erase")
    assert records_and_excluded(board) == before
    assert "moderation.yml:2" in err, "the host's own line is for the host to change"


def test_a_record_stays_though_the_version_on_main_was_never_evaluated(board: Path) -> None:
    """It had no place to keep, and kept its folder from being listed as withdrawn, with the earlier versions' records."""
    (board / "submissions/ada/net/agent.py").write_text(SOURCE.format("newer"))
    git(board, "commit", "-qam", "Newer")
    before, _ = records_and_excluded(board)
    assert "ada" in before

    code, _, err = run(board, "erase", "ada", *PUSH, account("ada"))

    assert code == 0, err
    assert not parse_moderation((board / "moderation.yml").read_bytes()).erasures
    git(board, "add", "-A")
    git(board, "commit", "-qm", "Erase")
    after, _ = records_and_excluded(board)
    assert (len(after), before - after, "erased_" in str(after)) == (len(before), {"ada"}, True)


def test_a_rating_that_differs_in_its_last_bits_has_not_moved() -> None:
    """Of equal players: sums in the order of other names left 2e-14 in place of 3e-14, and the erasure was refused."""
    ann, bobby = make.entry("ann"), make.entry("bobby")
    on = make.game()
    duels = [make.duel(ann, on=on), make.duel(bobby, on=on), make.duel(ann, bobby, "wl", on=on)]
    standings = build_standings(make.challenge(on), [ann, bobby], [], official=True, duels=duels)

    def rated(elo: float) -> Standings:
        (game,) = standings.games
        rows = tuple(replace(row, rating=replace(row.rating, elo=elo)) for row in game.rows)
        return replace(standings, games=(replace(game, rows=rows),))

    assert ranks_of_others(rated(2.4e-14), "ann") == ranks_of_others(rated(-1.8e-14), "ann")
    assert ranks_of_others(rated(1e-3), "ann") != ranks_of_others(rated(0.0), "ann")


def records_and_excluded(root: Path) -> tuple[set[str], list[str]]:
    """Who set a record, and why entries are excluded."""
    shown = recorded_input(Checkout(root), official=True)
    table = rank_recorded(shown, official=True)
    records = LeaderboardHistory(table, shown.results).best_scores(table.tasks[0])
    former = former_entries(shown.entries, shown.results, shown.moderation, "2026")
    return {record.login for record in records}, [each.exclusion.why if each.exclusion else "" for each in former]


@pytest.mark.attack(
    "erasure_after_the_end", family="people", outcome="refused until the next season begins",
    tries="Asks to be erased when submissions have ended, whose agents are those of then: it is drawn again, too.",
)  # fmt: skip
def test_whose_version_stands_at_the_end_is_erased_in_the_next_season(board: Path) -> None:
    (board / "challenge.yml").write_text(BOARD.replace("season: '2026'\n", "season: '2026'\nfinal: '2026'\n"))
    git(board, "commit", "-qam", "final")
    for login, score in (("ada", 400.0), ("eve", 200.0)):
        record(board, login, "net", score, beacon=git(board, "rev-parse", "HEAD"))
    before = everything(board)

    code, _, err = run(board, "erase", "ada", *PUSH, account("ada"))

    assert (code, err.count("\n")) == (2, 1), err
    assert "nothing was changed" in err
    assert everything(board) == before
    (board / "challenge.yml").write_text(BOARD.replace("'2026'", "'2027'"))
    assert run(board, "erase", "ada")[0] == 0


ANONYMOUS = "people: {anonymous_until: 2100-01-01T00:00:00Z}\n"


@pytest.mark.attack(
    "erasure_while_names_are_hidden", family="people", outcome="the place stays taken",
    tries="Asks to be erased while the board shows no names, so that no entry has that login and nothing keeps its place.",
)  # fmt: skip
def test_whose_name_is_hidden_keeps_the_place(board: Path) -> None:
    before = {row[0]: row[2] for row in ranks(board)}
    (board / "challenge.yml").write_text(BOARD + ANONYMOUS)
    git(board, "commit", "-qam", "Hide names")

    code, _, err = run(board, "erase", "ada", *PUSH, account("ada"))

    assert code == 0, err
    git(board, "add", "-A")
    git(board, "commit", "-qm", "Erase")
    (board / "challenge.yml").write_text(BOARD)
    after = {row[0]: row[2] for row in ranks(board)}
    assert (after["Bob"], after["eve"]) == (before["Bob"], before["eve"])


def test_whose_name_is_hidden_and_who_stands_at_the_end_is_refused(board: Path) -> None:
    (board / "challenge.yml").write_text(BOARD.replace("season: '2026'\n", "season: '2026'\nfinal: '2026'\n") + ANONYMOUS)
    git(board, "commit", "-qam", "final")
    before = everything(board)

    code, _, err = run(board, "erase", "ada", *PUSH, account("ada"))

    assert (code, "nothing was changed" in err) == (2, True), err
    assert everything(board) == before


def test_a_rank_that_would_move_on_a_hidden_board_is_seen(board: Path) -> None:
    """Ada and Bob hold one place; without her he would hold another one beside hers."""
    hidden = "phases: [{id: all, name: All, public_from: 2100-01-01T00:00:00Z, tasks: [CartPole-v1]}]\n"
    for own, other in (("ada", "Bob"), ("Bob", "ada")):
        manifest = board / f"submissions/{own}/net/submission.yml"
        manifest.write_text(manifest.read_text() + f"authors: ['@{other}']\n")
    (board / "challenge.yml").write_text(BOARD + hidden)
    git(board, "commit", "-qam", "A team on a hidden board")

    before = everything(board)
    code, _, err = run(board, "erase", "ada", *PUSH, account("ada"))

    assert (code, "would move" in err) == (2, True), err
    assert everything(board) == before


def test_a_file_that_takes_no_entry_is_said_before_anything_changes(board: Path) -> None:
    (board / "moderation.yml").write_text("{exclusions: []}\n")
    before = everything(board)

    code, _, err = run(board, "erase", "bob", *PUSH, account("bob"))

    assert (code, err.count("\n")) == (2, 1), err
    assert everything(board) == before
    assert "bob" in git(board.parent / "origin.git", "ls-tree", "-r", "--name-only", "results").casefold()


@pytest.mark.attack(
    "erasure_by_a_link", family="people", outcome="the link is left, what it leads to stays",
    tries="Makes the folder of one's login a link to somebody else's, and asks to be erased.",
)  # fmt: skip
def test_a_link_leads_erasure_nowhere(board: Path) -> None:
    (board / "submissions" / "mallory").symlink_to("ada")
    record(board, "mallory", "net", 100.0)

    run(board, "erase", "mallory")
    assert (board / "submissions" / "ada" / "net" / "agent.py").exists()
    assert [row[0] for row in ranks(board)].count("ada") == 1


@pytest.mark.attack(
    "return_under_the_name_of_nobody", family="people", outcome="GitHub gives no such login, and the entry is a new version",
    tries="Enters under the very name that stands for an erased leader, to take its place.",
)  # fmt: skip
def test_the_name_of_nobody_brings_no_score(board: Path) -> None:
    assert run(board, "erase", "ada")[0] == 0
    [erased] = parse_moderation((board / "moderation.yml").read_bytes()).erasures
    before = ranks(board)
    put(board / "submissions" / erased.login / "mine", SOURCE.format("mine"), "all")

    assert "_" in erased.login
    assert ranks(board) == before


def test_failed_attempts_beside_a_result_go_too(board: Path) -> None:
    sound = next(board.glob("results/*/Bob/net/*.json"))
    document = json.loads(sound.read_text())
    failed = {"verdict": "internal_error", "message": "Bob was here", "returns": [], "lengths": [], "trace_sha256": None}
    tried = sound.with_name(f"{sound.stem}.try1.json")
    tried.write_bytes(Result.with_self_hash({**document, **failed, "metrics": {}}).serialised())

    assert run(board, "erase", "Bob")[0] == 0

    left = [path.name for path in board.glob("results/*/*/*/*.try1.json")]
    assert left == [tried.name]
    assert "bob" not in everything(board).casefold()
    assert run(board, "rank", "--official")[0] == 0


def name_weights(root: Path, login: str, *hashes: str) -> None:
    """The manifest of a login's agent names weights with these hashes."""
    named = [{"file": f"{n}.npz", "url": "https://x.example/w", "sha256": one, "bytes": 1} for n, one in enumerate(hashes)]
    text = f"name: Net\nalgorithm: x\nweights: {json.dumps(named)}\n"
    (root / f"submissions/{login}/net/submission.yml").write_text(text)


def keep_copies(root: Path, *hashes: str) -> None:
    """The branch of weights on the origin."""
    copies = root.parent / "weights"
    git(root.parent, "init", "-qb", "weights", str(copies))
    for name in hashes:
        (copies / name).mkdir()
        (copies / name / "0").write_text("w")
    git(copies, "add", "-A")
    git(copies, "commit", "-qm", "weights")
    git(copies, "push", "-q", str(root.parent / "origin.git"), "HEAD")


def test_the_boards_copies_of_weights_go_but_for_those_of_others(board: Path) -> None:
    own, shared, older = ("a" * 64, "b" * 64, "c" * 64)
    for login, hashes in (("Bob", (own, shared)), ("ada", (shared,))):
        name_weights(board, login, *hashes)
        record(board, login, "net", 300.0)
    keep_copies(board, own, shared, older)

    code, _, err = run(board, "erase", "bob", *PUSH, account("bob"))

    assert code == 0, err
    assert git(board.parent / "origin.git", "ls-tree", "--name-only", "weights").splitlines() == [shared, older]
    assert "'weights'" in err


@pytest.mark.attack(
    "erasure_that_takes_a_rivals_weights", family="people", outcome="they stay",
    tries="Names the weights of a rival's version that stood at the end, once main has another one, and asks to be erased.",
)  # fmt: skip
def test_weights_of_what_stood_at_the_end_stay(board: Path) -> None:
    rivals = "a" * 64
    name_weights(board, "ada", rivals)
    (board / "challenge.yml").write_text(BOARD.replace("season: '2026'\n", "season: '2026'\nfinal: '2026'\n"))
    git(board, "rm", "-rqf", "submissions/eve")
    git(board, "commit", "-qam", "final")
    name_weights(board, "ada")
    put(board / "submissions" / "eve" / "net", SOURCE.format("eve net"), "all")
    name_weights(board, "eve", rivals)
    git(board, "add", "-A")
    git(board, "commit", "-qm", "later")
    keep_copies(board, rivals)

    code, _, err = run(board, "erase", "eve", *PUSH, account("eve"))

    assert code == 0, err
    assert git(board.parent / "origin.git", "ls-tree", "--name-only", "weights").splitlines() == [rivals]


def test_what_a_script_said_goes_and_its_episodes_stay() -> None:
    own = make.entry("bob")
    said = {"returns": [1.0], "lengths": [5], "claimed": 1.0, "notices": ["Bob asked for another environment"]}
    before = make.result(own, [1.0], script=said)

    after = Renaming(login="bob", mark="erased_00000000", agents={own.agent: "agent-01"}).result(before)

    assert "bob" not in after.serialised().decode().casefold()
    assert before.script
    assert after.script == before.script.without_words()
    assert after.self_sha256 == after.self_hash()


def test_whom_a_team_mate_names_is_said(board: Path) -> None:
    """The folder of somebody else is theirs to change; erase names the line instead of leaving it unseen."""
    manifest = board / "submissions/ada/net/submission.yml"
    manifest.write_text(manifest.read_text() + "authors: ['@Bob', '@ada']\n")
    git(board, "commit", "-qam", "A team")

    code, _, err = run(board, "erase", "bob")

    assert code == 0, err
    assert manifest.read_text().endswith("authors: ['@Bob', '@ada']\n")
    assert "change by hand those that mean this person: submissions/ada/net/submission.yml:" in err


@pytest.mark.parametrize("numbers", [(1, 2), (2,), (1, 3)])
def test_failed_attempts_of_duels_go_too(board: Path, numbers: tuple[int, ...]) -> None:
    """Also those whose number another attempt does not come before, since that one was removed."""
    root, branch = board, board.parent / "results"
    failed = duelled(RANDOM_PLAYER, FIRST_LEGAL, TICTACTOE)
    sides = [
        side.model_copy(update={"login": login, "agent": "net", "log_tail": f"{login} was here"})
        for side, login in zip(failed.players, ("ada", "Bob"), strict=True)
    ]
    document = {
        **failed.document(), "players": [side.model_dump(mode="json") for side in sides], "verdict": "internal_error",
        "message": "Bob", "matches": [], "moves": None, "milliseconds": None,
    }  # fmt: skip
    tried = Duel.with_self_hash(document)
    for number in numbers:
        for place in (root / "results", branch):
            path = place / f"{tried.path()}.try{number}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(tried.serialised())
    git(branch, "add", "-A")
    git(branch, "commit", "-qm", "tries")
    git(branch, "push", "-q", str(board.parent / "origin.git"), "HEAD")

    assert run(board, "erase", "bob", *PUSH, account("bob"))[0] == 0

    assert "bob" not in everything(board).casefold()
    listed = git(board.parent / "origin.git", "ls-tree", "-r", "--name-only", "results").splitlines()
    assert not [path for path in listed if "bob" in path.casefold()]
    assert len([path for path in listed if ".try" in path and "erased_" in path]) >= (numbers[0] == 1)
