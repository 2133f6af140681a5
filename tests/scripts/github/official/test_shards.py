"""Plan and evaluate: wanted − recorded at two commits, each shard finds its own list, results are official ones."""

import errno
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.deterministic import pinned_variables
from evaluator.model.config.limits import Limits
from evaluator.model.records.parse import parse_result
from evaluator.model.records.stored_record import Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.store import ResultStore
from leaderboard.planning.missing_work import DuelWorkItem, WorkItem
from leaderboard.planning.pack_shards import PROCESSORS, UNKNOWN_SECONDS, Capacity
from scripts.console import CommandError
from scripts.github.official import evaluate_shard
from scripts.github.official.evaluate_shard import JOB_STEP_SECONDS, ShardAssignment
from scripts.github.official.round_work import planned_runtime_digest, read_round_work
from scripts.github.workflow.plan_context import parse_plan_context
from tests.scripts.github.remotes import AGENT, CHALLENGE, MANIFEST, Clone, agent_files, make_board
from tests.scripts.github.rounds import RUN, evaluator_of, open_run, plan_round, whole_round

BROKEN = b"class Agent:\n    def act(self, observation):\n        raise ValueError('no')\n"
EXCLUDED = b"""exclusions:
  - {login: ALICE, since: "2026-05-01", who: host, why: copies, link: "https://example.org/1"}
"""


@pytest.fixture(autouse=True)
def _pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in pinned_variables().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def board(tmp_path: Path) -> Clone:
    made = make_board(tmp_path / "board")
    made.commit(agent_files("alice"))
    made.commit(agent_files("bob", "b", BROKEN))
    made.push()
    return made


def test_everything_entered_is_planned_and_the_outputs_are_json(board: Clone, tmp_path: Path) -> None:
    planned = plan_round(board, tmp_path).planned

    outputs = json.loads(json.dumps(planned.outputs()))
    assert parse_plan_context(outputs.pop("plan_context")).now.tzinfo is not None
    assert outputs == {
        "shards": [0, 1], "total": 2, "count": 4, "left": 0, "sha": board.head, "results_sha": "",
        "labels": ["ubuntu-24.04"], "at_once": 20, "unasked": 0,
    }  # fmt: skip


def test_a_shard_writes_official_results_with_their_beacon(board: Clone, tmp_path: Path) -> None:
    begun = plan_round(board, tmp_path)
    for shard in begun.planned.shards:
        begun.evaluate(shard)
    stores = [
        ResultStore(results=begun.folder(s) / "results", traces=begun.folder(s) / "traces") for s in begun.planned.shards
    ]
    results = {(r.login, r.task): r for store in stores for r in (parse_result(path.read_bytes()) for path in store.files())}
    alice, bob = results["alice", "CartPole-v1"], results["bob", "CartPole-v1"]

    assert len(results) == 4
    assert {result.tier for result in results.values()} == {Tier.OFFICIAL}
    assert (alice.beacon, bob.beacon) == (begun.clone.repository.first_parent(board.head)[1], board.head)
    assert (alice.beacon_verified, alice.login_id, alice.provenance.commit) == (False, None, board.head)
    assert alice.provenance.run_url == RUN
    assert (alice.verdict, bob.verdict) == (Verdict.OK, Verdict.CRASHED)


def test_what_is_recorded_is_not_planned_again(board: Clone, tmp_path: Path) -> None:
    assert len(whole_round(board, tmp_path / "1").recorded) == 4
    again = plan_round(board, tmp_path / "2").planned
    board.commit(agent_files("alice", source=AGENT + b"# 2\n"))
    newer = plan_round(board, tmp_path / "3").planned

    assert (again.shards, again.count) == ((), 0)
    assert again.results_sha
    assert newer.count == 2


def test_every_machine_finds_the_same_shards(board: Clone, tmp_path: Path) -> None:
    begun = plan_round(board, tmp_path)
    works = [read_round_work(open_run(board), board.head, "") for _ in range(2)]

    assert works[0] == works[1]
    assert sum(len(works[0].shard(n)) for n in begun.planned.shards) == 4


