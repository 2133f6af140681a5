"""An official board with a game: validations, then pairs, round after round until nothing is wanted; all of it verified."""

import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.deterministic import pinned_variables
from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.host.loading.yaml_loader import parse_challenge
from evaluator.host.verification import VerificationStatus
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import parse_duel
from evaluator.model.records.stored_record import Tier
from evaluator.model.records.verdict import Verdict
from scripts.git.data_branches import read_recorded, results_commit
from scripts.github.official import check_shards, plan_shards
from scripts.github.official.github_commits import GitHubCommit
from scripts.github.official.round_work import RoundWork, read_round_work
from scripts.github.official.shard_artifacts import MAX_RESULT_BYTES
from scripts.repository.layout import RESULTS_BRANCH
from tests.scripts.github import rounds
from tests.scripts.github.games import (
    CHALLENGE,
    CHEATS,
    FIRST,
    MIDDLE,
    TIC,
    Change,
    entered,
    example,
    forge_duel,
    game_board,
)
from tests.scripts.github.remotes import Clone, git, origin_branch
from tests.scripts.github.rounds import RUN, Round, open_run, plan_round, whole_round


@pytest.fixture(autouse=True)
def _pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in pinned_variables().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def board(tmp_path: Path) -> Clone:
    made = game_board(tmp_path / "board")
    made.commit(entered("alice", MIDDLE))
    made.commit(entered("eve", CHEATS))
    made.push()
    return made


def names(clone: Clone) -> set[str]:
    """Who met whom, as the branch has it."""
    return {path.split("/")[1] for path in origin_branch(clone, RESULTS_BRANCH)}


def asked(work: RoundWork) -> set[str]:
    return {"--".join(f"{e.login}+{e.agent}" for e in item.entries) for item in work.items}  # type: ignore[union-attr]


VALIDATED = {"local+first--local+first", "local+last--local+last", "alice+a--alice+a", "eve+a--eve+a"}
PAIRS = {"alice+a--local+first", "alice+a--local+last", "local+first--local+last"}


def test_rounds_go_on_from_validations_to_pairs_until_nothing_is_wanted(board: Clone, tmp_path: Path) -> None:
    run = open_run(board)
    first = whole_round(board, tmp_path / "1")
    assert names(board) == VALIDATED
    assert plan_shards.is_more_wanted(run, datetime.now(UTC))

    second = whole_round(board, tmp_path / "2")
    assert names(board) == VALIDATED | PAIRS
    assert not plan_shards.is_more_wanted(run, datetime.now(UTC))
    assert plan_round(board, tmp_path / "3").planned.count == 0
    assert (len(first.recorded), len(second.recorded)) == (4, 3)

    origin = board.path.parent / "origin.git"
    subjects = set(git(origin, "log", "--format=%B", RESULTS_BRANCH).splitlines())
    assert {"record: alice/a validated on tictactoe", "record: eve/a refused on tictactoe"} <= subjects
    assert any(line.startswith("record: alice/a v local/first +") for line in subjects)


def test_a_newcomer_costs_its_own_duels_only(board: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2):
        whole_round(board, tmp_path / f"before-{number}")
    before = names(board)
    board.commit(entered("zoe", FIRST + b"# hers\n"))
    board.push()
    facts = GitHubCommit(is_signed_by_github=True, authors={"zoe": 12})
    monkeypatch.setattr(rounds, "answers", lambda signed: lambda shas: dict.fromkeys(shas, facts))
    counts = [len(whole_round(board, tmp_path / f"after-{number}").recorded) for number in range(3)]

    assert counts == [1, 3, 0]
    fresh = names(board) - before
    assert fresh == {"zoe+a--zoe+a", "alice+a--zoe+a", "local+first--zoe+a", "local+last--zoe+a"}


