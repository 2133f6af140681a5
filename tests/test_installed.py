"""The command, installed by pip from a board's repository alone: in every other folder it scores by that board's rules."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import PathDistribution, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import setup
from tests.scripts.checkouts import run, submit
from tests.workflows.board import lay_out
from tests.workflows.files import ROOT

RULE = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return int(observation[2] > 0)\n"
RULES = """\
title: A board that somebody installs
season: autumn
tasks:
  - id: CartPole-v1
    episodes: 3
    few_episodes: true
    random: {score: 22, source: test}
    reference: {score: 475, source: test}
  - id: hall
    env: rooms.hall:Hall-v0
    episodes: 3
    few_episodes: true
    metrics:
      - {name: Return, kind: mean_return, direction: higher}
      - {name: Steps, kind: "steps:mean", direction: lower}
  - id: attic
    env: evaluator.environments.attic:Attic-v0
    episodes: 3
    few_episodes: true
  - {id: tiny, game: "tiny:env", matches: 2, opening: 0}
"""
# What hosts put beside challenge.yml: a package with a file that it reads, a metric, a game; and one among our environments.
HALL = """\
import json
from pathlib import Path
import gymnasium
import numpy as np
from gymnasium import spaces

LENGTH = json.loads(Path(__file__).with_name("map.json").read_text())["length"]


class Hall(gymnasium.Env):
    observation_space, action_space = spaces.Box(0, LENGTH, (1,), np.int64), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.integers(0, LENGTH, 1)
        return self.place.copy(), {}

    def step(self, action):
        self.place = self.place + 1
        return self.place.copy(), float(action), bool(self.place[0] >= LENGTH), False, {}


gymnasium.register("NAME-v0", entry_point=Hall, max_episode_steps=50)
"""
STEPS = "def mean(episodes):\n    return sum(episode.length for episode in episodes) / len(episodes)\n"
PLAYER = "class Agent:\n    def act(self, observation):\n        return int(observation['action_mask'].argmax())\n"


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board's repository: this checkout as it is, with rules of its own, committed."""
    root = lay_out(tmp_path_factory.mktemp("repository"), RULES)
    hosts = {
        "rooms/__init__.py": "", "rooms/hall.py": HALL.replace("NAME", "Hall"),
        "rooms/map.json": '{"length": 9}', "steps.py": STEPS,
        "tiny.py": (ROOT / "tests/evaluator/tiny_games.py").read_text() + "\ndef env(**words):\n    return Tiny(**words)\n",
        "evaluator/environments/map.json": '{"length": 4}', "evaluator/environments/attic.py": HALL.replace("NAME", "Attic"),
    }  # fmt: skip
    for name, text in hosts.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    identity = ("-c", "user.name=host", "-c", "user.email=host@example.org")
    for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "A board")):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


@pytest.fixture(scope="module")
def installed(board: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the board's package; what it depends on is taken from this one, so that no index is asked."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    packages = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    Path(packages, "here.pth").write_text(sysconfig.get_path("purelib") + "\n")
    command = [
        sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "--quiet", "--no-index",
        "--no-build-isolation", "--ignore-installed", "--no-deps", f"git+file://{board}",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, text=True)
    return folder


def in_folder(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A program of the environment, started in a folder that is no clone."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PULLRANK_PINNED", "PYTHON"))}
    return subprocess.run([installed / "bin" / words[0], *words[1:]], cwd=folder, env=own, capture_output=True, text=True)


def test_an_agent_in_any_folder_gets_the_result_that_it_has_in_the_boards_clone(
    board: Path, installed: Path, tmp_path: Path
) -> None:
    agent = tmp_path / "rule"
    shutil.copytree(board / submit(board, "rule", RULE, "[CartPole-v1]"), agent)
    assert run(board, "evaluate", "submissions/alice/rule", "--sandbox", "process")[0] == 0
    (at_home,) = (json.loads(path.read_text()) for path in (board / "results/CartPole-v1").rglob("*.json"))

    played = in_folder(installed, tmp_path, "pullrank", "evaluate", "rule", "--sandbox", "process", "--json")

    assert played.returncode == 0, played.stderr
    (away,) = json.loads(played.stdout)
    assert len(away["returns"]) == 3
    same = ("key", "season", "task_digest", "runtime_digest", "submission_digest", "seeds", "returns", "lengths")
    assert {name: away[name] for name in same} == {name: at_home[name] for name in same}


@pytest.mark.parametrize("task", ["hall", "attic"])
def test_a_hosts_own_modules_come_with_it_and_measure_the_same(
    board: Path, installed: Path, tmp_path: Path, task: str
) -> None:
    at_home = board / submit(
        board, f"one-{task}", "class Agent:\n    def act(self, observation):\n        return 1\n", f"[{task}]"
    )
    shutil.copytree(at_home, tmp_path / at_home.name)
    # Its own code is played there, not this checkout's.
    words = [sys.executable, "-m", "scripts.cli", "evaluate", str(at_home.relative_to(board)), "--sandbox", "process"]
    subprocess.run(words, cwd=board, check=True, capture_output=True)
    (recorded,) = (json.loads(path.read_text()) for path in (board / "results" / task).rglob("*.json"))

    played = in_folder(installed, tmp_path, "pullrank", "evaluate", at_home.name, "--sandbox", "process", "--json")

    assert played.returncode == 0, played.stderr
    (away,) = json.loads(played.stdout)
    assert away["task_digest"] == recorded["task_digest"]
    assert (away["returns"], away.get("metrics")) == (recorded["returns"], recorded.get("metrics"))
    assert ("steps:mean" in away["metrics"]) == (task == "hall")


