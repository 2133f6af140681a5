"""The command as a person and as a machine uses it: exit codes, one line for an error, nothing done twice, nothing lost."""

import contextlib
import gc
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from evaluator.model.records.result import Result
from scripts import cli
from tests.scripts.checkouts import ROOT, run, start

CHALLENGE = """\
title: Test board
season: test
limits: {start_seconds: 30}
tasks:
  - id: CartPole-v1
    episodes: 5
    few_episodes: true
    random: {score: 22, source: test}
    reference: {score: 475, source: test}
  - id: MountainCar-v0
    episodes: 3
    few_episodes: true
    random: {score: -200, source: test}
    reference: {score: -110, source: test}
"""
ONE_TASK = "name: Test\nalgorithm: none\ntasks: [CartPole-v1]\n"
NO_AGENT = "defines no class Agent; write 'class Agent' with a method act(self, observation)"
SHORT = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return 0\n"


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """A board with one example agent that enters one task."""
    (tmp_path / "challenge.yml").write_text(CHALLENGE)
    shutil.copytree(ROOT / "site", tmp_path / "site")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path / "mkdocs.yml")
    shutil.copytree(ROOT / "example_agents/cartpole-angle-rule", tmp_path / "example_agents/cartpole-angle-rule")
    return tmp_path


def agent(
    board: Path, name: str, source: str, manifest: str = "name: Test\nalgorithm: none\ntasks: [CartPole-v1]\n"
) -> Path:
    folder = board / "submissions" / "alice" / name
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(source)
    (folder / "submission.yml").write_text(manifest)
    return folder


def files(board: Path) -> dict[str, bytes]:
    return {str(p.relative_to(board)): p.read_bytes() for p in (board / "results").rglob("[!.]*.json")}


def test_a_new_agent_passes_check_and_evaluate_at_once(board: Path) -> None:
    folder = "submissions/alice/first"

    assert run(board, "new", folder)[0] == 0
    assert run(board, "check", folder)[::2] == (0, "challenge.yml and 1 folder are fine.\n")
    code, out, _ = run(board, "evaluate", folder, "--sandbox", "process", "--json")

    results: list[dict[str, Any]] = json.loads(out)
    assert code == 0
    assert [(r["task"], r["verdict"], len(r["returns"])) for r in results] == [
        ("CartPole-v1", "ok", 5),
        ("MountainCar-v0", "ok", 3),
    ]
    assert {(r["class"], r["beacon"], r["login"]) for r in results} == {("local", "preview", "alice")}


def test_a_second_attempt_is_told_and_why(board: Path) -> None:
    (board / "challenge.yml").write_text(CHALLENGE.replace("start_seconds: 30", "start_seconds: 10"))
    mark = str(board / "was-here")
    slow = f"import os, time\nif not os.path.exists({mark!r}):\n    os.mkdir({mark!r})\n    time.sleep(1000)\n"
    folder = str(agent(board, "slow", slow + SHORT))

    code, _, err = run(board, "evaluate", folder, "--sandbox", "process")

    why = "second attempt, because the first ended before the agent was shown anything: the agent was not ready in time"
    assert code == 0, err
    assert f"CartPole-v1: {why}" in " ".join(err.split())


def test_evaluating_twice_plays_once_and_again_gives_the_same(board: Path) -> None:
    words = ("evaluate", "example_agents/cartpole-angle-rule", "--sandbox", "process")
    assert run(board, *words)[0] == 0
    before = files(board)

    code, _, err = run(board, *words)
    assert (code, files(board)) == (0, before)
    assert "CartPole-v1: recorded before" in err

    assert run(board, *words, "--again")[0] == 0
    old, new = (json.loads(content) for content in (*before.values(), *files(board).values()))
    same = ("key", "returns", "lengths", "seeds", "trace_sha256")
    assert [old[name] for name in same] == [new[name] for name in same]


