"""`pullrank check` on the host's side: environments, games, metrics, anchors and baselines of challenge.yml."""

import json
from pathlib import Path

import pytest

from tests.scripts.checkouts import LEGAL, put, run

HEAD = "title: Course\nseason: one\nbaselines: [random]\ntasks:\n"
TASK = "  - id: grid\n    env: {module}:{module}-v0\n    episodes: 20\n"
WORLD = """\
import gymnasium
import numpy as np
from gymnasium import spaces


class World(gymnasium.Env):
    observation_space = spaces.Box(0, 10**9, (2,), np.int64)
    action_space = spaces.Discrete(2)

    def __init__(self):
        self.left = 0
        {init}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        {draw}
        self.left = 5
        return self.start.copy(), {{}}

    def step(self, action):
        self.left -= 1
        {step}
        return self.start.copy(), 1.0, self.left == 0, False, {{}}


gymnasium.register("{module}-v0", entry_point="{module}:World", max_episode_steps=9)
"""
GOOD = "self.start = self.np_random.integers(0, 9, 2)"
IGNORES = "ignores its seed"


def board(root: Path, module: str, tasks: str = "", head: str = HEAD, **body: str) -> Path:
    put(root / "example_agents" / "random", LEGAL, "all")
    (root / "challenge.yml").write_text(head + TASK.format(module=module) + tasks)
    (root / f"{module}.py").write_text(WORLD.format(**{"module": module, "init": "", "draw": GOOD, "step": "", **body}))
    return root


def host_faults(root: Path) -> list[str]:
    """The faults that the command names; its exit code says that there are some."""
    code, out, err = run(root, "check", "--host")
    faults = [line for line in err.splitlines() if "overall leaderboard" not in line and line != "challenge.yml is fine."]
    assert (code, out) == (2 if faults else 0, "")
    return faults


@pytest.mark.parametrize(
    ("limits", "minutes", "said"),
    [
        ("{cpu_seconds: 21600}", 15, True),
        ("{cpu_seconds: 21600, task_seconds: 14400}", 15, False),
        ("{cpu_seconds: 1400}", 15, False),
        ("{cpu_seconds: 1500}", 15, True),  # In time by itself, but it may begin late in the job.
        ("{}", 200, False),
        ("{}", 300, True),
    ],
)
def test_an_evaluation_that_outlasts_its_job_is_named(tmp_path: Path, limits: str, minutes: int, said: bool) -> None:
    root = board(tmp_path, "soundworld", head=f"limits: {limits}\nrunners: {{shard_minutes: {minutes}}}\n{HEAD}")

    _, _, err = run(root, "check")

    assert ("official job ends after 5.3" in " ".join(err.split())) == said


def test_a_sound_world_has_no_fault(tmp_path: Path) -> None:
    assert host_faults(board(tmp_path, "soundworld")) == []


@pytest.mark.parametrize(
    ("module", "body", "fault"),
    [
        ("dice", {"draw": "self.start = np.random.randint(0, 10**9, 2)"}, f"{IGNORES}: one seed, twice, differs at step 0"),
        (
            "constant",
            {"init": "self.own = np.random.default_rng(0)", "draw": "self.start = self.own.integers(0, 9, 2)"},
            f"{IGNORES}: all seeds give the same episode",
        ),
        ("wide", {"draw": "self.start = np.array([-50, -50])"}, "has a number outside observation_space"),
        (
            "nan",
            {"step": "return self.start.copy(), float('nan'), self.left == 0, False, {}"},
            "gives the reward nan at step 1",
        ),
        ("crash", {"step": "1 / 0"}, "fails when it is played: division by zero"),
        ("leave", {"init": "raise SystemExit(0)"}, "it ends the program"),
        ("shape", {"draw": "self.start = np.zeros(3, np.int64)"}, "fails when it is played"),
    ],
)
def test_a_faulty_world_is_named_with_its_line(tmp_path: Path, module: str, body: dict[str, str], fault: str) -> None:
    [line] = host_faults(board(tmp_path, module, **body))

    assert line.startswith("challenge.yml:6: task grid: ")
    assert fault in line


def test_what_is_not_there_is_named_with_its_line(tmp_path: Path) -> None:
    head = HEAD.replace("[random]", "[random, nobody, ada/net]")
    tasks = (
        "  - {id: absent, env: nowhere:X-v0}\n"
        "  - {id: typo, env: CartPole-v7}\n"
        "  - {id: duel, game: no.such_game, anchor: missing}\n"
        "  - {id: CartPole-v1, metrics: [{name: Own, kind: 'absent_metric:value', direction: higher}]}\n"
    )
    lines = host_faults(board(tmp_path, "lonely", tasks, head))

    assert [line.partition(": ")[0] for line in lines] == [f"challenge.yml:{n}" for n in (3, 3, 10, 8, 9, 10, 11)]
    assert [line for line in lines if "there is no agent 'nobody'; add example_agents/nobody, or remove the name" in line]
    assert [line for line in lines if "there is no agent 'ada/net'; add submissions/ada/net" in line]


