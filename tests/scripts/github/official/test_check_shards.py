"""Publish believes nothing that a shard hands in, and records what is true exactly once."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.loading.yaml_loader import parse_challenge
from evaluator.model import canonical_json
from evaluator.model.records.parse import parse_result
from evaluator.model.records.result import Result
from evaluator.model.records.trace import MAX_TRACE_BYTES
from evaluator.model.records.verdict import Verdict
from leaderboard.core.store import RECORD_ENDING, TRACE_ENDING, ResultStore
from leaderboard.text.urls import traces_branch_name
from scripts.console import CommandError
from scripts.git.data_branches import export_files, read_recorded, results_commit
from scripts.github.official import check_shards, record_results
from scripts.github.official.shard_artifacts import MAX_RESULT_BYTES
from scripts.repository.checkout import Checkout
from scripts.repository.layout import RESULTS_BRANCH
from scripts.verification import verify_records
from scripts.verification.verify_records import VerificationJob, verify_jobs
from tests.scripts.github.remotes import CHALLENGE, Clone, git, origin_branch
from tests.scripts.github.rounds import ALONE, Round, forge, open_run, plan_round, play_two_agents, whole_round

CARTPOLE = "CartPole-v1"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Round:
    """A round of two shards, played; tests work on copies of its files."""
    return play_two_agents(tmp_path_factory.mktemp("played"))


@pytest.fixture
def begun(played: Round, tmp_path: Path) -> Round:
    """The played round with an origin of its own."""
    shutil.copytree(played.clone.path.parent, tmp_path / "board")
    shutil.copytree(played.place, tmp_path / "in")
    clone = Clone(tmp_path / "board" / "clone")
    git(clone.path, "remote", "set-url", "origin", str(tmp_path / "board" / "origin.git"))
    return Round(clone, open_run(clone), played.planned, tmp_path / "in")


def kept(checked: check_shards.CheckedShards) -> list[str]:
    """What was accepted as measured."""
    return sorted(f"{r.login} {r.task}" for r in checked.accepted if r.verdict is not Verdict.INTERNAL_ERROR)


ALL = ["alice CartPole-v1", "alice FrozenLake-v1", "bob CartPole-v1", "bob FrozenLake-v1"]


def test_first_use_creates_both_branches_with_one_commit_for_all_results(begun: Round) -> None:
    checked = begun.check()
    published = begun.record()
    results, traces = origin_branch(begun.clone, RESULTS_BRANCH), origin_branch(begun.clone, "traces-1")
    origin = begun.clone.path.parent / "origin.git"
    messages = [git(origin, "log", "--format=%B", branch) for branch in (RESULTS_BRANCH, "traces-1")]

    assert (kept(checked), checked.refused, checked.lost) == (ALL, (), ())
    assert (len(published.recorded), published.known) == (4, 0)
    # A commit for each result would write its task's list of folders again each time: 10,000 entries took many minutes.
    lines = sorted(f"{name} ok on {task}" for name in ("alice/a", "bob/b") for task in (CARTPOLE, "FrozenLake-v1"))
    assert messages == ["\n".join(["record: 4 results", "", *(f"record: {line}" for line in lines)])] * 2
    assert {name.removesuffix(RECORD_ENDING) for name in results} == {name.removesuffix(TRACE_ENDING) for name in traces}
    assert all(parse_result(content).path() + RECORD_ENDING == name for name, content in results.items())
    assert "challenge.yml" not in results
    assert git(origin, "rev-list", "--max-parents=0", RESULTS_BRANCH) != git(origin, "rev-list", "--max-parents=0", "main")


def test_the_list_to_attest_names_every_accepted_result_by_its_own_hash(begun: Round) -> None:
    begun.check()
    accepted = begun.place / "accepted"
    (manifest,) = (accepted / check_shards.HASH_LISTS).iterdir()
    named = dict(reversed(line.split("  ")) for line in manifest.read_text().splitlines())

    assert set(named) == {str(path.relative_to(accepted)) for path in (accepted / "results").rglob("*.json")}
    assert len(named) == 4
    assert all(hashlib.sha256((accepted / name).read_bytes()).hexdigest() == record for name, record in named.items())
    assert all(parse_result((accepted / name).read_bytes()).trace_sha256 for name in named)


def test_publishing_again_changes_nothing(begun: Round) -> None:
    begun.check()
    begun.record()
    tip = results_commit(begun.clone.repository)
    again = begun.record()

    assert (again.recorded, again.known) == ((), 4)
    assert results_commit(begun.clone.repository) == tip


def test_what_is_recorded_already_wins(begun: Round) -> None:
    begun.check()
    begun.record()
    before = origin_branch(begun.clone, RESULTS_BRANCH), origin_branch(begun.clone, "traces-1")
    shutil.rmtree(begun.folder(0))
    begun.evaluate(0)
    begun.check()
    again = begun.record()

    assert (len(again.recorded), again.known) == (0, 4)
    assert (origin_branch(begun.clone, RESULTS_BRANCH), origin_branch(begun.clone, "traces-1")) == before


def test_results_are_read_and_exported_from_the_branch(begun: Round, tmp_path: Path) -> None:
    assert export_files(begun.clone.repository, "", tmp_path / "none") == 0
    begun.check()
    begun.record()
    tip = results_commit(begun.clone.repository)
    written = export_files(begun.clone.repository, tip, tmp_path / "results")
    store = ResultStore(results=tmp_path / "results", traces=tmp_path / "traces")

    assert written == 4
    assert len(store.read()[0]) == len(read_recorded(begun.clone.repository, tip)[0]) == 4
    assert not begun.clone.repository.is_shallow()


Change = Callable[[dict[str, Any]], dict[str, Any]]


def an_hour_ago() -> str:
    return f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda d: d | {"returns": [500.0] * 3}, "returns"),
        (lambda d: d | {"returns": [d["returns"][0] + 1e-9, *d["returns"][1:]]}, "returns"),
        (lambda d: d | {"seeds": ["0" * 32] * 3}, "seed"),
        (lambda d: d | {"seeds": d["seeds"][:2], "returns": d["returns"][:2], "lengths": d["lengths"][:2]}, "episodes"),
        (lambda d: d | {"beacon": "0" * 40}, "beacon"),
        (lambda d: d | {"beacon": "preview"}, "beacon"),
        (lambda d: d | {"beacon_verified": True}, "beacon_verified"),
        (lambda d: d | {"login_id": 12}, "login_id"),
        pytest.param(
            lambda d: d | {"erased_sha256": "0" * 64},
            "erased_sha256",
            marks=pytest.mark.attack(
                "record_that_says_it_was_erased",
                family="people",
                outcome="refused: nothing new was erased",
                tries="Hands in a record that says its owner was erased, so that no history is asked for.",
            ),
        ),
        (lambda d: d | {"login": "bob" if d["login"] == "alice" else "alice"}, "login"),
        (lambda d: d | {"class": "local"}, "tier"),
        (lambda d: d | {"sandbox": "docker"}, "it was played in docker, not in process"),
        (lambda d: d | {"limits": {**d["limits"], "memory_mib": 4096}}, "limits"),
        (lambda d: d | {"season": "2"}, "season"),
        (lambda d: d | {"key": "0" * 64}, "key"),
        (lambda d: d | {"submission_digest": "0" * 64}, "submission_digest"),
        (lambda d: d | {"runtime_digest": "0" * 64}, "runtime_digest"),
        (lambda d: d | {"protocol": d["protocol"] + 1}, "protocol"),
        (lambda d: d | {"task_digest": "0" * 64}, "task_digest"),
        (lambda d: d | {"trace_sha256": "0" * 64}, "trace"),
        (lambda d: d | {"trace_sha256": None}, "trace"),
        (lambda d: d | {"provenance": {**d["provenance"], "commit": "0" * 40}}, "provenance"),
        (lambda d: d | {"provenance": {**d["provenance"], "run_url": "https://evil.example"}}, "provenance"),
        (lambda d: d | {"provenance": {**d["provenance"], "evaluated_at": "2020-01-01T00:00:00Z"}}, "evaluated_at"),
        pytest.param(
            lambda d: d | {"provenance": {**d["provenance"], "evaluated_at": an_hour_ago()}},
            "evaluated_at",
            marks=pytest.mark.attack(
                "dates_its_results_before_its_run",
                family="people",
                outcome="refused: the run was not planned yet",
                tries="Dates the results of a machine that was taken over out of the span of a quarantine.",
            ),
        ),
        (lambda d: d | {"versions": {str(n): "x" for n in range(51)}}, "versions"),
    ],
)
def test_a_forged_value_is_refused_and_counted_as_a_failed_try(begun: Round, change: Change, fault: str) -> None:
    forge(begun.folder(0), CARTPOLE, change)
    checked = begun.check()

    assert len(kept(checked)) == 3
    assert len(checked.refused) == 1
    assert fault in checked.refused[0]
    assert [r.verdict for r in checked.accepted if f"{r.login} {r.task}" not in kept(checked)] == [Verdict.INTERNAL_ERROR]


def test_nothing_that_the_process_sandbox_played_is_published_as_official(begun: Round) -> None:
    """The rounds of these tests trust it; a leaderboard's own never do."""
    checked = begun.check(run=replace(begun.run, sandbox="docker"))

    assert kept(checked) == []
    assert len(checked.refused) == 4
    assert all("it was played in process, not in docker" in line for line in checked.refused)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b'"returns"', b'"reTurns"'),
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data + b" ",
        lambda data: data.replace(b'"schema": 2', b'"schema": 2,\n "schema": 2'),
        lambda data: data.replace(b'"lengths": [', b'"lengths": [NaN,'),
        lambda data: b"",
        lambda data: b"\xff",
        lambda data: b"[" * 100_000,
    ],
)
def test_a_file_that_is_not_byte_for_byte_a_result_is_refused(begun: Round, change: Callable[[bytes], bytes]) -> None:
    path = next(begun.folder(0).glob(f"results/*/*/*/*{RECORD_ENDING}"))
    path.write_bytes(change(path.read_bytes()))
    checked = begun.check()

    assert len(kept(checked)) == 3
    assert len(checked.refused) == 1


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[" * 100_000])
def test_a_missing_or_broken_trace_is_refused(begun: Round, content: bytes | None) -> None:
    path = next(begun.folder(0).glob(f"traces/*/*/*/*{TRACE_ENDING}"))
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    assert len(kept(begun.check())) == 3


@pytest.mark.attack(
    "result_of_another_agent", family="bot", outcome="refused",
    tries="Hands in a better agent's result as one's own.",
)  # fmt: skip
def test_another_agents_result_in_ones_place_is_refused(begun: Round) -> None:
    """Both are true results of this round; only each in its own shard and path."""
    first, second = (next(begun.folder(n).glob(f"results/*/*/*/*{RECORD_ENDING}")) for n in (0, 1))
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    checked = begun.check()

    assert len(kept(checked)) == 2
    assert len(checked.refused) == 2


@pytest.mark.attack(
    "shards_swapped", family="bot", outcome="refused",
    tries="Hands in the artifact of another shard of the official run.",
)  # fmt: skip
def test_swapped_shards_are_refused(begun: Round) -> None:
    begun.folder(0).rename(begun.place / "x")
    begun.folder(1).rename(begun.folder(0))
    (begun.place / "x").rename(begun.folder(1))
    checked = begun.check()

    assert (kept(checked), checked.lost) == ([], (0, 1))
    assert "not what shard 0 of this round was asked" in checked.refused[0]


def test_a_doubled_shard_is_refused_and_the_others_count(begun: Round) -> None:
    shutil.copytree(begun.folder(0), begun.place / "other" / "shard-0")
    checked = begun.check(begun.place, begun.place / "other")

    assert checked.lost == (0,)
    assert len(kept(checked)) == 2
    assert "handed in twice" in checked.refused[0]


def test_a_missing_shard_costs_only_itself_and_the_next_round_plays_it(begun: Round, tmp_path: Path) -> None:
    shutil.rmtree(begun.folder(1))
    checked = begun.check()
    begun.record()
    following = plan_round(begun.clone, tmp_path / "next")
    again = whole_round(begun.clone, tmp_path / "again")

    assert checked.lost == (1,)
    assert (len(kept(checked)), following.planned.count, len(again.recorded)) == (2, 2, 2)
    assert len(origin_branch(begun.clone, RESULTS_BRANCH)) == 4


def test_a_shard_beyond_the_round_and_strange_folders_are_refused(begun: Round) -> None:
    shutil.copytree(begun.folder(0), begun.place / "shard-7")
    (begun.place / "junk").mkdir()
    checked = begun.check()

    assert kept(checked) == ALL
    assert checked.refused == ("shard 7: there are 2 shards in this round",)


@pytest.mark.attack(
    "shard_of_another_run", family="bot", outcome="refused whole",
    tries="Replays the artifact of another run into the official one.",
)  # fmt: skip
@pytest.mark.parametrize(
    "spoil",
    [
        lambda f: ((f / "shard.json").unlink(), (f / "shard.json").symlink_to("/etc/passwd")),
        lambda f: ((f / "shard.json").unlink(), (f / "shard.json").mkdir()),
        lambda f: ((f / "shard.json").unlink(), os.mkfifo(f / "shard.json")),
        lambda f: os.truncate(f / "shard.json", MAX_RESULT_BYTES + 1),
        lambda f: (f / "shard.json").unlink(),
        lambda f: (f / "shard.json").write_bytes(b"{}"),
        lambda f: (f / "shard.json").write_bytes(b"[" * 100_000),
        lambda f: (f / "shard.json").write_bytes((f / "shard.json").read_bytes().replace(b'"shard": 0', b'"shard": 1')),
        lambda f: (f / "shard.json").write_bytes((f / "shard.json").read_bytes().replace(b'"shards": 2', b'"shards": 3')),
        lambda f: (f / "shard.json").write_bytes((f / "shard.json").read_bytes().replace(b'"sha": "', b'"sha": "0')),
    ],
)
def test_a_shard_without_its_own_claim_is_refused_whole(begun: Round, spoil: Callable[[Path], object]) -> None:
    spoil(begun.folder(0))
    checked = begun.check()

    assert checked.lost == (0,)
    assert len(kept(checked)) == 2
    assert len(checked.refused) == 1


def test_a_shards_files_without_its_folder_are_refused_aloud(begun: Round) -> None:
    """As one artifact alone is unpacked: whose it is only the folder's name could tell, which the workflow gives."""
    checked = begun.check(begun.folder(0).rename(begun.place / "shards"))

    assert (kept(checked), checked.lost) == ([], (0, 1))
    assert checked.refused == ("shards: holds a shard's files, but its name is not 'shard-' and a number",)


@pytest.mark.parametrize(
    "add",
    [
        lambda f: (f / "extra.txt").write_text("x"),
        lambda f: (f / "results" / "evil.json").write_text("{}"),
        lambda f: (f / "results" / "link").symlink_to("/etc"),
        lambda f: (f / "results" / ("x" * 100 + ".json")).write_text("{}"),
        lambda f: (f / "results" / CARTPOLE / "m.json").mkdir(),
        lambda f: os.mkfifo(f / "pipe"),
        lambda f: Path(os.fsdecode(os.fsencode(f) + b"/\xff\xfe.json")).write_text("{}"),
        lambda f: nested(f, 900),
    ],
    ids=["file", "result", "link", "long-name", "folder", "pipe", "not-utf-8", "deep"],
)
def test_what_no_shard_writes_is_told_and_costs_nothing(begun: Round, add: Callable[[Path], object]) -> None:
    add(begun.folder(0))
    checked = begun.check()

    assert (kept(checked), checked.lost) == (ALL, ())
    assert len(checked.refused) == 1
    assert checked.refused[0].startswith("shard 0: holds 1 files or folders that were not asked")


def nested(folder: Path, depth: int) -> None:
    """Folders in folders, deeper than Python calls itself."""
    with contextlib.chdir(folder):
        for _ in range(depth):
            Path("d").mkdir()
            os.chdir("d")


def of_one_item(folder: Path, kind: str) -> Path:
    """The file of the one result, or of its trace, that a test spoils."""
    return next(folder.glob(f"{kind}/{CARTPOLE}/*/*/*.json"))


def set_returns(path: Path, returns: list[float]) -> None:
    """Returns that the model of results refuses, so that no hash can be made anew."""
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"returns": returns}))


