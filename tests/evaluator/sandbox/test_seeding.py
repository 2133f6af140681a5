"""What chooses by Python's, numpy's or torch's common generators chooses the same when it is played again."""

import json
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from evaluator.host.digests.image_files import ROOT
from evaluator.host.solo.evaluate_agent import Evaluation
from evaluator.model.config.task import Task
from evaluator.model.records.parse import parse_trace
from evaluator.model.records.trace import TraceLeaf
from evaluator.model.records.verdict import Verdict
from tests.evaluations import duel_order, duelled, evaluate, evaluated, folder, order
from tests.evaluator.script_runs import LAKE, script

POLE = Task.model_validate({
    "id": "CartPole-v1", "episodes": 12, "max_episode_steps": 30, "lanes": {"shared": 4, "separate": 4}
})  # fmt: skip
TICTACTOE = Task.model_validate({
    "id": "tictactoe", "game": "pettingzoo.classic.tictactoe_v3", "matches": 40, "opening": 0,
    "lanes": {"shared": 8, "separate": 8},
})  # fmt: skip

AGENT = """
{imports}

class Agent:
    {kind}
    def act(self, observation):
        return int({choice})
"""
CHOICES = {
    "random": ("import random", "random.choice([0, 1])"),
    "numpy": ("import numpy", "numpy.random.randint(2)"),
    "both": ("import random, numpy.random", "random.random() + numpy.random.rand() > 1"),
    "shuffled": ("from random import shuffle\nORDER = [0, 1] * 9\nshuffle(ORDER)", "ORDER[int(observation[0] * 1e6) % 18]"),
    "order of a set": ("NAMES = {'left', 'right', 'up', 'down', 'stay'}", "next(iter(NAMES)) in ('left', 'up')"),
}
# The first thing that each generator gives, and what is in the log of it.
TOLD = """
import random
print("random", random.random(), flush=True)
import numpy
print("numpy", numpy.random.random_sample(), flush=True)
"""
PLAYER = """
import random

class Agent:
    def act(self, observation):
        return random.choice([int(i) for i in observation["action_mask"].nonzero()[0]])
"""
# Now this side answers first, now the other.
UNEVEN = PLAYER.replace("        return", "        time.sleep(time.time_ns() % 4 / 2000)\n        return").replace(
    "random", "time, random", 1
)
SCRIPT = """
import random
import numpy
play(gym.make(sys.argv[1]), 40, lambda observation: random.choice([0, 1, 2, numpy.random.randint(4)]))
print('{"score": 0}')
"""


def agent(name: str, *, shared: bool = False) -> str:
    imports, choice = CHOICES[name]
    return AGENT.format(imports=imports, choice=choice, kind="memoryless = True" if shared else "")


def actions(done: Evaluation) -> tuple[TraceLeaf, ...]:
    assert (done.result.verdict, done.result.message) == (Verdict.OK, ""), done.result.log_tail
    assert done.trace is not None
    return parse_trace(done.trace).actions


@pytest.mark.parametrize("shared", [False, True], ids=["one each", "one for all"])
@pytest.mark.parametrize("name", CHOICES)
def test_an_agent_that_draws_chooses_the_same_again(name: str, shared: bool) -> None:
    source = agent(name, shared=shared)

    one, other = (evaluated(source, POLE) for _ in range(2))

    assert actions(one) == actions(other)
    assert one.result.returns == other.result.returns


def test_episodes_draw_on_and_another_version_draws_otherwise() -> None:
    one = evaluated(agent("random"), POLE)
    trace = parse_trace(one.trace or b"")
    played = trace.actions[0].array(trace.steps()).tolist()
    starts = np.cumsum([0, *(episode.length for episode in trace.episodes)])

    assert len({tuple(played[start : start + 8]) for start in starts[:-1]}) > 3
    assert actions(one) != actions(evaluated(agent("random") + "# another\n", POLE))


def test_the_seed_is_that_of_the_first_episode_and_there_before_the_file_is_run() -> None:
    source = TOLD + agent("random")
    words = evaluated(source, POLE).result.log_tail.split()
    seed = order(folder(source), POLE).specs()[0].agent_seed

    assert words == ["random", str(random.Random(seed).random()), "numpy", str(np.random.RandomState(seed).random_sample())]