def test_terms_that_nobody_could_read_are_named(tmp_path: Path) -> None:
    root = board(tmp_path, "terms", "  - {id: CartPole-v1}\n", "people: {terms: terms.md}\n" + HEAD)
    [unknown] = host_faults(root)
    (root / "site" / "pages").mkdir(parents=True)
    (root / "site" / "pages" / "terms.md").write_text("# Terms\n")
    [elsewhere] = host_faults(root)
    (root / "terms.md").write_text("Be fair.\n")

    assert unknown.partition(": ")[2] == "there is no file 'terms.md'; add it, or write a web address"
    assert elsewhere.partition(": ")[2] == "there is no file 'terms.md'; did you mean 'site/pages/terms.md'?"
    assert not host_faults(root)


def test_a_metrics_fault_is_at_its_line_and_a_broken_import_at_that_of_the_module(tmp_path: Path) -> None:
    own = (
        "    metrics:\n      - {name: R, kind: mean_return, direction: higher}\n"
        "      - {name: O, kind: 'ownscores:%s', direction: higher}\n"
    )
    root = board(tmp_path, "metricworld", own % "absent", HEAD.replace("[random]", "[rendom]"))
    (root / "ownscores.py").write_text("import math\n\nimport ownhelper\n")
    (root / "ownhelper.py").write_text("import math\nimport nunpy\n")
    baseline, broken = host_faults(root)
    (root / "ownhelper.py").write_text("")
    faults = host_faults(root)
    assert len(faults) == 2, faults
    absent = faults[1]
    (root / "metricworld.py").write_text("import nunpy\n")
    (root / "challenge.yml").write_text(HEAD + TASK.format(module="metricworld"))
    [world] = host_faults(root)

    there = "there is no agent 'rendom'; did you mean 'random'? Else add example_agents/rendom, or remove the name"
    assert baseline == f"challenge.yml:3: {there}"
    cannot = "the module {} of task grid cannot be imported: No module named 'nunpy' ({}, line {})"
    assert broken == f"challenge.yml:10: task grid: {cannot.format('ownscores', 'ownhelper.py', 2)}"
    assert absent.startswith("challenge.yml:10: task grid names the metric ownscores:absent, which is not here: ")
    assert world == f"challenge.yml:6: task grid: {cannot.format('metricworld', 'metricworld.py', 1)}"


def test_anchors_and_bounds_are_compared_with_what_is_possible(tmp_path: Path) -> None:
    tasks = (
        "  - id: CartPole-v1\n    bounds: [1, 5]\n"
        "    random: {score: 22, source: ours}\n    reference: {score: 475, source: ours}\n"
        "  - id: MountainCar-v0\n"
        "    random: {score: -110, source: ours}\n    reference: {score: -200, source: ours}\n"
    )
    faults = [line.partition(": ")[2] for line in host_faults(board(tmp_path, "anchored", tasks))]

    assert faults[:2] == [
        "task CartPole-v1: 22 is outside 1…5; correct the score or 'bounds'",
        "task CartPole-v1: 475 is outside 1…5; correct the score or 'bounds'",
    ]
    assert faults[2].startswith("task CartPole-v1: a random episode has the return ")
    assert faults[3:] == ["task MountainCar-v0: -200 is worse than random, -110; exchange them"]


@pytest.mark.parametrize(
    ("rules", "worst", "fault"),
    [
        ("bounds: [0, 500]", 1, "'worst' is 1, and by 'bounds' an episode can have 0; make it as bad"),
        ("bounds: [0, 500]", 0, ""),
        ("decimals: 1", 200, "'worst' is 200, and a random episode has "),
        ("decimals: 1", 1, ""),
        ("metrics: [{name: R, kind: mean_return, direction: lower}]", 0, "'worst' is 0, and a random episode has "),
        ("metrics: [{name: R, kind: mean_return, direction: lower}]", 500, ""),
    ],
)  # fmt: skip
def test_leaving_bad_episodes_of_a_script_never_pays(tmp_path: Path, rules: str, worst: int, fault: str) -> None:
    script = f"script: {{steps: 50000, last: 20, worst: {worst}}}"
    faults = host_faults(board(tmp_path, "scripted", f"  - id: learn\n    env: CartPole-v1\n    {rules}\n    {script}\n"))

    assert len(faults) == bool(fault)
    assert all(f"task learn: {fault}" in line for line in faults)


