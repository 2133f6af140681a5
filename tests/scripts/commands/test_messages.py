"""What `check` and `evaluate` say about bad submissions: each fault in one line, with its place and what to do."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from evaluator.host.docker.engine_errors import build_failure
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.errors import EnvironmentFault
from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.model.config.task import Task
from evaluator.model.records.stored_record import ASKED_AGAIN
from evaluator.model.records.verdict import Verdict
from scripts.commands import check
from scripts.repository.checkout import Checkout
from scripts.terminal import evaluation_tables
from tests.leaderboard import make
from tests.scripts.checkouts import GAMES, LEGAL, game_board, run
from tests.weights_server import gives, serving, weights

GOOD = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return 1\n"
HEAD = "name: A\nalgorithm: b\n"


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("board")
    (root / "challenge.yml").write_text(GAMES)
    return root


def put(board: Path, name: str, files: dict[str, str | bytes]) -> str:
    folder = board / "submissions/alice" / name
    folder.mkdir(parents=True)
    for path, content in files.items():
        (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return f"submissions/alice/{name}"


CHECKED: dict[str, tuple[dict[str, str | bytes], str]] = {
    "wrong-task": (
        {"submission.yml": HEAD + "tasks:\n  - CartPole-v1\n  - TicTacToe\n", "agent.py": GOOD},
        "/submission.yml:5: there is no task 'TicTacToe'; did you mean 'tictactoe'?",
    ),
    "strange-task": (
        {"submission.yml": HEAD + "tasks: [Chess]\n", "agent.py": GOOD},
        "/submission.yml:3: there is no task 'Chess'; the tasks are CartPole-v1, five, tictactoe",
    ),
    "capitals": (
        {"submission.yml": HEAD, "agent.PY": GOOD},
        "/agent.py: the entry file does not exist; agent.PY is there: rename it, or correct 'entry' in submission.yml",
    ),
    "ending": (
        {"submission.yaml": HEAD, "agent.py": GOOD},
        "/submission.yml: is missing; submission.yaml is there: rename it",
    ),
    "large": (
        {"submission.yml": HEAD, "agent.py": GOOD, "weights.bin": bytes(26 << 20)},
        (
            ": the folder holds 26 MiB of at most 25 MiB; largest: weights.bin 26 MiB; "
            "have it fetched: 'weights' in the manifest"
        ),
    ),
    "extra": (
        {"submission.yml": HEAD + "license: MIT\nextras: [tensorflow]\n", "agent.py": GOOD},
        (
            "/submission.yml:4: there is no extra 'tensorflow'; the extras are numpy, torch, sb3, onnx, grpc, "
            "or bring an image (kind: image)"
        ),
    ),
    "near-extra": (
        {"submission.yml": HEAD + "extras: [Torch]\n", "agent.py": GOOD},
        "/submission.yml:3: there is no extra 'Torch'; did you mean 'torch'? Or bring an image (kind: image)",
    ),
    "one-task": (
        {"submission.yml": HEAD + "tasks: CartPole-v1\n", "agent.py": GOOD},
        "/submission.yml:3: 'tasks' must be a list; write [CartPole-v1]",
    ),
    "number-for-task": (
        {"submission.yml": HEAD + "tasks: [CartPole-v1, 5]\n", "agent.py": GOOD},
        "/submission.yml:3: 'tasks.1' must be text; write it in quotes",
    ),
    "long-algorithm": (
        {"submission.yml": "name: A\nalgorithm: " + "x" * 70 + "\n", "agent.py": GOOD},
        "/submission.yml:2: 'algorithm' has 70 characters of at most 60; shorten it",
    ),
    "yes-or-no": (
        {"submission.yml": HEAD + "terms: agreed\n", "agent.py": GOOD},
        "/submission.yml:3: 'terms' must be true or false",
    ),
    "no-mapping": (
        {"submission.yml": HEAD + "meta: [Lab]\n", "agent.py": GOOD},
        "/submission.yml:3: 'meta' must be a mapping of keys to values",
    ),
}


@pytest.mark.parametrize("name", CHECKED)
def test_check_says_in_one_line_what_is_wrong_and_where(board: Path, name: str) -> None:
    files, message = CHECKED[name]
    folder = put(board, name, files)

    assert run(board, "check", folder) == (1, "", f"{folder}{message}\n")


NOT_THERE = {
    "local/random": "did you mean 'example_agents/random'?",
    "random": "did you mean 'example_agents/random'?",
    "example_agents/Randm": "did you mean 'example_agents/random'?",
    "alice/player": "did you mean 'submissions/alice/player'?",
    "submission/alice/player": "did you mean 'submissions/alice/player'?",
    "zzzz": "name the folder of an agent, such as submissions/alice/player",
}


@pytest.mark.parametrize("opponent", NOT_THERE)
def test_an_opponent_that_is_not_there_is_answered_with_the_folder_that_was_meant(tmp_path: Path, opponent: str) -> None:
    board = game_board(tmp_path)
    folder = put(board, "player", {"submission.yml": HEAD, "agent.py": LEGAL})

    code, _, err = run(board, "duel", folder, opponent, "--game", "tictactoe", "--sandbox", "process")

    assert (code, err) == (1, f"{opponent}: cannot be read (No such file or directory); {NOT_THERE[opponent]}\n")


def test_on_a_board_without_agents_a_folder_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "challenge.yml").write_text(GAMES)

    assert run(tmp_path, "evaluate", "zzzz")[2] == (
        "zzzz: cannot be read (No such file or directory); name the folder of an agent\n"
    )


def test_faults_are_listed_in_the_order_of_their_lines(board: Path) -> None:
    weights = "weights:\n  - file: a.zip\n    url: https://a.example/a.zip\n    sha256: abc\n    bytes: -1\n"
    manifest = "name: A\nalgoritm: b\n" + weights + "license: MIT\n"
    folder = put(board, "many-faults", {"submission.yml": manifest, "agent.py": GOOD})

    _, _, err = run(board, "check", folder)

    assert err.splitlines() == [
        f"{folder}/submission.yml:1: the key 'algorithm' is missing; add it",
        f"{folder}/submission.yml:2: unknown key 'algoritm'; did you mean 'algorithm'?",
        f"{folder}/submission.yml:6: 'weights.0.sha256' must be 64 of the digits 0-9 and a-f",
        f"{folder}/submission.yml:7: 'weights.0.bytes' is -1; it must be at least 1",
    ]


CHALLENGES = {
    "tasks: [{id: A, episodes: 0}]": "'tasks.0.episodes' is 0; it must be at least 1",
    "tasks: [{id: A, episodes: ten}]": "'tasks.0.episodes' must be a whole number",
    "tasks: [{id: A, decimals: 99}]": "'tasks.0.decimals' is 99; it must be at most 6",
    "tasks: [{id: A, score: median}]": "'tasks.0.score' must be 'mean' or 'iqm'",
    "tasks: [{id: A, random: 5}]": "'tasks.0.random' must be a mapping; its keys are score, source",
    "tasks: [{id: A, bounds: [1]}]": "'tasks.0.bounds' has 1 item; add another",
    "tasks: [{id: A, bounds: [5, 1]}]": "tasks.0: 'bounds' must be [least, greatest] with least below greatest",
    "tasks: [{id: A}]\nquota: 3": "'quota' must be a mapping; its keys are per_day, per_month, total, of",
    f"tasks: [{{id: A, episodes: {2**62}}}]": "'tasks.0.episodes' must be at most 10000",
    "tasks: []": "'tasks' needs at least 1 item",
}


@pytest.mark.parametrize("tasks", CHALLENGES)
def test_a_fault_of_a_task_is_one_line_in_plain_words(tasks: str) -> None:
    with pytest.raises(LoadError) as caught:
        parse_challenge(f"title: x\nseason: '1'\n{tasks}\n".encode())

    assert caught.value.lines == (f"challenge.yml:{3 + tasks.count(chr(10))}: {CHALLENGES[tasks]}",)


SLOW = "import time\nclass Agent:\n    def act(self, observation):\n        time.sleep(9)\n"
PLAYED = {
    "seven": ("class Agent:\n    def act(self, o):\n        return 7\n", "episode 0, step 0: the action 7 is outside 0…1"),
    "torch": (
        "import torch\n" + GOOD,
        (
            "importing agent.py raised ModuleNotFoundError: No module named 'torch' at agent.py:1; "
            "write 'extras: [torch]' in the manifest"
        ),
    ),
    "tensorflow": (
        "import tensorflow\n" + GOOD,
        (
            "importing agent.py raised ModuleNotFoundError: No module named 'tensorflow' at agent.py:1; "
            "add its file, or bring an image that has it (kind: image)"
        ),
    ),
    "gym": (
        "import gym\n" + GOOD,
        (
            "importing agent.py raised ModuleNotFoundError: No module named 'gym' at agent.py:1; "
            "import gymnasium, which took the place of gym"
        ),
    ),
    "text": (
        "class Agent:\n    def act(self, o):\n        return 'left'\n",
        "episode 0, step 0: act returned str 'left'; this task wants one integer",
    ),
    "slow": (
        SLOW,
        "no answer within 1 s, 0.5 s for each of 2 live episodes; do less in each step, or answer all at once in act_batch",
    ),
    "later": (
        (
            "class Agent:\n    def __init__(self):\n        self.n = 0\n    def act(self, o):\n        self.n += 1\n"
            "        return self.left()\n    def left(self):\n        return {}[self.n] if self.n > 4 else 1\n"
        ),
        "episode 0, step 4: act raised KeyError: 5 at agent.py:8",
    ),
}


@pytest.mark.parametrize("name", PLAYED)
def test_evaluate_says_in_one_line_why_it_stopped(board: Path, name: str) -> None:
    source, message = PLAYED[name]
    folder = put(board, name, {"submission.yml": HEAD + "tasks: [CartPole-v1]\n", "agent.py": source})
    (board / "challenge.yml").write_text(GAMES.replace("start_seconds: 30", "start_seconds: 30, answer_seconds: 0.5"))

    code, out, _ = run(board, "evaluate", folder, "--sandbox", "process")

    assert code == 1
    assert f"  {message}\n" in out, "whole, in a line of its own"


def test_the_log_ends_with_the_agents_own_frames(board: Path) -> None:
    source, _ = PLAYED["later"]
    folder = put(board, "frames", {"submission.yml": HEAD + "tasks: [CartPole-v1]\n", "agent.py": source})

    _, out, _ = run(board, "evaluate", folder, "--sandbox", "process")

    shown = [line.strip(" |") for line in out.splitlines() if line.startswith("  |")]
    assert shown == [
        "Where it happened, the most recent call last:",
        'File "agent.py", line 6, in act',
        "return self.left()",
        "^^^^^^^^^^^",
        'File "agent.py", line 8, in left',
        "return {}[self.n] if self.n > 4 else 1",
        "~~^^^^^^^^",
        "KeyError: 5",
    ]


def test_an_agent_reads_what_lies_beside_it(board: Path) -> None:
    source = "ACTION = int(open('weights.txt').read())\nclass Agent:\n    def act(self, o):\n        return ACTION\n"
    folder = put(
        board, "beside", {"submission.yml": HEAD + "tasks: [CartPole-v1]\n", "agent.py": source, "weights.txt": "1"}
    )

    assert run(board, "evaluate", folder, "--sandbox", "process")[0] == 0


def test_a_failure_of_the_machine_is_not_remembered_as_the_agents(board: Path) -> None:
    manifest = HEAD + "tasks: [CartPole-v1]\nextras: [torch]\n"
    folder = put(board, "machine", {"submission.yml": manifest, "agent.py": "import torch\n" + GOOD})

    code, out, err = run(board, "evaluate", folder, "--sandbox", "process")

    words = "torch of its extras is not installed on this machine; start Docker, which brings them, or install them with pip"
    assert (code, out) == (3, "")
    assert err.splitlines()[1:] == [f"{folder}: {words}"]
    assert not list(board.rglob("results/*/alice/machine/*"))


def test_a_fault_of_the_machine_promises_no_second_try_at_home(board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task, entry = make.task("CartPole-v1"), make.entry("alice")
    message = "weights a.zip: a.example answers with status 503"
    failed = make.result(entry, on=task).model_copy(
        update={"verdict": Verdict.INTERNAL_ERROR, "message": f"{message}; {ASKED_AGAIN}", "log_tail": ""}
    )

    evaluation_tables.evaluation_table(make.challenge(task), [failed])

    assert capsys.readouterr().out.endswith(
        f"\nCartPole-v1: internal_error. This machine or the evaluator failed, not the agent.\n  {message}\n"
    )


def test_a_player_is_not_beaten_by_what_the_machine_lacks(tmp_path: Path) -> None:
    board, source = game_board(tmp_path), "import torch\n" + LEGAL
    folder = put(board, "netted", {"submission.yml": HEAD + "tasks: [tictactoe]\nextras: [torch]\n", "agent.py": source})

    code, out, err = run(board, "duel", folder, folder, "--game", "tictactoe", "--sandbox", "process")
    assert (code, out, err.count("torch of its extras is not installed")) == (3, "", 1)

    code, out, _ = run(board, "tournament", "--game", "tictactoe", "--sandbox", "process", "--json")
    documents = [json.loads(path.read_text()) for path in board.rglob("results/**/*netted*/*.json")]
    assert (code, json.loads(out)["failed"]) == (3, 1)
    assert [(each["verdict"], each.get("first_attempt")) for each in documents] == [("internal_error", None)]


def test_a_check_of_weights_that_cannot_be_fetched_now_promises_nothing(
    board: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = HEAD + "weights:\n" + f"  - {weights(b'net').model_dump_json()}\n"
    folder = put(board, "cut-off", {"submission.yml": manifest, "agent.py": GOOD})
    with serving(tmp_path) as server:
        server.pages["/net.bin"] = gives(b"n", **{"Content-Length": "3"})
        monkeypatch.setattr(check, "WeightsCache", lambda: server.store(tmp_path / "store", other_host_answers=False))

        check.check_weights(Checkout(board).find(board / folder))

    said = capsys.readouterr().err
    assert "/submission.yml: weights net.bin: models.example does not answer as it should (IncompleteRead: " in said
    assert said.endswith("); so it was not looked at\n")


def test_a_table_in_a_narrow_terminal_cuts_no_verdict(board: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    task = make.task("FrozenLake-v1-from-scratch")
    results = [
        make.result(make.entry("a"), [-499.8, -1.0], on=task).model_copy(update={"verdict": verdict}) for verdict in Verdict
    ]
    monkeypatch.setattr(
        evaluation_tables, "output_console", lambda: Console(highlight=False, width=80, force_terminal=False)
    )

    evaluation_tables.evaluation_table(make.challenge(task), results)

    rows = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert len(rows) == 1 + len(Verdict), "one line for each"
    for row, verdict in zip(rows[1:], Verdict, strict=True):
        assert row.split()[:2] == [task.id, verdict]


def test_a_heading_in_a_narrow_terminal_is_broken_between_words(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    one, other, task = make.entry("alice"), make.entry("somebody"), make.game("connect_four")
    for width in range(80, 100):
        console = Console(highlight=False, width=width, force_terminal=False)
        monkeypatch.setattr(evaluation_tables, "output_console", lambda console=console: console)

        evaluation_tables.duels_table(one.name, [make.duel(one, other, on=task)], [task])

        assert {"won", "drawn", "lost", "rules", "broken", "score"} <= set(capsys.readouterr().out.split()), width


def test_a_crash_in_a_game_is_told_once_with_the_debugger(board: Path) -> None:
    source = "class Agent:\n    def act(self, observation):\n        return {}[1]\n"
    folder = put(board, "crashed-game", {"submission.yml": HEAD + "tasks: [CartPole-v1, tictactoe]\n", "agent.py": source})

    _, out, _ = run(board, "evaluate", folder, "--sandbox", "process")

    told = [line for line in out.splitlines() if "act raised KeyError: 1 at agent.py:3" in line]
    assert len(told) == 2, "of each task one line"
    assert "\ntictactoe: crashed. The agent's code stopped with an error.\n  match 0, ply " in out
    debugger = f"pullrank evaluate {folder} --task CartPole-v1 --pdb"
    assert f"\ncrashed: '{debugger}' opens the debugger where it failed.\n" in out


def test_no_debugger_is_offered_for_a_process_that_ended_itself(board: Path) -> None:
    source = "import os\nclass Agent:\n    def act(self, o):\n        print('x' * 9999, flush=True)\n        os._exit(3)\n"
    folder = put(board, "exits", {"submission.yml": HEAD + "tasks: [CartPole-v1]\n", "agent.py": source})

    _, out, _ = run(board, "evaluate", folder, "--sandbox", "process")

    assert "\n  the agent's process ended with exit code 3 before all episodes were played\n" in out
    assert "--pdb" not in out
    (shown,) = [line for line in out.splitlines() if "xxx" in line]
    assert shown.endswith("x…")
    assert len(shown) < 600


def test_a_start_that_takes_too_long_is_told_with_its_limit(board: Path) -> None:
    source = "import time\ntime.sleep(60)\n" + GOOD
    folder = put(board, "late", {"submission.yml": HEAD + "tasks: [CartPole-v1]\n", "agent.py": source})
    (board / "challenge.yml").write_text(GAMES.replace("start_seconds: 30", "start_seconds: 3"))

    _, out, _ = run(board, "evaluate", folder, "--sandbox", "process")

    assert "\n  the agent was not ready in time: its start may last 3 s\n" in out


def test_a_baseline_that_is_evaluated_alone_has_its_score(board: Path) -> None:
    (board / "challenge.yml").write_text("baselines: [always-one]\n" + GAMES)
    folder = board / "example_agents/always-one"
    folder.mkdir(parents=True)
    (folder / "submission.yml").write_text(HEAD + "tasks: [CartPole-v1]\n")
    (folder / "agent.py").write_text(GOOD)

    _, out, _ = run(board, "evaluate", "example_agents/always-one", "--sandbox", "process")

    assert "No score" not in out
    assert "\n✅ Preview: " in out


def test_the_engines_build_fails_with_the_reason_of_pip() -> None:
    output = [
        "Step 7/12 : RUN python3 -m venv /opt/venv && /opt/venv/bin/python -m pip install",
        " ---> Running in 0123456789ab",
        "Collecting numpy==2.4.6",
        "\x1b[91mERROR: Could not find a version that satisfies the requirement numpy==2.4.6 (from versions: none)\x1b[0m",
        "\x1b[91mERROR: No matching distribution found for numpy==2.4.6\x1b[0m",
    ]

    assert build_failure({}, output, "The command '/bin/sh -c python3 -m venv …' returned a non-zero code: 1") == (
        "the evaluator image cannot be built: ERROR: Could not find a version that satisfies the requirement numpy==2.4.6 "
        "(from versions: none)"
    )


def test_the_reason_of_pip_has_no_list_of_versions_and_shows_where_it_is_cut() -> None:
    fault = "ERROR: Could not find a version that satisfies the requirement flatbuffers==99.9.9 (from versions: {})"

    listed = build_failure({}, [fault.format(", ".join(f"1.{number}" for number in range(200)))], "")
    long = build_failure({}, [f"ERROR: {'x' * 999}"], "")

    assert listed == f"the evaluator image cannot be built: {fault.format('1.0 … 1.199')}"
    assert long.endswith("xx…")
    assert len(long) < 400


@pytest.mark.parametrize(("env", "command"), [("Ant-v5", "make mujoco"), ("ALE/Pong-v5", "make atari")])
def test_a_missing_package_of_environments_is_named_with_the_command_that_installs_it(env: str, command: str) -> None:
    with pytest.raises(EnvironmentFault) as caught:
        load_gym_task(Task(id="one", env=env))

    assert f"; '{command}' installs it" in str(caught.value)
    assert "\n" not in str(caught.value)