def test_what_is_recorded_is_official_signed_and_replays(board: Clone, tmp_path: Path) -> None:
    for number in range(2):
        whole_round(board, tmp_path / str(number))
    game = open_game(parse_challenge(CHALLENGE).tasks[0])
    files = origin_branch(board, RESULTS_BRANCH)
    duels = {path.split("/")[1]: parse_duel(content) for path, content in files.items()}

    assert {verify_duel(path, content, game).status for path, content in files.items()} == {VerificationStatus.VERIFIED}
    assert {(duel.tier, duel.beacon_verified, duel.provenance.run_url) for duel in duels.values()} == {
        (Tier.OFFICIAL, True, RUN)
    }
    ids = {player.login: player.login_id for duel in duels.values() for player in duel.players}
    assert ids == {"alice": 11, "eve": None, "local": None}
    assert all(path == parse_duel(content).path() + ".json" for path, content in files.items())


def test_the_seeds_come_from_whoever_came_later(board: Clone, tmp_path: Path) -> None:
    newest, alice, first = git(board.path, "rev-list", "--first-parent", "HEAD").splitlines()
    works = []
    for number in range(2):
        works.append(read_round_work(open_run(board), board.head, results_commit(board.repository)))
        whole_round(board, tmp_path / str(number))
    beacons = {
        "--".join(f"{e.login}+{e.agent}" for e in item.entries): item.wanted.beacon  # type: ignore[union-attr]
        for work in works
        for item in work.items
    }

    assert beacons == {
        "local+first--local+first": first, "local+last--local+last": first, "local+first--local+last": first,
        "alice+a--alice+a": alice, "alice+a--local+first": alice, "alice+a--local+last": alice, "eve+a--eve+a": newest,
    }  # fmt: skip


def test_only_named_examples_are_part_of_the_board(board: Clone, tmp_path: Path) -> None:
    board.commit({"submissions/local/x/agent.py": FIRST, "submissions/local/x/submission.yml": b"name: X\nalgorithm: x\n"})
    assert asked(read_round_work(open_run(board), board.head, "")) == VALIDATED

    named = CHALLENGE.replace(b"[first, last]", b"[other, alice/a]")
    board.commit({"challenge.yml": named})
    work = read_round_work(open_run(board), board.head, "")
    assert asked(work) == {"local+other--local+other", "alice+a--alice+a", "eve+a--eve+a"}
    assert {e.agent for item in work.items for e in item.entries if e.baseline} == {"other", "a"}  # type: ignore[union-attr]


def test_a_changed_example_is_another_player_with_a_beacon_of_its_own(board: Clone) -> None:
    changed = board.commit(example("first", FIRST + b"# 2\n"))
    work = read_round_work(open_run(board), board.head, "")

    commits = {agent: commit for (_, agent, _), commit in work.version_commits.items()}
    assert commits["first"] == changed
    assert commits["last"] != changed


