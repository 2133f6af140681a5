"""What was measured in another sandbox than the leaderboard's ranks nowhere; the process sandbox is nobody's."""

from pathlib import Path
from typing import Any

import pytest

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from scripts.maintenance.close_season import counted_record_files
from scripts.repository.checkout import Checkout
from scripts.standings.recorded_standings import recorded_standings
from tests.leaderboard import make
from tests.scripts.checkouts import LEGAL, run
from tests.scripts.github.remotes import CHALLENGE, Clone, agent_files, git, make_board

POLE = Task(id="CartPole-v1", episodes=3)
GAME = b"  - {id: tictactoe, game: pettingzoo.classic.tictactoe_v3, matches: 2, opening: 0}\n"
GVISOR = b"runners: {sandbox: gvisor}\n"
NAMES = ("alice", "bob", "carol", "dave", "erin")


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Clone, str, str]:
    """A leaderboard of five agents that moved from docker to gVisor, and the commits before and after."""
    files = {name: content for login in NAMES for name, content in agent_files(login, source=login.encode()).items()}
    clone = make_board(tmp_path_factory.mktemp("board"), {**files, "challenge.yml": CHALLENGE + GAME})
    before = clone.head
    after = clone.commit({"challenge.yml": CHALLENGE + GAME + GVISOR})
    git(clone.path, "checkout", "-q", "-f", "HEAD")
    return clone, before, after


def record(clone: Clone, login: str, sandbox: str, commit: str | None, **fields: Any) -> Result:
    """An official result of somebody's agent on CartPole, in the store."""
    checkout = Checkout(clone.path)
    entry = next(agent.entry() for agent in checkout.read_all()[0] if agent.login == login)
    task = checkout.challenge.task(POLE.id)
    where = {"evaluated_at": make.NOON, "commit": commit, "run_url": None}
    result = make.result(entry, [9.0, 10.0, 11.0], on=task, beacon="a" * 40, sandbox=sandbox, provenance=where, **fields)
    checkout.store.write(result, None)
    return result


def ranked(clone: Clone) -> set[str]:
    return {row.entry.login for row in recorded_standings(Checkout(clone.path), official=True).tasks[0].rows}


def test_what_ranks_was_played_in_the_sandbox_of_its_time(
    moved: tuple[Clone, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    clone, before, after = moved
    record(clone, "alice", "docker", before)
    record(clone, "bob", "gvisor", after)
    others = (("carol", "docker", after), ("dave", "docker", None), ("erin", "process", before))
    refused = [record(clone, *which) for which in others]

    assert ranked(clone) == {"alice", "bob"}
    err = capsys.readouterr().err.splitlines()
    rule = "and this leaderboard evaluates in gvisor; it does not rank"
    assert sorted(err) == sorted(f"results/{one.path()}: it was played in {one.sandbox}, {rule}" for one in refused)


def test_a_season_is_closed_without_what_the_process_sandbox_measured(moved: tuple[Clone, str, str]) -> None:
    clone, before, _ = moved
    kept, left = record(clone, "alice", "docker", before), record(clone, "erin", "process", before)

    paths = counted_record_files(Checkout(clone.path))

    store = Checkout(clone.path).store
    assert store.path_of(kept) in paths
    assert store.path_of(left) not in paths


def test_a_tournament_in_the_process_sandbox_rates_nobody_officially(moved: tuple[Clone, str, str], tmp_path: Path) -> None:
    clone, _, _ = moved
    board = tmp_path / "board"
    git(clone.path, "worktree", "add", "-q", str(board))
    for login in NAMES[:2]:
        (board / f"submissions/{login}/a/agent.py").write_text(f"{LEGAL}# {login}\n")
        (board / f"submissions/{login}/a/submission.yml").write_text("name: T\nalgorithm: none\ntasks: [tictactoe]\n")

    code, _, err = run(board, "tournament", "--sandbox", "process")

    assert code == 0, err
    standings = recorded_standings(Checkout(board), official=False)
    assert len(standings.games[0].rows) == 2
    assert recorded_standings(Checkout(board), official=True).games[0].rows == ()


@pytest.mark.parametrize("other", ["process", "docker", "auto"])
@pytest.mark.parametrize(
    "words",
    [
        ("preview", "--head", ".", "--out", "out"),
        ("plan",),
        ("evaluate", "--shard", "0", "--shards", "1", "--sha", "HEAD", "--out", "out"),
        ("publish", "--in", "out", "--sha", "HEAD", "--shards", "1"),
    ],
    ids=lambda words: words[0],
)
def test_no_workflow_takes_another_sandbox_than_the_leaderboards(
    moved: tuple[Clone, str, str], words: tuple[str, ...], other: str
) -> None:
    clone, _, _ = moved

    code, out, err = run(clone.path, "bot", *words, "--sandbox", other)

    assert (code, out) == (2, "")
    assert err == f"challenge.yml evaluates in gvisor, and so does every workflow; leave out --sandbox {other}\n"
    assert not (clone.path / "out").exists()