@pytest.mark.parametrize("module", ["chatters", "chatters_more"])
def test_what_an_environment_prints_is_no_part_of_a_document(tmp_path: Path, module: str) -> None:
    """Neither what Python prints nor what a library of its own writes; with one task and with several."""
    more = "  - id: other\n    env: chatters_more:chatters_more-v0\n    episodes: 20\n" if module == "chatters_more" else ""
    words = "__import__('os').write(1, b'written\\n'); print('printed')"
    root = board(tmp_path, module, more, step=words)
    agent = put(root / "submissions" / "alice" / "one", LEGAL, "all")

    for command in (("evaluate", str(agent), "--sandbox", "process"), ("verify",)):
        code, out, err = run(root, *command, "--json")

        assert code == 0, err
        assert json.loads(out)
        assert "printed" in err
        assert "written" in err


def test_a_metric_that_fails_is_named(tmp_path: Path) -> None:
    root = board(tmp_path, "measured", "    metrics: [{name: Own, kind: 'ownmetric:value', direction: higher}]\n")
    (root / "ownmetric.py").write_text("def value(episodes):\n    return episodes[0].nothing\n")

    [line] = host_faults(root)
    assert line.startswith("challenge.yml:8: task grid: the metric ownmetric:value of task grid failed: ")


def test_a_game_that_ignores_its_seed_is_named(tmp_path: Path) -> None:
    root = board(tmp_path, "beside", "  - {id: own, game: dicegame}\n")
    (root / "dicegame.py").write_text(
        "import random\nfrom pettingzoo.classic.tictactoe_v3 import raw_env as base\n\n\nclass raw_env(base):\n"
        "    def observe(self, agent):\n        seen = super().observe(agent)\n"
        "        seen['observation'] = seen['observation'] * 0 + random.randrange(2)\n        return seen\n"
    )

    [line] = host_faults(root)
    assert line.startswith("challenge.yml:8: task own: dicegame ignores its seed: one seed, twice, differs at ply ")


def test_a_task_whose_extra_is_missing_is_said_and_no_fault(tmp_path: Path) -> None:
    root = board(tmp_path, "extra", "  - {id: far, env: 'not_installed:X-v0', extra: mujoco}\n")

    code, _, err = run(root, "check", "--host")
    assert code == 0
    assert "task far was not played: mujoco is not installed here; 'make mujoco' installs it" in err


@pytest.mark.parametrize(
    ("module", "body", "fault"),
    [
        pytest.param(
            "ends", {"draw": "import sys; sys.exit(0)"}, "it ends the program; remove the call of exit",
            marks=pytest.mark.attack(
                "environment_that_ends_the_check", family="supply", outcome="named as a fault, exit code 2",
                tries="An environment of a pull request that exits with code 0, so that the check seems to pass.",
            ),
        ),
        pytest.param(
            "paints", {"draw": "raise ValueError('\\x1b[2Jfine\\n\\nchallenge.yml is fine.')"}, "fails when it is played",
            marks=pytest.mark.attack(
                "environment_that_writes_the_verdict", family="supply", outcome="one line, the characters shown",
                tries="An exception whose text clears the screen and says that all is fine.",
            ),
        ),
        pytest.param(
            "floods", {"draw": "print('fine\\n' * 99); self.start = np.random.randint(0, 10**9, 2)"}, IGNORES,
            marks=pytest.mark.attack(
                "environment_that_prints_over_the_faults", family="supply", outcome="what it prints is not shown",
                tries="An environment that prints pages of praise before its fault is named.",
            ),
        ),
        pytest.param(
            "infinite", {"step": "return self.start, float('inf'), True, False, {}"}, "gives the reward inf at step 1",
            marks=pytest.mark.attack(
                "environment_with_an_infinite_reward", family="supply", outcome="named as a fault",
                tries="An environment that pays an infinite reward, which no other score reaches.",
            ),
        ),
        pytest.param(
            "counts", {"draw": "World.n = getattr(World, 'n', 0) + 1; self.start = np.array([World.n % 9, 0])"}, IGNORES,
            marks=pytest.mark.attack(
                "environment_that_counts_its_episodes", family="supply", outcome="named as a fault",
                tries="An environment whose episodes depend on how many were played before, not on the seed.",
            ),
        ),
    ],
)  # fmt: skip
def test_an_environment_neither_hides_nor_forges_the_verdict(
    tmp_path: Path, module: str, body: dict[str, str], fault: str
) -> None:
    lines = host_faults(board(tmp_path, module, **body))

    assert len(lines) == 1, lines
    assert lines[0].startswith("challenge.yml:6: task grid: ")
    assert fault in lines[0]
    assert "\x1b" not in lines[0]