def test_a_failing_agent_exits_with_1_and_says_where(board: Path) -> None:
    agent(board, "bad", "class Agent:\n    def act(self, observation):\n        print('hello')\n        return 1 / 0\n")

    code, out, _ = run(board, "evaluate", "submissions/alice/bad", "--sandbox", "process")

    assert code == 1
    assert "crashed" in out
    assert "ZeroDivisionError: division by zero at agent.py:4" in out
    assert "| hello" in out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("evaluate", "nowhere"), 1, "nowhere: cannot be read (No such file or directory)"),
        (
            ("evaluate", "example_agents/cartpole-angle-rule", "--task", "Chess"),
            2,
            "there is no task 'Chess'; the tasks are",
        ),
        (("evaluate", "example_agents/cartpole-angle-rule", "--sandbox", "vault"), 2, "'vault' is unknown"),
        (("verify", "elsewhere.json"), 2, "; name files or folders there, or none to verify all"),
        (("verify", "results/nothing.json"), 2, "does not exist; name files or folders in results/, or none to verify all"),
        (("frobnicate",), 2, "there is no command 'frobnicate'"),
        (("new", "submissions/alice/Not Allowed"), 2, "cannot be an agent's folder"),
        (("site", "serve"), 2, "run 'pullrank site build' first"),
    ],
)
def test_wrong_words_get_one_line_and_a_code(board: Path, words: tuple[str, ...], code: int, message: str) -> None:
    got, _, err = run(board, *words)

    assert (code, 1) == (got, len(err.strip().splitlines()))
    assert message in err


def test_outside_a_board_it_says_where_to_go(tmp_path: Path) -> None:
    assert run(tmp_path, "rank")[::2] == (
        2,
        "there is no challenge.yml here or above; run this inside a leaderboard's clone\n",
    )


def test_a_wrong_challenge_is_told_with_its_line(board: Path) -> None:
    (board / "challenge.yml").write_text(CHALLENGE.replace("episodes: 5", "episoden: 5"))

    assert run(board, "rank")[::2] == (2, "challenge.yml:6: unknown key 'episoden'; did you mean 'episodes'?\n")


def test_check_asks_a_host_to_confirm_few_episodes(board: Path) -> None:
    scripted = "  - {id: learn, env: CartPole-v1, script: {steps: 50000, last: 9, worst: 1}}\n"
    (board / "challenge.yml").write_text(CHALLENGE.replace("    few_episodes: true\n", "", 1) + scripted)

    code, _, message = run(board, "check")

    assert code == 2
    rule = "intervals of fewer than 10 episodes tell little apart; raise it, or confirm it with 'few_episodes: true'"
    assert message.splitlines()[1:] == [
        f"challenge.yml:6: task CartPole-v1: episodes is 5, and {rule}",
        f"challenge.yml:14: task learn: script.last is 9, and {rule}",
    ]
    assert run(board, "rank")[0] == 0


def test_an_example_of_other_tasks_is_no_part_of_the_board_and_no_fault(board: Path) -> None:
    example = board / "example_agents" / "elsewhere"
    example.mkdir()
    (example / "agent.py").write_text(SHORT)
    (example / "submission.yml").write_text("name: A\nalgorithm: b\ntasks: [Chess]\n")

    code, _, message = run(board, "check")
    assert code == 0
    assert "example_agents: 1 of them play none of this board's tasks, so they are not part of it.\n" in message


def test_check_names_every_fault_of_every_folder(board: Path) -> None:
    agent(board, "one", "class Agent:\n    def act(self, x):\n        return 0\n", "name: A\nalgoritm: b\n")
    agent(board, "two", "def act(:\n", "name: A\nalgorithm: b\n")
    agent(board, "three", "x = 1\n", "name: A\nalgorithm: b\n")
    agent(board, "four", SHORT, "name: A\nalgorithm: b\ntasks: [CartPole-v2]\n")
    agent(board, "zero", "x = 1\nclass agent:\n    def act(self, x): ...\n", "name: A\nalgorithm: b\n")

    code, out, err = run(board, "check")

    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "submissions/alice/four/submission.yml:3: there is no task 'CartPole-v2'; did you mean 'CartPole-v1'?",
        "submissions/alice/one/submission.yml:1: the key 'algorithm' is missing; add it",
        "submissions/alice/one/submission.yml:2: unknown key 'algoritm'; did you mean 'algorithm'?",
        "submissions/alice/three/agent.py:1: " + NO_AGENT,
        "submissions/alice/two/agent.py:1: invalid syntax; correct the syntax",
        f"submissions/alice/zero/agent.py:2: {NO_AGENT}, or rename class agent",
    ]


def test_source_that_breaks_the_parser_breaks_only_the_check(board: Path) -> None:
    agent(board, "deep", "(" * 50_000 + ")" * 50_000)

    code, _, err = run(board, "check", "submissions/alice/deep")

    assert (code, len(err.splitlines())) == (1, 1)