def test_an_agent_of_its_own_seed_keeps_it() -> None:
    source = "import random\nrandom.seed(7)\n" + agent("random")
    first = evaluated(source, POLE)
    own = random.Random(7)

    # The first frame asks about the first half of the lanes.
    trace = parse_trace(first.trace or b"")
    starts = np.cumsum([0, *(episode.length for episode in trace.episodes)])[:4]
    assert trace.actions[0].array(trace.steps())[starts].tolist() == [own.choice([0, 1]) for _ in range(4)]


@pytest.mark.parametrize("shared", [False, True], ids=["one each", "one for all"])
def test_a_player_that_draws_plays_the_same_matches_again(shared: bool) -> None:
    source = PLAYER.replace("class Agent:", "class Agent:\n    memoryless = True") if shared else PLAYER

    duels = [duelled(source, UNEVEN, TICTACTOE) for _ in range(3)]

    assert [duel.verdict for duel in duels] == [Verdict.OK] * 3
    assert duels[0].match_moves() == duels[1].match_moves() == duels[2].match_moves()
    assert len({tuple(moves) for moves in duels[0].match_moves()}) > 20


def test_the_two_sides_of_a_validation_draw_apart() -> None:
    seeds = duel_order(PLAYER, None, TICTACTOE).specs()[0].agent_seeds
    moves = duelled(TOLD + PLAYER, None, TICTACTOE)
    logs = [player.log_tail.split()[1] for player in moves.players]

    assert len(set(seeds)) == 2
    assert len(set(logs)) == 2


def test_a_script_that_draws_plays_the_same_again() -> None:
    one, other = script(SCRIPT), script(SCRIPT)

    assert actions(one) == actions(other)
    assert one.result.script == other.result.script
    assert one.result.script is not None
    assert one.result.script.lengths != script(SCRIPT + "# another\n").result.script.lengths  # type: ignore[union-attr]


def test_a_script_is_seeded_by_its_own_seed() -> None:
    source = TOLD + "play(gym.make(sys.argv[1]), 12)\nprint('{\"score\": 0}')\n"
    done = script(source)
    first = done.result.log_tail.split()[1]

    assert (done.result.verdict, done.result.message) == (Verdict.OK, "")
    assert float(first) in {random.Random(seed).random() for seed in _script_seeds(source)}


def _script_seeds(source: str) -> list[int]:
    from tests.evaluator.script_runs import MANIFEST, PLAY

    files = {"submission.py": (PLAY + source).encode(), "agent.py": b""}
    return [order(folder("", MANIFEST, **files), LAKE).specs()[0].agent_seed]


def test_an_adapted_agent_draws_the_same_again() -> None:
    source = "import random\ndef act(observation):\n    return random.choice([0, 1])\n"
    manifest = b"name: Test\nalgorithm: none\nadapter: function\n"
    one, other = (evaluate(order(folder(source, manifest), POLE)) for _ in range(2))

    assert actions(one) == actions(other)


# The rest is about the hook alone, each in a process of its own.
FAKE_TORCH = """
import sys

class Generator:
    def __init__(self):
        self.given = []
    def manual_seed(self, seed):
        self.given.append(seed)

default_generator = Generator()
AT_IMPORT = list(default_generator.given)
VALUE = 7
"""


def told(tmp_path: Path, source: str, **files: str) -> list[object]:
    """What a program prints in which the hook stands; beside its folder there is a package `torch`."""
    agents, packages = tmp_path / "agent", tmp_path / "packages"
    (packages / "torch").mkdir(parents=True)
    (packages / "torch" / "__init__.py").write_text(FAKE_TORCH)
    (packages / "torch" / "nn.py").write_text("import torch\nSEEN = list(torch.default_generator.given)\n")
    (packages / "broken").mkdir()
    agents.mkdir()
    for name, content in files.items():
        (agents / f"{name}.py").write_text(content)
    head = f"""
import json, sys
sys.path[:0] = [{str(agents)!r}, {str(packages)!r}]
from evaluator.sandbox.seeding import seed_globals
seed_globals(5, {str(agents)!r})
def say(value): print(json.dumps(value))
"""
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{head}{textwrap.dedent(source)}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_nothing_is_imported_for_anybody(tmp_path: Path) -> None:
    source = "say([name for name in ('random', 'numpy', 'numpy.random', 'torch') if name in sys.modules])"

    assert told(tmp_path, source) == [[]]


def test_torch_is_seeded_once_whoever_imports_it(tmp_path: Path) -> None:
    source = """
    import torch.nn
    import torch, torch.nn
    from torch import VALUE
    say([torch.default_generator.given, torch.AT_IMPORT, torch.nn.SEEN, VALUE])
    """

    assert told(tmp_path, source) == [[[5], [], [5], 7]]