def replaced(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def crafted(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Another trace for a result that names it."""
    path = of_one_item(folder, "traces")
    content = canonical_json.canonical(change(json.loads(path.read_bytes()))) + b"\n"
    path.write_bytes(content)
    forge(folder, CARTPOLE, lambda d: d | {"trace_sha256": hashlib.sha256(content).hexdigest()})


def text(folder: Path, old: bytes, new: bytes) -> None:
    path = of_one_item(folder, "results")
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))


def spoiled_time(folder: Path, at: str) -> None:
    forge(folder, CARTPOLE, lambda d: d | {"provenance": {**d["provenance"], "evaluated_at": at}})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda f: replaced(of_one_item(f, "results"), Path.mkdir),
        lambda f: replaced(of_one_item(f, "results"), os.mkfifo),
        lambda f: replaced(of_one_item(f, "results"), lambda path: path.symlink_to("/etc/passwd")),
        lambda f: replaced(of_one_item(f, "results"), lambda path: path.symlink_to(path)),
        lambda f: os.truncate(of_one_item(f, "results"), MAX_RESULT_BYTES + 1),
        lambda f: of_one_item(f, "results").write_bytes(b"\x80"),
        lambda f: of_one_item(f, "results").write_bytes(b'{"a":' * 100_000),
        lambda f: of_one_item(f, "results").write_bytes(b"9" * 1_000_000),
        lambda f: text(f, b'"schema": 2', b'"\\ud800": 2'),
        lambda f: text(f, b'"message": ""', b'"message": "\\ud800"'),
        lambda f: text(f, b'"schema": 2', '"\u202e\u0000##[error]": 1'.encode()),
        lambda f: spoiled_time(f, "2026-13-45T99:99:99Z"),
        lambda f: spoiled_time(f, "٢٠٢٦-٠١-٠١T٠٠:٠٠:٠٠Z"),
        lambda f: forge(f, CARTPOLE, lambda d: d | {"lengths": [2**53 - 1] * 3}),
        lambda f: forge(f, CARTPOLE, lambda d: d | {"returns": [1e100] * 3}),
        lambda f: set_returns(of_one_item(f, "results"), [1.7e308] * 3),
        lambda f: of_one_item(f, "traces").unlink(),
        lambda f: replaced(of_one_item(f, "traces"), Path.mkdir),
        lambda f: replaced(of_one_item(f, "traces"), os.mkfifo),
        lambda f: os.truncate(of_one_item(f, "traces"), MAX_TRACE_BYTES + 1),
        lambda f: of_one_item(f, "traces").write_bytes(b"[" * 100_000),
        lambda f: crafted(f, lambda d: d | {"actions": [d["actions"][0] | {"shape": [1 << 20] * 8}]}),
        lambda f: crafted(f, lambda d: d | {"actions": [d["actions"][0] | {"shape": [-1]}]}),
        lambda f: crafted(f, lambda d: d | {"actions": [d["actions"][0] | {"data": "é"}]}),
        lambda f: crafted(f, lambda d: d | {"actions": [d["actions"][0] | {"dtype": "O"}]}),
    ],
    ids=[
        "folder", "pipe", "link", "link-to-itself", "huge", "no-utf-8", "deep", "long-number", "half-a-character-as-key",
        "half-a-character", "command", "month-13", "other-digits", "long-lengths", "far-returns", "returns-beyond-any-sum",
        "no-trace", "trace-folder", "trace-pipe", "huge-trace", "deep-trace", "large-shape", "negative-shape", "no-base64",
        "objects",
    ],
)  # fmt: skip
def test_one_surprising_file_costs_that_result_alone(begun: Round, spoil: Callable[[Path], object]) -> None:
    spoil(begun.folder(0))
    checked = begun.check()
    begun.record()
    recorded = origin_branch(begun.clone, RESULTS_BRANCH)

    assert checked.lost == ()
    assert len(kept(checked)) == 3
    assert sum(CARTPOLE in one for one in kept(checked)) == 1
    assert len(checked.refused) == 1
    assert not any(word in checked.refused[0] for word in ("##[", "::", "\n"))
    assert len([name for name in recorded if ".try" not in name]) == 3
    assert [parse_result(content).verdict for name, content in recorded.items() if ".try" in name] == [
        Verdict.INTERNAL_ERROR
    ]


@pytest.mark.attack(
    "trace_behind_a_link", family="supply", outcome="not read",
    tries="Hands in a symbolic link to a file of the runner as a trace.",
)  # fmt: skip
def test_a_trace_behind_a_link_is_not_read(begun: Round, tmp_path: Path) -> None:
    (begun.folder(0) / "traces").rename(tmp_path / "elsewhere")
    (begun.folder(0) / "traces").symlink_to(tmp_path / "elsewhere")
    checked = begun.check()

    assert len(kept(checked)) == 2
    assert sum("lies behind a link" in line for line in checked.refused) == 2


def test_a_folder_that_nobody_may_read_costs_what_is_in_it(begun: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root one may read everything, so the refusal is made."""
    place, real = begun.folder(0) / "results" / CARTPOLE, os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: real(path / "gone" if path == place else path))
    checked = begun.check()

    assert kept(checked) == ["alice FrozenLake-v1", "bob CartPole-v1", "bob FrozenLake-v1"]
    assert checked.refused == (f"shard 0: 'results/{CARTPOLE}' cannot be read: No such file or directory",)


@pytest.mark.parametrize("how", [os._exit, lambda code: os.kill(os.getpid(), signal.SIGKILL)])
def test_a_replay_that_kills_its_process_costs_that_result_alone(
    begun: Round, monkeypatch: pytest.MonkeyPatch, how: Callable[[int], None]
) -> None:
    """As an environment that crashes on strange actions does, or a trace that takes all memory."""
    deadly, real = of_one_item(begun.folder(0), "results"), verify_records.verify_result

    def verify(path: str, *rest: Any) -> Any:
        return how(1) if path == str(deadly) else real(path, *rest)

    monkeypatch.setattr(verify_records, "verify_result", verify)
    checked = begun.check()

    assert len(kept(checked)) == 3
    assert len(checked.refused) == 1
    assert "its replay was killed" in checked.refused[0]


def test_an_environment_that_raises_costs_that_result_alone(begun: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    raising, real = of_one_item(begun.folder(0), "results"), verify_records.verify_result

    def verify(path: str, *rest: Any) -> Any:
        if path == str(raising):
            raise AssertionError("off the grid")
        return real(path, *rest)

    monkeypatch.setattr(verify_records, "verify_result", verify)
    checked = begun.check()

    assert len(kept(checked)) == 3
    assert "replaying it ends with AssertionError: off the grid" in checked.refused[0]


def test_what_only_github_can_tell_is_asked_by_publish_once_for_each_commit(begun: Round) -> None:
    asked: list[str] = []

    def signed(sha: str) -> bool:
        asked.append(sha)
        return sha == begun.clone.head

    checked = begun.check(run=open_run(begun.clone, signed))

    said = {r.login: (r.beacon_verified, r.login_id) for r in checked.accepted}
    assert said == {"alice": (False, 11), "bob": (True, None)}
    assert len(asked) == len(set(asked)) == 2
    assert all(r.self_hash() == r.self_sha256 for r in checked.accepted)


def test_failures_of_ours_are_tried_three_times_and_then_reported(begun: Round, tmp_path: Path) -> None:
    for attempt in range(3):
        now = plan_round(begun.clone, tmp_path / f"round-{attempt}")
        assert now.planned.count == (4 if attempt == 0 else 1)
        for shard in now.planned.shards:
            now.evaluate(shard)
            for path in now.folder(shard).glob(f"results/{CARTPOLE}/bob/*/*{RECORD_ENDING}"):
                path.write_bytes(Result.with_self_hash(broken(json.loads(path.read_bytes()))).serialised())
        now.check()
        now.record()
    tries = sorted(name for name in origin_branch(begun.clone, RESULTS_BRANCH) if ".try" in name)

    assert [name.rpartition(".try")[2] for name in tries] == ["1.json", "2.json", "3.json"]
    assert plan_round(begun.clone, tmp_path / "last").planned.count == 0


def broken(document: dict[str, Any]) -> dict[str, Any]:
    """As evaluate writes a failure of ours."""
    failed = {"verdict": "internal_error", "message": "engine gone", "returns": [], "lengths": [], "metrics": {}}
    return document | failed | {"trace_sha256": None}


def test_a_publish_that_is_run_again_does_not_count_a_failure_twice(begun: Round) -> None:
    forge(begun.folder(0), CARTPOLE, lambda d: d | {"returns": [500.0] * 3})
    begun.check()
    begun.record()
    begun.record()

    assert len([name for name in origin_branch(begun.clone, RESULTS_BRANCH) if ".try" in name]) == 1


def test_a_result_from_the_future_is_refused(begun: Round) -> None:
    late = datetime.now(UTC) + timedelta(days=-40)
    checked = check_shards.check_shards(begun.run, begun.assignment(), [begun.place], begun.place / "accepted", late)

    assert kept(checked) == []


def test_a_protected_branch_is_told_at_once_in_one_line(begun: Round) -> None:
    hook = begun.clone.path.parent / "origin.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'error: GH006: Protected branch update failed for refs/heads/results.' >&2\nexit 1\n")
    hook.chmod(0o755)
    begun.check()

    with pytest.raises(CommandError, match=r"^git push failed: .*GH006") as caught:
        record_results.record_accepted(begun.run, "1", begun.place / "accepted", datetime.now(UTC), ALONE)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("season", "branch"),
    [
        ("2026", "traces-2026"),
        ("2026.1", "traces-2026.1"),
        ("a b", "traces-a%20b"),
        ("x..y", "traces-x%2E%2Ey"),
        ("x.lock", "traces-x%2Elock"),
    ],
)
def test_any_season_makes_a_branch_that_git_takes(season: str, branch: str, tmp_path: Path) -> None:
    assert traces_branch_name(season) == branch
    assert git(tmp_path, "check-ref-format", "--branch", branch) == branch