def test_a_hosts_own_game_comes_with_it(board: Path, installed: Path, tmp_path: Path) -> None:
    shutil.copytree(board / submit(board, "player", PLAYER, "[tiny]"), tmp_path / "player")

    played = in_folder(installed, tmp_path, "pullrank", "evaluate", "player", "--sandbox", "process")

    assert played.returncode == 0, played.stderr
    assert "may enter tiny" in played.stdout


@pytest.mark.attack(
    "modules_named_as_ours", family="supply", outcome="ours are imported",
    tries="Names files in its folder like modules of ours and of Python, for whoever starts the command in that folder.",
)  # fmt: skip
def test_modules_in_an_agents_folder_never_take_the_place_of_ours(installed: Path, tmp_path: Path) -> None:
    for name in ("scripts/__init__.py", "evaluator/__init__.py", "json.py", "numpy.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("print('this ran outside of the sandbox')\n")

    checked = in_folder(installed, tmp_path, "pullrank", "evaluate", ".", "--sandbox", "process")

    assert checked.returncode == 1, checked.stderr
    assert "outside of the sandbox" not in checked.stdout + checked.stderr


@pytest.mark.attack(
    "configuration_of_a_site", family="supply", outcome="no site is built there",
    tries="Brings settings of MkDocs that run code, for whoever builds the site in its folder.",
)  # fmt: skip
@pytest.mark.parametrize("with_rules", [False, True])
def test_no_site_is_built_by_what_an_agents_folder_says(installed: Path, tmp_path: Path, with_rules: bool) -> None:
    """Hooks, templates and modules named as MkDocs would run outside of the sandbox."""
    ran = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"
    hook = "site_name: Mine\ndocs_dir: build/pages\nhooks: [hook.py]\n"
    files = {"agent.py": RULE, "hook.py": ran, "mkdocs.py": ran, "mkdocs.yml": hook, "site/pages/index.md": "# Mine\n"}
    for name, text in {**files, "site/assets/mine.css": "", **({"challenge.yml": RULES} if with_rules else {})}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    built = in_folder(installed, tmp_path, "pullrank", "site", "build")

    assert not (tmp_path / "ran").exists(), built.stderr
    assert built.returncode == 2, built.stderr
    assert "inside a leaderboard's clone" in built.stderr


@pytest.mark.parametrize(
    "words", [("check",), ("check", "--host"), ("init", "--title", "A", "--owner", "o", "--repository", "o/b"),
              ("season", "final", "--yes"), ("schemas", "--check")],
)  # fmt: skip
def test_what_is_about_a_board_itself_is_refused_outside_of_one(
    installed: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    ended = in_folder(installed, tmp_path, "pullrank", *words)

    assert ended.returncode == 2
    assert ended.stderr == "there is no challenge.yml here or above; run this inside a leaderboard's clone\n"
    assert list(tmp_path.iterdir()) == []


def test_what_lies_at_the_root_of_this_repository_is_named_as_its_own() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()

    assert {name.partition("/")[0] for name in listed if not name.startswith(".")} <= setup.PULLRANKS_OWN


def test_nothing_of_it_comes_from_this_checkout(installed: Path, tmp_path: Path) -> None:
    code = "import evaluator, leaderboard, pullrank, scripts; print(evaluator.__file__, pullrank.__file__, scripts.__file__)"

    places = in_folder(installed, tmp_path, "python", "-c", code).stdout.split()

    assert len(places) == 3
    assert all(Path(place).is_relative_to(installed) for place in places), places


def test_a_function_is_scored_from_python(installed: Path, tmp_path: Path) -> None:
    code = "import pullrank; print(len(pullrank.evaluate(lambda o: int(o[2] > 0), 'CartPole-v1').returns))"

    played = in_folder(installed, tmp_path, "python", "-c", code)

    assert played.stdout == "3\n", played.stderr


def test_new_writes_a_folder_that_it_scores(installed: Path, tmp_path: Path) -> None:
    assert in_folder(installed, tmp_path, "pullrank", "new", "mine", "--task", "CartPole-v1").returncode == 0

    played = in_folder(installed, tmp_path, "pullrank", "evaluate", "mine", "--sandbox", "process")

    assert played.returncode == 0, played.stderr
    assert "CartPole-v1  ok" in played.stdout
    assert "No score" not in played.stdout
    assert "could not be fetched" not in played.stderr
    assert "run this in a clone of the board for the place" in played.stderr
    assert "Places are among the results in this folder;" in played.stdout


def test_the_image_that_it_would_build_is_the_boards(installed: Path, tmp_path: Path) -> None:
    code = (
        "from evaluator.host.digests import image_files as i; import hashlib; "
        "print(sorted((k, hashlib.sha256(v).hexdigest()) for k, v in i.build_context(['onnx', 'torch']).items()))"
    )

    here = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert len(here) > 1000
    assert in_folder(installed, tmp_path, "python", "-c", code).stdout == here


def test_pip_is_asked_for_what_a_clone_installs(installed: Path) -> None:
    (about,) = installed.glob("lib/python*/site-packages/pullrank-*.dist-info")
    asked = [Requirement(text) for text in PathDistribution(about).requires or ()]
    needed = {asking.name for asking in asked if asking.marker is None}
    lines = (ROOT / "requirements/runtime.in").read_text().splitlines()

    assert needed == {Requirement(line).name for line in lines if line and not line.startswith("#")}
    assert [str(asking) for asking in asked if asking.name in needed and version(asking.name) not in asking.specifier] == []