def test_demo_evaluates_verifies_ranks_and_builds_once(board: Path) -> None:
    agent(board, "zero", SHORT)
    agent(board, "broken", SHORT, "name: [\n")

    code, out, err = run(board, "demo", "--sandbox", "process")

    assert code == 0
    assert "submissions/alice/broken/submission.yml:" in err
    assert "2 verified" in err
    assert "CartPole angle rule" in out
    page = board / "build/site/tasks/CartPole-v1/index.html"
    assert "CartPole angle rule" in page.read_text()
    before = files(board)
    assert len(before) == 2

    code, _, err = run(board, "demo", "--sandbox", "process")
    assert (code, files(board)) == (0, before)
    assert " on CartPole-v1: ok" not in err


def test_each_ended_evaluation_has_a_line_on_a_terminal_and_none_when_piped(board: Path) -> None:
    folder = agent(board, "short", SHORT, "name: Test\nalgorithm: none\n")
    words = ("evaluate", str(folder), "--sandbox", "process", "--again")

    code, _, piped = run(board, *words)
    assert (code, piped.count(" steps, ")) == (0, 0)

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "scripts.cli", *words]
    process = subprocess.Popen(command, cwd=board, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while part := os.read(ours, 1 << 16):
            shown += part
    os.close(ours)
    table, _ = process.communicate(timeout=60)

    assert process.returncode == 0
    assert b"CartPole-v1" in table
    assert re.search(rb"CartPole-v1: ok, 9\.\d+ \xc2\xb1 [\d.]+ in 5 episodes, \d+ steps, \d+\.\d s", shown)
    assert re.search(rb"MountainCar-v0: ok, -200 \xc2\xb1 0 in 3 episodes, 600 steps, \d+\.\d s", shown)


def test_a_command_looks_for_garbage_less_often_than_python_does_and_still_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before, handler = gc.get_threshold(), signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("sys.argv", ["pullrank", "--version"])
    try:
        with pytest.raises(SystemExit):
            cli.main()
        youngest, middle, oldest = gc.get_threshold()
    finally:
        gc.set_threshold(*before)
        signal.signal(signal.SIGTERM, handler)

    assert gc.isenabled()
    assert youngest > 10_000
    assert 0 < middle <= 10
    assert 0 < oldest <= 10


def test_rank_verify_and_plan_speak_json(board: Path) -> None:
    run(board, "evaluate", "example_agents/cartpole-angle-rule", "--sandbox", "process")

    table = json.loads(run(board, "rank", "--json")[1])
    assert [row["name"] for row in table["tasks"][0]["rows"]] == ["CartPole angle rule"]
    assert [f["standing"] for f in json.loads(run(board, "verify", "--json")[1])] == ["verified"]
    assert json.loads(run(board, "plan", "--json", "--sandbox", "process")[1]) == []


MODERATION = """\
exclusions:
  - {login: alice, agent: copied, since: "2026-05-01", who: host, why: copies weights, link: "https://example.org/1"}
"""


def test_who_is_excluded_is_named_and_not_ranked(board: Path) -> None:
    agent(board, "copied", SHORT)
    (board / "moderation.yml").write_text(MODERATION)
    run(board, "evaluate", "submissions/alice/copied", "--sandbox", "process")

    first = json.loads(run(board, "rank", "--json")[1])["tasks"][0]
    message = {"since": "2026-05-01", "who": "host", "why": "copies weights", "link": "https://example.org/1"}
    assert first["excluded"] == [{"login": "alice", "agent": "copied", **message}]
    assert (first["rows"], [one["login"] for one in first["waiting"]]) == ([], ["local"])
    assert "excluded" in run(board, "rank")[1]
    assert run(board, "site", "build")[0] == 0
    assert "copies weights" in (board / "build/site/tasks/CartPole-v1/index.html").read_text()
    assert "copies weights" in (board / "build/site/agents/alice/copied/index.html").read_text()


def record_officially(board: Path, folder: Path) -> None:
    """Play it here and record it as what official runs leave."""
    run(board, "evaluate", str(folder.relative_to(board)), "--sandbox", "process")
    for path in (board / "results").rglob("*.json"):
        fields = json.loads(path.read_bytes())
        path.write_bytes(
            Result.with_self_hash({**fields, "class": "official", "sandbox": "docker", "beacon": "ab" * 20}).serialised()
        )


def test_who_left_the_board_is_withdrawn_but_not_who_has_a_fault(board: Path) -> None:
    folder = agent(board, "gone", SHORT)
    record_officially(board, folder)
    (folder / "submission.yml").write_text("name: [")

    assert json.loads(run(board, "rank", "--official", "--json")[1])["tasks"][0]["withdrawn"] == []

    shutil.rmtree(folder)
    first = json.loads(run(board, "rank", "--official", "--json")[1])["tasks"][0]
    (left,) = first["withdrawn"]
    assert (left["login"], left["agent"], left["verdict"], first["rows"]) == ("alice", "gone", "ok", [])
    assert left["score"] > 0
    assert "withdrawn" in run(board, "rank", "--official")[1]
    assert run(board, "site", "build", "--official")[0] == 0
    assert ">Withdrawn" in (board / "build/site/tasks/CartPole-v1/index.html").read_text()
    assert "Withdrawn" in (board / "build/site/agents/alice/gone/index.html").read_text()


def test_the_examples_are_no_part_of_an_official_board(board: Path) -> None:
    lists = [json.loads(run(board, "rank", "--json", *flags)[1])["tasks"][0]["waiting"] for flags in ((), ("--official",))]

    assert [len(outcome) for outcome in lists] == [1, 0]


@pytest.mark.parametrize("words", [("rank",), ("site", "build"), ("check",), ("check", "--host")])
def test_a_fault_in_the_moderation_is_told_with_its_line(board: Path, words: tuple[str, ...]) -> None:
    path = board / "moderation.yml"
    path.write_text(MODERATION.replace("why:", "way:").replace("copies weights", "x, why: y"))

    assert run(board, *words)[::2] == (2, "moderation.yml:2: unknown key 'way'; did you mean 'why'?\n")

    path.unlink()
    path.mkdir()
    assert run(board, *words)[::2] == (2, "moderation.yml: cannot be read (Is a directory); make it a file\n")


@pytest.mark.parametrize("login", ["alice", "Alice"])
def test_a_new_agent_without_its_owners_folder_is_refused(board: Path, login: str) -> None:
    """It could be evaluated, and 'ready' refused it in the end."""
    code, _, err = run(board, "new", f"submissions/{login}")

    assert code == 2
    assert err == f"submissions/{login}: an agent lies in the folder of its owner; write submissions/<your login>/<agent>\n"
    assert not (board / "submissions").exists()


@pytest.mark.parametrize(
    ("since", "words"),
    [("1 May", 'must be a day, such as "2026-05-01"'), ("2026-5-1", 'must be a day, such as "2026-05-01"')],
)
def test_a_day_that_is_none_is_told_without_a_pattern(board: Path, since: str, words: str) -> None:
    (board / "moderation.yml").write_text(MODERATION.replace("2026-05-01", since))

    assert run(board, "check", "--host")[::2] == (2, f"moderation.yml:2: 'exclusions.0.since' {words}\n")


def test_a_task_that_stands_twice_is_told_with_its_line(board: Path) -> None:
    path = board / "challenge.yml"
    path.write_text(path.read_text() + "  - id: cartpole-V1\n")

    line = len(path.read_text().splitlines())
    assert run(board, "check")[::2] == (
        2, f"challenge.yml:{line}: the task id 'cartpole-V1' stands twice; rename one\n"
    )  # fmt: skip


def test_verify_names_a_tampered_result_and_exits_with_1(board: Path) -> None:
    run(board, "evaluate", "example_agents/cartpole-angle-rule", "--sandbox", "process")
    path = next((board / "results").rglob("*.json"))
    path.write_bytes(path.read_bytes().replace(b'"agent": "cartpole', b'"agent": "Cartpole'))

    code, _, err = run(board, "verify")

    assert code == 1
    assert f"{path.name}: refuted" in err.replace("\n", "")


def test_rerun_plays_the_agents_again(board: Path) -> None:
    run(board, "evaluate", "example_agents/cartpole-angle-rule", "--sandbox", "process")

    code, _, err = run(board, "verify", "--rerun", "--sandbox", "process")

    assert code == 0
    assert "1 verified" in err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_demo_keeps_what_was_finished(board: Path, how: signal.Signals) -> None:
    for number in range(3):
        agent(board, f"agent-{number}", SHORT + f"# {number}\n")
    process = start(board, "demo", "--sandbox", "process")
    until = time.monotonic() + 300
    while not list(board.glob("results/*/*/*/[!.]*.json")) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(how)
    _, err = process.communicate(timeout=300)

    kept = files(board)
    assert kept
    assert "Traceback" not in err
    if how is not signal.SIGKILL:
        assert process.returncode == 130
        assert err.count("Stopped. What was finished is recorded; the same command goes on from there.\n") == 1
    assert run(board, "demo", "--sandbox", "process")[0] == 0
    after = files(board)
    assert {name: after[name] for name in kept} == kept
    assert len(after) == 4