@pytest.mark.attack(
    "commands_in_a_refused_result", family="bot", outcome="printed as text",
    tries="Puts commands to the runner into a result that is refused.",
)  # fmt: skip
def test_no_refusal_is_a_command_to_the_runner(begun: Round) -> None:
    (begun.folder(0) / "##[add-mask]0").write_text("")
    path = next(begun.folder(1).glob(f"results/*/*/*/*{RECORD_ENDING}"))
    path.write_bytes(b'{"schema": "##[stop-commands]x\\n::set-output name=a::b"}')
    refused = begun.check().refused

    assert len(refused) == 2
    assert not any(word in line for line in refused for word in ("##[", "::", "\n"))


def test_what_there_is_no_time_to_replay_is_left_for_the_next_round_and_counts_as_no_failure(
    begun: Round, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(check_shards, "REPLAY_SECONDS", 0.0)
    forge(begun.folder(0), CARTPOLE, lambda d: d | {"season": "2"})
    checked = begun.check()
    published = begun.record()

    assert (checked.unreplayed, len(checked.accepted), len(published.recorded), checked.lost) == (3, 1, 1, ())
    assert kept(checked) == []
    assert len(checked.refused) == 1
    assert plan_round(begun.clone, tmp_path / "next").planned.count == 4


@pytest.mark.attack(
    "small_trace_of_a_bad_draw", family="cheating", outcome="the order of replays is the round's",
    tries="Makes its trace small when its draw is a bad one, so that it is replayed last, is too late, and is drawn again.",
)  # fmt: skip
def test_no_agent_chooses_whether_there_is_time_for_its_replay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    replayed: list[Path] = []

    def note(waiting: deque[VerificationJob], *_: object) -> list[VerificationJob]:
        replayed.extend(job.result for job in waiting)
        waiting.clear()
        return []

    monkeypatch.setattr(verify_records, "_replay", note)
    challenge = parse_challenge(CHALLENGE)
    jobs = [VerificationJob(challenge=challenge, result=tmp_path / name, trace=tmp_path / f"{name}.npz") for name in "abc"]
    for size, job in zip((1, 3, 2), jobs, strict=True):
        job.trace.write_bytes(bytes(size))

    verify_jobs(list(jobs), quiet=True, seconds=60.0)
    verify_jobs(list(jobs), quiet=True)

    assert [path.name for path in replayed] == [*"abc", *"bca"]


def test_replaying_stops_when_the_time_is_over(begun: Round) -> None:
    begun.check()
    store = ResultStore(results=begun.place / "accepted" / "results", traces=begun.place / "accepted" / "traces")
    path = next(store.files())
    git(begun.clone.path, "checkout-index", "-f", "challenge.yml")
    job = VerificationJob(challenge=Checkout(begun.clone.path).challenge, result=path, trace=store.trace_of(path))

    assert len(verify_jobs([job] * 4, quiet=True, seconds=600.0)) == 4
    assert verify_jobs([job] * 4, quiet=True, seconds=0.0) == []
    assert 1 <= len(verify_jobs([job] * 2000, quiet=True, seconds=0.2)) < 2000
