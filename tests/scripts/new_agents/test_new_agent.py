"""`pullrank new`: what it writes for every kind and adapter is checked and evaluated as it stands."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.loading.submission_folder import read_folder
from evaluator.model.config.submission import ADAPTERS, SubmissionKind
from evaluator.model.config.submission_limits import SubmissionLimits
from scripts.new_agents.new_agent import AGENT_TEMPLATES
from scripts.repository.layout import TEMPLATE_FOLDER
from tests.scripts.checkouts import ROOT, run

CHALLENGE = """\
title: Test board
season: test
limits: {start_seconds: 60}
baselines: []
tasks:
  - {id: CartPole-v1, episodes: 2, few_episodes: true}
  - {id: Pendulum-v1, episodes: 2, few_episodes: true}
  - {id: FrozenLake-v1, episodes: 2, few_episodes: true}
  - {id: tictactoe, game: pettingzoo.classic.tictactoe_v3, matches: 2}
  - {id: connect_four, game: pettingzoo.classic.connect_four_v3, matches: 2}
  - {id: quarto, game: evaluator.environments.quarto, matches: 2}
  - {id: throws, game: pettingzoo.classic.rps_v2, matches: 2, opening: 0}
  - {id: pole, env: CartPole-v1, reusable: true, few_episodes: true, script: {steps: 4000, last: 5, worst: 1}}
  - {id: swing, env: Pendulum-v1, reusable: true, few_episodes: true, script: {steps: 4000, last: 5, worst: -2000}}
  - {id: lake, env: FrozenLake-v1, reusable: true, few_episodes: true, script: {steps: 4000, last: 5, worst: 0}}