def test_to_look_for_a_module_imports_nothing_and_shows_nothing(tmp_path: Path) -> None:
    source = """
    import importlib.util
    from importlib.machinery import SourceFileLoader
    spec = importlib.util.find_spec("torch")
    say([type(spec.loader) is SourceFileLoader, spec.origin.endswith("__init__.py"), "torch" in sys.modules])
    say([importlib.util.find_spec(name) for name in ("nowhere", "torch.nowhere")])
    import torch
    say([torch.__spec__.loader is torch.__loader__, vars(torch.__loader__).keys() <= {"name", "path"}])
    say(importlib.util.find_spec("torch") is torch.__spec__)
    import inspect
    say("default_generator" in inspect.getsource(torch))
    """

    assert told(tmp_path, source) == [[True, True, False], [None, None], [True, True], True, True]


def test_a_module_that_is_made_by_hand_is_seeded_too(tmp_path: Path) -> None:
    source = """
    import importlib.util
    spec = importlib.util.find_spec("torch")
    spec.loader = importlib.util.LazyLoader(spec.loader)
    lazy = importlib.util.module_from_spec(spec)
    sys.modules["torch"] = lazy
    spec.loader.exec_module(lazy)
    say([lazy.VALUE, lazy.default_generator.given])
    """

    assert told(tmp_path, source) == [[7, [5]]]


def test_a_module_that_is_run_again_is_seeded_again(tmp_path: Path) -> None:
    source = """
    import importlib, random
    first = random.random()
    say(random.random() != first)
    importlib.reload(random)
    say(random.random() == first)
    del sys.modules["random"]
    import random
    say(random.random() == first)
    """

    assert told(tmp_path, source) == [True, True, True]


def test_errors_of_import_are_those_without_the_hook(tmp_path: Path) -> None:
    source = """
    import importlib
    def error(name):
        try:
            importlib.import_module(name)
        except BaseException as found:
            return [type(found).__name__, str(found), name in sys.modules]
    say(error("torch.nowhere"))
    sys.path.pop(1)
    for name in [name for name in sys.modules if name.startswith("torch")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    say(error("torch"))
    say(error("torch.nn"))
    """
    missing = ["ModuleNotFoundError", "No module named 'torch'", False]

    assert told(tmp_path, source) == [["ModuleNotFoundError", "No module named 'torch.nowhere'", False], missing, missing]


def test_a_module_that_raises_raises_as_ever_and_may_be_tried_again(tmp_path: Path) -> None:
    source = """
    import pathlib
    place = pathlib.Path(sys.path[1]) / "torch" / "__init__.py"
    whole = place.read_text()
    place.write_text("raise OSError('no library')")
    for _ in range(2):
        try:
            import torch
        except OSError as error:
            say([str(error), "torch" in sys.modules])
    place.write_text(whole)
    import importlib
    importlib.invalidate_caches()
    import torch
    say(torch.default_generator.given)
    """

    assert told(tmp_path, source) == [["no library", False]] * 2 + [[5]]


@pytest.mark.parametrize("name", ["random", "torch"])
def test_an_agents_own_module_of_that_name_is_left_alone(tmp_path: Path, name: str) -> None:
    own = "GIVEN = []\nseed = GIVEN.append\nclass default_generator:\n    manual_seed = GIVEN.append\n"

    assert told(tmp_path, f"import {name}\nsay({name}.GIVEN)", **{name: own}) == [[]]


def test_something_else_that_is_called_torch_is_left_alone(tmp_path: Path) -> None:
    source = """
    import pathlib
    (pathlib.Path(sys.path[1]) / "torch" / "__init__.py").write_text("default_generator = 3")
    import torch
    say(torch.default_generator)
    """

    assert told(tmp_path, source) == [3]


def test_finders_of_others_are_asked_as_before(tmp_path: Path) -> None:
    source = """
    import importlib.abc, importlib.machinery
    class Loader:
        __slots__ = ()
        def create_module(self, spec): return None
        def exec_module(self, module): module.VALUE = 1
    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            return importlib.machinery.ModuleSpec(name, Loader()) if name == "torch" else None
    sys.meta_path.insert(0, Finder())
    import torch
    say(torch.VALUE)
    del sys.modules["torch"]
    sys.meta_path.append(sys.meta_path.pop(0))
    sys.path.pop(1)
    import torch
    say(torch.VALUE)
    """

    assert told(tmp_path, source) == [1, 1]