@pytest.mark.attack(
    "suite_by_a_path", family="supply", outcome="refused: a suite is one of five words",
    tries="Names a file somewhere else, or a file of the repository, as a suite.",
)  # fmt: skip
@pytest.mark.parametrize("suite", ["../../secret", "/etc/passwd", "chess", "mujoco.yml", "MUJOCO", "__init__"])
def test_a_suite_is_one_of_five_words(tmp_path: Path, suite: str) -> None:
    root = board(tmp_path, "suited")
    before = (root / "challenge.yml").read_text()

    code, _, err = run(root, "init", "--title", "T", "--owner", "me", "--repository", "me/b", "--suite", suite)
    assert (code, err.count("\n")) == (2, 1), err
    assert (root / "challenge.yml").read_text() == before


def test_a_missing_environment_is_named_with_its_task_once(tmp_path: Path) -> None:
    root = board(tmp_path, "soundworld", "  - id: gone\n    env: nowhere:Nowhere-v0\n    episodes: 20\n")

    (fault,) = host_faults(root)

    assert fault.startswith("challenge.yml:9: ")
    assert fault.count("task gone") == 1


@pytest.mark.parametrize(("env", "is_changed"), [("BipedalWalker-v3", True), ("LunarLander-v3", False)])
def test_a_used_environment_that_differs_after_some_episodes_is_named(tmp_path: Path, env: str, is_changed: bool) -> None:
    faults = host_faults(board(tmp_path, "reused", f"  - {{id: used, env: {env}, reusable: true}}\n"))

    assert [f"an episode of {env} changes the next one at step" in fault for fault in faults] == [True] * is_changed


WRONG_ANSWERS = {
    "four values": ("return self.start.copy(), 1.0, {}, {}", "step returned 4 values; it must return observation, reward, "),
    "no values": ("return", "step returned None; it must return observation, reward, "),
    "no reward": ("return self.start.copy(), None, True, False, {}", "the reward after step 1 is None; make it one number"),
    "an array": ("return self.start.copy(), np.ones(1), True, False, {}", "the reward after step 1 is one ndarray; make it"),
    "text": ("return self.start.copy(), '1', True, False, {}", "the reward after step 1 is one str; make it one number"),
    "nothing": ("return None, 1.0, True, False, {}", "the observation after step 1 does not fit observation_s"),
    "too long": (
        "return np.zeros(3), 1.0, True, False, {}",
        "the observation after step 1 does not fit observation_space: ",
    ),
    "outside": (
        "return self.start - 99, 1.0, True, False, {}",
        "the observation after step 1 has a number outside observation_",
    ),
    "half": (
        "return self.start + 0.5, 1.0, True, False, {}",
        "the observation after step 1 has a number outside observation_",
    ),
    "nan": ("return self.start * np.nan, 1.0, True, False, {}", "the observation after step 1 has a nan; give a number"),
}


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_what_a_step_returns_wrongly_is_told(tmp_path: Path, name: str) -> None:
    """The messages were those of the code that met it: not enough values to unpack, cannot reshape an array."""
    answer, words = WRONG_ANSWERS[name]
    module = f"answer{list(WRONG_ANSWERS).index(name)}"

    (line,) = host_faults(board(tmp_path, module, step=answer))

    assert line.startswith(f"challenge.yml:6: task grid: {module}:{module}-v0 fails when it is played: {words}")


def test_a_reset_without_an_info_is_told(tmp_path: Path) -> None:
    (line,) = host_faults(board(tmp_path, "bare", draw=f"{GOOD}; return self.start"))

    assert line.endswith("fails when it is played: reset returned one ndarray; it must return observation, info")


def test_what_a_host_s_code_raises_is_told_with_its_line(tmp_path: Path) -> None:
    (line,) = host_faults(board(tmp_path, "raises", step="self.missing"))

    assert line.endswith("fails when it is played: 'World' object has no attribute 'missing' (raises.py, line 22)")


def test_an_environment_that_nothing_ends_is_named(tmp_path: Path) -> None:
    root = board(tmp_path, "endless", step="self.left = 9")
    path = root / "endless.py"
    path.write_text(path.read_text().replace(", max_episode_steps=9", ""))

    code, _, err = run(root, "check", "--host")

    assert code == 0
    note = "an episode of random actions goes on after 500 steps, and nothing ends it; set 'max_episode_steps'."
    assert f"challenge.yml: task grid: {note}\n" in err


def test_what_an_environment_prints_is_not_shown(tmp_path: Path) -> None:
    metric = "    metrics: [{name: M, kind: 'loud:steps', direction: higher}]\n"
    root = board(tmp_path, "loud", metric, step="print('step')")
    path = root / "loud.py"
    path.write_text(path.read_text() + "\n\ndef steps(episodes):\n    return sum(len(list(e.steps())) for e in episodes)\n")

    assert run(root, "check", "--host")[:2] == (0, "")