"""
SOLO = ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"]
# What runs here. Adapters that need an extra run in containers only: tests/docker/test_extras.py has them, with other files.
HERE = {
    (): [*SOLO, "tictactoe", "connect_four", "quarto", "throws"],
    ("--task", "Pendulum-v1"): ["Pendulum-v1"],
    ("--one-file", "--task", "CartPole-v1"): ["CartPole-v1"],
    ("--task", "tictactoe", "--task", "throws"): ["tictactoe", "throws"],
    ("--kind", "script"): ["pole", "swing", "lake"],
    ("--kind", "script", "--task", "lake"): ["lake"],
    ("--adapter", "rl-arena"): ["tictactoe", "connect_four", "quarto"],
    ("--adapter", "kaggle-connectx"): ["connect_four"],
    ("--adapter", "predict"): SOLO,
    ("--adapter", "function"): ["CartPole-v1", "FrozenLake-v1"],
    ("--adapter", "function", "--task", "Pendulum-v1"): ["Pendulum-v1"],
    ("--adapter", "gym-policy"): SOLO,
}
NEED_AN_EXTRA = {"sb3", "onnx", "evalai-grpc"}
FOLDER = "submissions/alice/first"
DIGEST = "0" * 64


@pytest.fixture
def board(tmp_path: Path) -> Path:
    (tmp_path / "challenge.yml").write_text(CHALLENGE)
    return tmp_path


@pytest.mark.parametrize("words", HERE, ids=" ".join)
def test_what_is_written_passes_check_and_evaluate_at_once(words: tuple[str, ...], board: Path) -> None:
    assert run(board, "new", FOLDER, *words)[0] == 0
    assert run(board, "check", FOLDER)[::2] == (0, "challenge.yml and 1 folder are fine.\n")
    code, out, err = run(board, "evaluate", FOLDER, "--sandbox", "process", "--json")

    outcome: list[dict[str, Any]] = json.loads(out)
    assert (code, "rules broken" in err) == (0, False)
    assert {document["verdict"] for document in outcome} == {"ok"}
    assert sorted(document["task"] for document in outcome) == sorted(HERE[words])


def test_every_kind_and_adapter_has_a_template_and_a_test() -> None:
    assert [kind for kind in SubmissionKind if not any(one.kind is kind for one in AGENT_TEMPLATES)] == []
    assert [name for name in ADAPTERS if not any(one.adapter == name for one in AGENT_TEMPLATES)] == []
    tested = {words[1] for words in HERE if words[:1] == ("--adapter",)}
    assert tested | NEED_AN_EXTRA == set(ADAPTERS)


@pytest.mark.parametrize("folder", sorted(TEMPLATE_FOLDER.iterdir()), ids=lambda path: path.name)
def test_a_template_is_itself_a_submission_that_the_schema_finds(folder: Path) -> None:
    first = (folder / "submission.yml").read_text().splitlines()[0]
    if folder.name != "image":
        read_folder(folder, SubmissionLimits())

    schema = folder / first.partition("$schema=")[2]
    assert schema.resolve() == ROOT / "site/pages/schemas/submission.json"


def test_an_image_says_in_one_line_what_is_still_to_do(board: Path) -> None:
    _, _, message = run(board, "new", FOLDER, "--kind", "image")
    code, _, err = run(board, "check", FOLDER)

    assert f"build and push the image as {FOLDER}/README.md says" in message
    assert (code, err.count("\n")) == (1, 1)
    assert f"{FOLDER}/submission.yml:6: 'entry' still has the template's digest; build and push" in err
    commands = (board / FOLDER / "README.md").read_text()
    assert "docker push ghcr.io/alice/first\n" in commands
    assert "your-login" not in commands
    manifest = board / FOLDER / "submission.yml"
    assert f"entry: ghcr.io/alice/first@sha256:{DIGEST}" in manifest.read_text()

    manifest.write_text(manifest.read_text().replace(DIGEST, "ab" * 32))
    assert read_folder(board / FOLDER, SubmissionLimits()).image is not None


def test_a_model_of_another_environment_is_not_written(board: Path) -> None:
    _, _, message = run(board, "new", FOLDER, "--adapter", "sb3", "--task", "Pendulum-v1")

    assert "train.py, which makes model.zip" in message
    assert not (board / FOLDER / "model.zip").exists()
    assert 'ENVIRONMENT = "Pendulum-v1"\n' in (board / FOLDER / "train.py").read_text()


def test_a_saved_model_is_not_read_as_python(board: Path) -> None:
    folders = [f"{FOLDER}-{adapter}" for adapter in ("sb3", "onnx")]
    for folder, adapter in zip(folders, ("sb3", "onnx"), strict=True):
        run(board, "new", folder, "--adapter", adapter)

    assert run(board, "check", *folders)[::2] == (0, "challenge.yml and 2 folders are fine.\n")


def test_what_only_a_person_can_answer_is_written_out_to_be_answered(board: Path) -> None:
    asked = "people: {terms: terms.md, fields: [{name: Lab, required: true}, {name: Open, kind: boolean, required: true}]}\n"
    (board / "challenge.yml").write_text(CHALLENGE + asked)
    _, _, message = run(board, "new", FOLDER)
    manifest = board / FOLDER / "submission.yml"

    assert f"answer what is asked at the end of {FOLDER}/submission.yml" in message
    assert run(board, "check", FOLDER)[0] == 1
    text = manifest.read_text()
    manifest.write_text(text.replace("# terms", "terms").replace("# meta", "meta").replace("#   ", "  "))
    assert run(board, "check", FOLDER)[0] == 0


def test_a_script_keeps_to_the_budget_of_its_task(board: Path) -> None:
    """Every episode that counts is played to its end, though the task's limits are not those in the file."""
    run(board, "new", FOLDER, "--kind", "script", "--task", "swing")
    assert run(board, "evaluate", FOLDER, "--sandbox", "process", "--out", str(board / "results"))[0] == 0

    (path,) = (board / "results").rglob("*.json")
    record = json.loads(path.read_bytes())["script"]
    assert sum(record["lengths"][: record["counts_from"]]) == 3000
    assert record["lengths"][record["counts_from"] :] == [200] * 5
    assert set(record.get("unfinished", [])) <= {record["counts_from"] - 1}


