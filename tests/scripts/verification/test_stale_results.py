"""What makes a recorded result stale, seen by the command: `plan` wants it again, `verify` says why it compares nothing."""

import json
import shutil
from pathlib import Path

import pytest

from evaluator.model.measurement_version import MEASUREMENT_VERSION
from tests.scripts.checkouts import LEGAL, put, records, run

BEFORE = Path(__file__).parent / "schema_1"
CHALLENGE = """\
title: Own code
season: test
limits: {start_seconds: 30}
tasks:
  - id: coins
    env: coins.worlds:Coins-v0
    kwargs: {bonus: "coins.extra:Bonus"}
    episodes: 2
  - id: CartPole-v1
    episodes: 2
    max_episode_steps: 5
    metrics:
      - {name: First, kind: "counting:first", direction: higher}
  - id: match
    game: duelling:make
    matches: 2
    opening: 0
  - id: MountainCar-v0
    episodes: 2
    max_episode_steps: 5
"""
FILES = {
    "coins/__init__.py": "",
    "coins/worlds.py": """\
import gymnasium

gymnasium.register("Coins-v0", entry_point="coins.table:Table")
""",
    "coins/table.py": """\
import json
from pathlib import Path

import gymnasium
from gymnasium import spaces

from . import prices

class Table(gymnasium.Env):
    def __init__(self, bonus):
        self.observation_space = spaces.Discrete(2)
        self.action_space = spaces.Discrete(2)
        self.left = 0
        self.size = json.loads((Path(__file__).parent / "size.json").read_text())

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = self.size
        return 0, {}

    def step(self, action):
        self.left -= 1
        return 0, prices.PRICE, self.left == 0, False, {}
""",
    "coins/prices.py": "PRICE = 1.0\n",
    "coins/size.json": "3",
    "coins/extra.py": "class Bonus:\n    pass\n",
    "counting.py": "def first(episodes):\n    return episodes[0].total\n",
    "duelling.py": """\
import importlib

def make(**kwargs):
    return importlib.import_module("rules").make(**kwargs)
""",
    "rules.py": """\
from pettingzoo.classic import tictactoe_v3

def make(**kwargs):
    return tictactoe_v3.raw_env(**kwargs)
""",
    "unused.py": "NOTHING = 1\n",
}


def recorded_before(root: Path) -> Path:
    """A board as it was recorded when results named no measurement version."""
    for name, there in {"example_agents": "example_agents", "recorded": "results", "played": "traces"}.items():
        shutil.copytree(BEFORE / name, root / there)
    shutil.copy(BEFORE / "challenge.yml", root)
    return root


def wanted(board: Path) -> dict[str, str]:
    """What `plan` wants of each task, and why."""
    code, out, _ = run(board, "plan", "--sandbox", "process", "--json")
    assert code == 0
    return {item["task"]: item["reason"] for item in json.loads(out)}


def findings(board: Path) -> dict[str, tuple[str, list[str]]]:
    """What `verify` says of each task."""
    code, out, _ = run(board, "verify", "--json")
    assert code == 0
    message = json.loads(out)
    return {Path(one["path"]).relative_to(board / "results").parts[0]: (one["standing"], one["faults"]) for one in message}


def test_what_was_recorded_before_results_named_their_version_is_current_in_version_1_and_verified(tmp_path: Path) -> None:
    board = recorded_before(tmp_path)
    before = records(board)

    assert findings(board) == {"CartPole-v1": ("verified", []), "tictactoe": ("verified", [])}
    stale = dict.fromkeys(("CartPole-v1", "tictactoe"), "the evaluator changed")
    assert wanted(board) == ({} if MEASUREMENT_VERSION == 1 else stale)
    assert len(before) == 2
    assert all(b'"schema": 1,' in content and b'"protocol"' not in content for content in before.values())


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board whose tasks are made of the host's own code, with everything recorded."""
    board = tmp_path_factory.mktemp("own")
    (board / "challenge.yml").write_text(CHALLENGE)
    for name, text in FILES.items():
        (board / name).parent.mkdir(exist_ok=True)
        (board / name).write_text(text)
    put(board / "example_agents" / "random", LEGAL, "all")
    for words in (("evaluate", "example_agents/random"), ("tournament",)):
        code, _, err = run(board, *words, "--sandbox", "process")
        assert code == 0, err
    assert len(records(board)) == 4
    assert wanted(board) == {}
    return board


@pytest.fixture
def board(measured: Path, tmp_path: Path) -> Path:
    """A copy of it to be changed."""
    return shutil.copytree(measured, tmp_path / "board")


@pytest.mark.parametrize(
    ("file", "text", "task"),
    [
        ("coins/prices.py", "PRICE = 5.0\n", "coins"),
        ("coins/size.json", "4", "coins"),
        ("coins/worlds.py", FILES["coins/worlds.py"] + "\n# Another word.\n", "coins"),
        ("coins/extra.py", "class Bonus:\n    size = 2\n", "coins"),
        ("counting.py", "def first(episodes):\n    return 2 * episodes[0].total\n", "CartPole-v1"),
        ("rules.py", FILES["rules.py"].replace("raw_env", "env"), "match"),
    ],
)
def test_a_change_of_the_hosts_own_code_makes_its_results_stale_and_no_others(
    board: Path, file: str, text: str, task: str
) -> None:
    (board / file).write_text(text)

    assert wanted(board) == {task: "the task's settings changed"}
    after = findings(board)
    status, faults = after.pop(task)
    assert (status, faults[0].partition(":")[0]) == ("stale", "recorded under other rules")
    assert {status for status, _ in after.values()} == {"verified"}
    assert len(after) == 3


def test_what_no_task_uses_makes_nothing_stale(board: Path) -> None:
    (board / "unused.py").write_text("NOTHING = 2\n")
    (board / "coins" / "__pycache__").mkdir(exist_ok=True)
    (board / "coins" / "__pycache__" / "left.json").write_text("1")

    assert wanted(board) == {}
    assert {status for status, _ in findings(board).values()} == {"verified"}


def test_other_code_is_measured_anew_beside_what_was_measured_before(board: Path) -> None:
    (board / "coins/prices.py").write_text("PRICE = 5.0\n")
    code, _, err = run(board, "evaluate", "example_agents/random", "--task", "coins", "--sandbox", "process")

    assert code == 0, err
    assert wanted(board) == {}
    returns = [json.loads(text)["returns"][0] for path, text in records(board).items() if "/coins/" in path]
    assert sorted(returns) == [3.0, 15.0]