def test_a_plan_counts_on_as_many_at_once_as_the_machine_has_processors_for(board: Clone) -> None:
    work = read_round_work(open_run(board), board.head, "")
    part = work.challenge.limits.processors() / PROCESSORS

    assert part < 1
    assert sum(work.packing.loads) == 4 * UNKNOWN_SECONDS * part


def test_the_traces_of_a_round_fit_the_disk_of_its_publish_whatever_agents_do(tmp_path: Path) -> None:
    task = b"tasks:\n  - {id: Joints, env: 'tests.evaluator.worlds:ManyJoints-v0', episodes: 20}\n"
    board = make_board(tmp_path / "board", {"challenge.yml": b'title: Test\nseason: "1"\n' + task})
    agents = [agent_files(f"u{number}", source=AGENT + b"# %d\n" % number) for number in range(100)]
    board.commit(dict(chain.from_iterable(map(dict.items, agents))))
    board.push()
    work = read_round_work(open_run(board), board.head, "")

    one_trace = 20 * 1000 * 400 * 4 * 4 / 3
    taken = sum(map(len, work.packing.shards))
    assert 0 < taken < 100
    assert taken + len(work.packing.left) == len(work.items) == 100
    assert taken * one_trace < Capacity(at_once=20, shard_seconds=900).trace_bytes


def test_an_excluded_entry_is_not_played(board: Clone, tmp_path: Path) -> None:
    board.commit({"moderation.yml": EXCLUDED})
    work = read_round_work(open_run(board), board.head, "")

    assert {item.entry.login for item in work.items} == {"bob"}