def test_nothing_that_a_player_says_is_in_the_log(board: Clone, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole_round(board, tmp_path / "1")
    printed = "".join(capsys.readouterr())
    (refused,) = [path for path in origin_branch(board, RESULTS_BRANCH) if "eve" in path]

    assert "SECRET" not in printed
    assert "eve/a on tictactoe: refused" in printed
    assert b"SECRET" in origin_branch(board, RESULTS_BRANCH)[refused]


def test_planning_reads_the_branch_without_logs_and_times(board: Clone, tmp_path: Path) -> None:
    whole_round(board, tmp_path / "1")
    results, duels = read_recorded(board.repository, results_commit(board.repository))

    assert (results, len(duels)) == ([], 4)
    assert all(duel.milliseconds is None and not duel.players[0].log_tail for duel in duels)


# What a shard may hand in


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Round:
    """A round of validations, then one of pairs that is played and not published."""
    place = tmp_path_factory.mktemp("games")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in pinned_variables().items():
            patch.setenv(name, value)
        board = game_board(place / "board", entered("alice", MIDDLE))
        whole_round(board, place / "1")
        begun = plan_round(board, place / "2")
        for shard in begun.planned.shards:
            begun.evaluate(shard)
    return begun


@pytest.fixture
def begun(played: Round, tmp_path: Path) -> Round:
    shutil.copytree(played.clone.path.parent, tmp_path / "board")
    shutil.copytree(played.place, tmp_path / "in")
    clone = Clone(tmp_path / "board" / "clone")
    git(clone.path, "remote", "set-url", "origin", str(tmp_path / "board" / "origin.git"))
    return Round(clone, open_run(clone), played.planned, tmp_path / "in")


def holder(begun: Round, pair: str) -> Path:
    """The shard that played a pair."""
    return next(path for path in sorted(begun.place.glob("shard-*")) if list((path / "results" / TIC).glob(pair)))


def player(side: int, **fields: Any) -> Change:
    def change(document: dict[str, Any]) -> dict[str, Any]:
        players = [{**one, **fields} if index == side else one for index, one in enumerate(document["players"])]
        return document | {"players": players}

    return change


def matches(**fields: Any) -> Change:
    return lambda d: d | {"matches": [{**d["matches"][0], **fields}, *d["matches"][1:]]}


FORGED: list[tuple[Change, str]] = [
    (player(0, login="aaron"), "player 1"),
    (player(1, agent="zz"), "player 2"),
    (player(0, submission_digest="0" * 64), "player 1"),
    (player(0, login_id=12), "player 1"),
    (lambda d: d | {"beacon": "0" * 40}, "beacon"),
    (lambda d: d | {"beacon": "preview"}, "beacon"),
    (lambda d: d | {"beacon_verified": True}, "beacon_verified"),
    (lambda d: d | {"class": "local"}, "tier"),
    (lambda d: d | {"sandbox": "docker"}, "it was played in docker, not in process"),
    (lambda d: d | {"season": "2"}, "season"),
    (lambda d: d | {"key": "0" * 64}, "key"),
    (lambda d: d | {"task_digest": "0" * 64}, "task_digest"),
    (lambda d: d | {"runtime_digest": "0" * 64}, "runtime_digest"),
    (lambda d: d | {"protocol": d["protocol"] + 1}, "protocol"),
    (lambda d: d | {"limits": {**d["limits"], "memory_mib": 4096}}, "limits"),
    (lambda d: d | {"provenance": {**d["provenance"], "commit": "0" * 40}}, "provenance"),
    (lambda d: d | {"provenance": {**d["provenance"], "evaluated_at": "2020-01-01T00:00:00Z"}}, "evaluated_at"),
    (lambda d: d | {"versions": {str(n): "x" for n in range(51)}}, "versions"),
    (lambda d: d | {"seeds": ["0" * 32] * 2}, "seeds"),
    (lambda d: d | {"seeds": d["seeds"] * 2, "matches": d["matches"] * 2}, "seeds"),
    (lambda d: d | {"seeds": d["seeds"][:1], "matches": d["matches"][:2]}, "number of matches"),
    (matches(checksum="0" * 32), "match 0"),
    (matches(scores=[1.0, 1.0]), "match 0"),
    (matches(end="late", offenders=[0], winner=1), "match 0"),
    (matches(end="illegal", offenders=[1], winner=0, refused=4), "match 0"),
    (lambda d: d | {"moves": {**d["moves"], "data": d["milliseconds"]["data"]}}, ""),
    (lambda d: d | {"moves": {"dtype": "u1", "shape": [1 << 20], "data": d["moves"]["data"]}}, "moves"),
]


@pytest.mark.parametrize(("change", "fault"), FORGED)
def test_a_forged_duel_is_refused_and_counted_as_a_failed_try(begun: Round, change: Change, fault: str) -> None:
    pair = "alice+a--local+first"
    forge_duel(holder(begun, pair), pair, change)
    checked = begun.check()

    failed = [record for record in checked.accepted if record.verdict is Verdict.INTERNAL_ERROR]
    assert [isinstance(record, Duel) and record.players[0].login for record in failed] == ["alice"]
    assert (len(checked.accepted), len(checked.refused)) == (3, 1)
    assert fault in checked.refused[0]
    published = begun.record()
    assert len(published.recorded) == 3
    assert [path for path in origin_branch(begun.clone, RESULTS_BRANCH) if ".try1." in path and pair in path]


def test_after_three_tries_a_duel_is_given_up_and_the_rounds_rest(begun: Round, tmp_path: Path) -> None:
    pair = "alice+a--local+first"
    current = begun
    for number in range(3):
        if number:
            time.sleep(1.1)  # records know whole seconds, and a try of the same bytes is no further try
            current = plan_round(begun.clone, tmp_path / f"try-{number}")
            assert current.planned.count == 1
            current.evaluate()
        forge_duel(holder(current, pair), pair, lambda d: d | {"season": "2"})
        current.check()
        current.record()

    assert [path for path in origin_branch(begun.clone, RESULTS_BRANCH) if ".try3." in path and pair in path]
    assert not plan_shards.is_more_wanted(begun.run, datetime.now(UTC))


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[" * 100_000, b'{"kind": "duel"}'])
def test_a_file_that_is_no_duel_is_refused(begun: Round, content: bytes) -> None:
    pair = "alice+a--local+first"
    next((holder(begun, pair) / "results" / TIC / pair).iterdir()).write_bytes(content)
    checked = begun.check()

    assert (len(checked.accepted), len(checked.refused)) == (3, 1)


def test_a_duel_in_anothers_place_is_refused(begun: Round) -> None:
    paths = [next(begun.place.glob(f"shard-*/results/{TIC}/{pair}/*.json")) for pair in sorted(PAIRS)[:2]]
    first, second = (path.read_bytes() for path in paths)
    paths[0].write_bytes(second)
    paths[1].write_bytes(first)

    assert len(begun.check().refused) == 2


@pytest.mark.parametrize(
    "path",
    [
        f"results/{TIC}/alice+a--bob+b/0123456789ab.json",  # a duel nobody asked for
        f"results/{TIC}/alice/a/0123456789ab.json",  # an evaluation where a duel was asked
        f"traces/{TIC}/alice+a--local+first/0123456789ab.trace.json",  # duels have no traces
        f"results/{TIC}/../../../outside.json",
    ],
)
def test_a_file_that_was_not_asked_is_told_and_never_recorded(begun: Round, path: str) -> None:
    folder = holder(begun, "alice+a--local+first")
    strange = folder / path
    strange.parent.mkdir(parents=True, exist_ok=True)
    if ".." in path:
        strange = folder / "results" / "outside.json"
    strange.write_text("{}")
    checked = begun.check()

    assert len(checked.refused) == 1
    assert "were not asked" in checked.refused[0]
    assert checked.lost == ()
    assert len(checked.accepted) == len(begun.record().recorded) == 3
    assert not any("0123456789ab" in name or "outside" in name for name in origin_branch(begun.clone, RESULTS_BRANCH))


def test_too_large_a_duel_costs_that_duel_alone(begun: Round) -> None:
    pair = "alice+a--local+first"
    path = next((holder(begun, pair) / "results" / TIC / pair).iterdir())
    path.write_bytes(b" " * (MAX_RESULT_BYTES + 1))

    checked = begun.check()

    assert "too large" in checked.refused[0]
    assert sorted(record.verdict for record in checked.accepted) == [Verdict.INTERNAL_ERROR, Verdict.OK, Verdict.OK]


def test_the_accepted_files_are_listed_and_published_once(begun: Round) -> None:
    begun.check()
    lines = (begun.place / "accepted" / check_shards.HASH_LISTS / "0.sha256").read_text().splitlines()
    assert len(lines) == 3
    assert len(begun.record().recorded) == 3
    again = begun.record()
    assert (again.recorded, again.known) == ((), 3)
    assert len(origin_branch(begun.clone, RESULTS_BRANCH)) == 6