def test_check_tells_a_host_of_a_budget_that_leaves_nothing_to_train_with(board: Path) -> None:
    few = CHALLENGE.replace("script: {steps: 4000, last: 5, worst: -2000}", "script: {steps: 1000, last: 5, worst: -2000}")
    (board / "challenge.yml").write_text(few)

    code, _, err = run(board, "check")

    assert code == 2
    (line,) = [line for line in err.splitlines() if "swing:" in line]
    assert line.startswith("challenge.yml:14: task swing: script: 5 episodes of at most 200 steps may take 1,000 steps, and")


def test_a_script_runs_at_home_without_the_board_too(tmp_path: Path) -> None:
    shutil.copy(TEMPLATE_FOLDER / "script" / "submission.py", tmp_path)
    few = {**os.environ, "PULLRANK_TRAINING_STEPS": "500", "PULLRANK_EVALUATION_EPISODES": "2"}

    done = subprocess.run(
        [sys.executable, "-u", "submission.py", "CartPole-v1"],
        cwd=tmp_path, env=few, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert json.loads(done.stdout.splitlines()[-1])["episodes"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kind", "robot"), "there is no kind 'robot'; the kinds are policy, script, image"),
        (("--adapter", "robot"), "there is no adapter 'robot'; the adapters are rl-arena"),
        (("--kind", "script", "--adapter", "predict"), "adapters run agents of the kind policy"),
        (("--kind", "script", "--task", "CartPole-v1"), "CartPole-v1 is none of them"),
        (("--adapter", "kaggle-connectx", "--task", "quarto"), "quarto is none of them"),
        (("--task", "Nowhere"), "there is no task 'Nowhere'"),
    ],
)
def test_what_cannot_be_is_said_in_one_line_and_nothing_is_written(
    words: tuple[str, ...], message: str, board: Path
) -> None:
    code, _, err = run(board, "new", FOLDER, *words)

    assert (code, err.count("\n")) == (2, 1)
    assert message in err
    assert not (board / FOLDER).exists()


def test_a_board_without_such_tasks_says_so(board: Path) -> None:
    (board / "challenge.yml").write_text(
        'title: T\nseason: "1"\ntasks: [{id: CartPole-v1, episodes: 2, few_episodes: true}]\n'
    )

    code, _, err = run(board, "new", FOLDER, "--kind", "script")
    assert (code, "this challenge has none of them" in err) == (2, True)


def test_a_name_is_quoted_whatever_is_in_it(board: Path) -> None:
    run(board, "new", FOLDER, "--name", 'A "b": \\ #c', "--task", "CartPole-v1")

    assert read_folder(board / FOLDER, SubmissionLimits()).submission.name == 'A "b": \\ #c'


def test_one_file_holds_all(board: Path) -> None:
    _, _, err = run(board, "new", FOLDER, "--one-file", "--task", "CartPole-v1")
    folder = read_folder(board / FOLDER, SubmissionLimits())

    assert err.startswith(f"Wrote {FOLDER}/agent.py. Next: ")
    assert [blob.path for blob in folder.blobs] == ["agent.py"]
    assert folder.submission.tasks == ("CartPole-v1",)
    assert run(board, "check", FOLDER)[0] == 0


@pytest.mark.parametrize("options", [("--kind", "script"), ("--kind", "image"), ("--adapter", "predict")])
def test_one_file_is_for_agent_py(board: Path, options: tuple[str, ...]) -> None:
    code, _, err = run(board, "new", FOLDER, "--one-file", *options)

    assert code == 2
    assert "--one-file is for agents that agent.py defines; leave it out" in err
    assert not (board / FOLDER).exists()


@pytest.mark.parametrize("adapter", ["onnx", "sb3"])
def test_an_adapter_that_has_no_template_for_games_says_what_to_do(board: Path, adapter: str) -> None:
    code, _, err = run(board, "new", FOLDER, "--adapter", adapter, "--task", "tictactoe")

    advice = {"onnx": f"for a game give your own network: pullrank new {FOLDER} --from model.onnx --task tictactoe"}
    assert (code, (board / FOLDER).exists()) == (2, False)
    assert err.strip().endswith(advice.get(adapter, "tictactoe is none of them: name another --task"))