def test_a_folder_that_is_no_submission_keeps_nobody_else_out(
    board: Clone, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board.commit(
        {
            "submissions/carol/x/agent.py": AGENT, "120000:submissions/dora/x/agent.py": b"/etc/passwd",
            "submissions/-eve/x/agent.py": AGENT, "submissions/fay/x/agent.py": AGENT,
            "submissions/fay/x/submission.yml": MANIFEST + b"unknown: 1\n", "submissions/gus/x/.gitattributes": b"* text\n",
        }
    )  # fmt: skip
    work = read_round_work(open_run(board), board.head, "")
    errors = capsys.readouterr().err

    assert {item.entry.login for item in work.items} == {"alice", "bob"}
    assert all(f"submissions/{login}/x" in errors for login in ("carol", "dora", "-eve", "fay", "gus"))


def test_two_folders_of_one_version_each_have_their_result(board: Clone, tmp_path: Path) -> None:
    board.commit({**agent_files("alice", "x", AGENT + b"#\n"), **agent_files("alice", "y", AGENT + b"#\n")})
    whole_round(board, tmp_path / "1")

    assert plan_round(board, tmp_path / "2").planned.count == 0


def test_a_checkout_of_another_commit_is_refused(board: Clone) -> None:
    before = board.repository.first_parent(board.head)[1]

    with pytest.raises(CommandError, match="the checkout is not commit"):
        read_round_work(open_run(board), before, "")


def test_a_shard_that_was_not_planned_is_refused(board: Clone, tmp_path: Path) -> None:
    begun = plan_round(board, tmp_path)

    for shard, shards in ((2, 2), (0, 3), (-1, 2)):
        wrong = ShardAssignment(sha=board.head, results_sha="", shards=shards, shard=shard)
        with pytest.raises(CommandError, match="does not exist"):
            evaluate_shard.evaluate_shard(begun.run, evaluator_of(board.path), wrong, tmp_path / "out")


def test_what_time_does_not_allow_is_left_for_the_next_round(board: Clone, tmp_path: Path) -> None:
    begun = plan_round(board, tmp_path)
    clock = iter([0.0, 1.0, 1e9, 1e9])

    done = evaluate_shard.evaluate_shard(
        begun.run, evaluator_of(board.path), begun.assignment(), begun.folder(), lambda: next(clock)
    )

    assert done == 1
    assert len(begun.check().accepted) == 1


def test_nothing_begins_that_could_outlast_the_job(board: Clone, tmp_path: Path) -> None:
    """A job that is ended loses what it plays: an agent that can stall until then would be played anew, and nobody told."""
    begun = plan_round(board, tmp_path)
    # An evaluation may take 3,000 seconds by the default limits, and two starts of an image before.
    clock = chain([0.0, 1.0], repeat(JOB_STEP_SECONDS - 3000.0))

    done = evaluate_shard.evaluate_shard(
        begun.run, evaluator_of(board.path), begun.assignment(), begun.folder(), lambda: next(clock)
    )

    assert done == 1


def test_all_files_of_an_image_are_read_before_anything_is_played_in_it(board: Clone, tmp_path: Path) -> None:
    begun, calls = plan_round(board, tmp_path), []
    here = evaluator_of(board.path)
    sandbox = replace(here.sandbox, warm=calls.append)

    evaluate_shard.evaluate_shard(begun.run, replace(here, sandbox=sandbox), begun.assignment(), begun.folder())

    assert calls == [()]


@pytest.mark.attack(
    "plan_in_the_time_of_a_neighbours_files", family="supply", outcome="nothing of those is played before it",
    tries="Has the files of one's second agent, or of its duel, come when one's first is to start on the same machine.",
)  # fmt: skip
def test_who_names_no_files_to_fetch_is_played_before_those_who_do(tmp_path: Path) -> None:
    """An owner's host decides how long a duel takes that waits for it, and so when the next work of the machine begins."""
    board = make_board(tmp_path / "board")
    board.commit({"challenge.yml": CHALLENGE + b"  - {id: tictactoe, game: pettingzoo.classic.tictactoe_v3, matches: 2}\n"})
    files = f"weights: [{{file: net.bin, url: 'https://models.example/net.bin', sha256: '{'0' * 64}', bytes: 1}}]\n".encode()
    board.commit({path: content + files * path.endswith(".yml") for path, content in agent_files("aaa").items()})
    board.commit(agent_files("bob"))
    board.push()
    begun = plan_round(board, tmp_path)
    work = read_round_work(begun.run, board.head, "")

    batches = evaluate_shard.in_batches(work.items)

    named = [sorted({(item.players[0].login, isinstance(item, DuelWorkItem)) for item in batch}) for batch in batches]
    assert named == [[("bob", False), ("bob", True)], [("aaa", False)], [("aaa", True)]]
    assert sum(map(len, batches)) == len(work.items)


class Clock:
    """A clock that the test sets; each evaluation of Mallory takes 5,000 seconds and anybody else's ten."""

    def __init__(self) -> None:
        self.now = 0.0

    def play(self, jobs: Sequence[object], at_once: object, **options: Any) -> Iterator[tuple[int, object]]:
        """In place of `run_jobs`."""
        for index, job in enumerate(jobs):
            if options["may_start"](index):
                value = job.play(lambda progress: None)  # type: ignore[attr-defined]
                self.now += 5_000.0 if value[0].login == "mallory" else 10.0
                yield index, value


@pytest.mark.attack(
    "slow_agents_before_those_that_wait_for_files", family="people", outcome="others are played first",
    tries="Enters agents that use up all of their time, so that those whose files are fetched never begin.",
)  # fmt: skip
@pytest.mark.parametrize("owner", ["mallory", "aaa"])
def test_an_owner_of_slow_agents_lets_others_go_first(owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board, clock = make_board(tmp_path / "board"), Clock()
    board.commit({"challenge.yml": CHALLENGE + b"runners: {at_once: 1, shard_minutes: 60}\n"} | agent_files("zoe"))
    for number in range(4):
        board.commit(agent_files(owner, f"a{number}", AGENT + b"# %d\n" % number))
    board.push()
    begun = plan_round(board, tmp_path)
    monkeypatch.setattr(evaluate_shard, "run_jobs", clock.play)
    # As if Zoe's files were to be fetched.
    monkeypatch.setattr(
        evaluate_shard,
        "in_batches",
        lambda items: [[i for i in items if (i.entry.login == "zoe") is last] for last in (False, True)],
    )

    evaluate_shard.evaluate_shard(begun.run, evaluator_of(board.path), begun.assignment(), begun.folder(), lambda: clock.now)

    played = Counter(path.parent.parent.name for path in (begun.folder() / "results").glob("*/*/*/*.json"))
    assert played == ({"mallory": 1, "zoe": 2} if owner == "mallory" else {"aaa": 8, "zoe": 2})


def test_equal_files_on_one_draw_use_their_own_owners_time(tmp_path: Path) -> None:
    """On a draw for all, such as the final one, the evaluations of two owners have one key."""
    board, clock = make_board(tmp_path / "board"), Clock()
    for owner in ("mallory", "zoe", "bob"):
        board.commit(agent_files(owner))
    board.push()
    work = read_round_work(plan_round(board, tmp_path).run, board.head, "")
    first = {item.players[0].login: item for item in reversed(work.items) if isinstance(item, WorkItem)}
    mallory, bob = first["mallory"], first["bob"]
    zoe = replace(first["zoe"], wanted=mallory.wanted)
    shard_time = evaluate_shard._ShardTime(limits=work.challenge.limits, share=3600, clock=lambda: clock.now)
    shard_time.begin([mallory, zoe, bob])

    assert shard_time.may_start([mallory], 0)
    clock.now += 5_000
    shard_time.end(mallory)

    assert shard_time.may_start([zoe], 0)


@pytest.mark.parametrize(
    ("limits", "is_duel", "seconds"),
    [
        (Limits(), False, 3000 + 2 * (1200 + 600 + 2 * 60)),
        (Limits(), True, 2 * 3000 + 600 + 2 * (1200 + 2 * 60)),
        (Limits(cpu_seconds=1000, start_seconds=100), False, 10_000 + 2 * (1200 + 600 + 2 * 100)),
    ],
)
def test_the_longest_that_may_become_of_an_evaluation(limits: Limits, is_duel: bool, seconds: float) -> None:
    assert evaluate_shard.longest_seconds(limits, is_duel=is_duel) == seconds


def test_limits_beyond_a_job_leave_a_shard_the_work_that_it_was_packed_with(board: Clone, tmp_path: Path) -> None:
    rules = b"limits: {cpu_seconds: 20000}\nrunners: {shard_minutes: 40}\n"
    board.commit({"challenge.yml": CHALLENGE + rules})
    board.push()
    begun = plan_round(board, tmp_path)
    clock = chain([0.0, 1.0], repeat(39 * 60.0))

    done = evaluate_shard.evaluate_shard(
        begun.run, evaluator_of(board.path), begun.assignment(), begun.folder(), lambda: next(clock)
    )

    assert done == 2


def test_the_runtime_needs_no_engine_where_the_base_has_a_digest() -> None:
    named = planned_runtime_digest("docker", "python:3.12@sha256:" + "0" * 64)

    assert named == planned_runtime_digest("gvisor", "other/python@sha256:" + "0" * 64)
    assert named != planned_runtime_digest("process", "")


def test_what_ends_one_evaluation_keeps_no_other_from_being_played(
    board: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was killed kept all from being played that fetch weights or an image, in every round."""
    begun = plan_round(board, tmp_path)
    monkeypatch.setattr(evaluate_shard, "in_batches", lambda items: [[item] for item in items])
    played = evaluate_shard.run_jobs
    failed = iter([True])

    def first_fails(*words: object, **more: object) -> object:
        if next(failed, False):
            raise CommandError(1, "its process was killed")
        return played(*words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(evaluate_shard, "run_jobs", first_fails)

    with pytest.raises(CommandError, match="its process was killed"):
        evaluate_shard.evaluate_shard(begun.run, evaluator_of(board.path), begun.assignment(), begun.folder())

    assert len(list((begun.folder() / "results").rglob("*.json"))) == 1  # of two


def test_a_result_that_the_disk_does_not_take_keeps_no_other_from_being_recorded(
    board: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = plan_round(board, tmp_path)
    write, full = ResultStore.write, iter([True])

    def first_is_full(store: ResultStore, *record: object) -> object:
        if next(full, False):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(store, *record)  # type: ignore[arg-type]

    monkeypatch.setattr(ResultStore, "write", first_is_full)

    with pytest.raises(CommandError, match=r"cannot be written \(No space left on device\)"):
        evaluate_shard.evaluate_shard(begun.run, evaluator_of(board.path), begun.assignment(), begun.folder())

    assert len(list((begun.folder() / "results").rglob("*.json"))) == 1  # of two
