"""The referee gives what a plain Gymnasium loop gives, float for float, whatever the number of lanes."""

import hashlib
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from evaluator.host.errors import AgentFault
from evaluator.host.loading.yaml_loader import read_challenge
from evaluator.host.progress import PlayProgress
from evaluator.host.solo import referee
from evaluator.model.config.task import ParallelEpisodes, Task
from evaluator.model.records.verdict import Verdict
from tests.evaluations import played, process, specs

CHALLENGE = read_challenge(Path(__file__).parents[4] / "challenge.yml")

SEEDED = """
import numpy as np
class Agent:
    def __init__(self, action_space, seed):
        self.space = action_space
        self.space.seed(seed)
    def act(self, observation):
        return self.space.sample()
"""

# Chooses by a hash of what it sees: memoryless, so it may be asked about many episodes at once.
HASHED = """
import hashlib
import numpy as np
class Agent:
    memoryless = True
    def __init__(self, action_space):
        self.space = action_space
    def act(self, observation):
        return choose(self.space, observation)
def choose(space, observation):
    seed = int.from_bytes(hashlib.sha256(np.asarray(observation).tobytes()).digest()[:4], "big")
    if hasattr(space, "n"):
        return seed % int(space.n)
    return np.random.default_rng(seed).uniform(space.low, space.high).astype(space.dtype)
"""
BATCHED = (
    HASHED
    + """
class Agent:
    def __init__(self, action_space):
        self.space = action_space
    def act_batch(self, observations):
        return np.stack([choose(self.space, observation) for observation in observations])
"""
)


def hashed(space: spaces.Space[Any], observation: Any) -> Any:
    seed = int.from_bytes(hashlib.sha256(np.asarray(observation).tobytes()).digest()[:4], "big")
    if isinstance(space, spaces.Discrete):
        return seed % int(space.n)
    assert isinstance(space, spaces.Box)
    return np.random.default_rng(seed).uniform(space.low, space.high).astype(space.dtype)


def plain(task: Task, source: str) -> list[tuple[float, int]]:
    """Returns and lengths of the loop that everybody writes, a fresh environment for each episode."""
    episodes = []
    for spec in specs(task):
        environment = gymnasium.make(task.env_id, max_episode_steps=task.max_episode_steps, **task.kwargs)
        own = gymnasium.make(task.env_id).action_space
        own.seed(spec.agent_seed)
        observation, _ = environment.reset(seed=int(spec.seed, 16))
        total, length, over = 0.0, 0, False
        while not over:
            action = own.sample() if source is SEEDED else hashed(environment.action_space, observation)
            observation, reward, terminated, truncated, _ = environment.step(action)
            total += float(reward)
            length += 1
            over = terminated or truncated
        episodes.append((total, length))
    return episodes


@pytest.mark.parametrize("source", [SEEDED, HASHED, BATCHED], ids=["fresh", "memoryless", "batched"])
@pytest.mark.parametrize("task_id", [task.id for task in CHALLENGE.solo_tasks])
def test_returns_equal_a_plain_loop_for_every_default_task(task_id: str, source: str) -> None:
    full = CHALLENGE.task(task_id)
    assert full is not None
    # MountainCar's, which a blind agent never ends, go on to Gymnasium's own limit; no other needs to.
    limit = None if task_id == "MountainCar-v0" else 150
    task = full.model_copy(update={"episodes": 5, "max_episode_steps": limit})

    expected = plain(task, source)

    for lanes in (
        ParallelEpisodes(shared=1, separate=1),
        ParallelEpisodes(shared=2, separate=2),
        ParallelEpisodes(shared=10, separate=10),
    ):
        tally = played(source, task.model_copy(update={"lanes": lanes}), process())
        assert expected == [(episode.total, episode.length) for episode in tally]


def test_checksums_and_actions_do_not_depend_on_the_number_of_lanes() -> None:
    tallies = [
        played(SEEDED, Task(id="CartPole-v1", episodes=12, lanes=ParallelEpisodes(shared=n, separate=n)), process())
        for n in (1, 5, 12)
    ]

    first = tallies[0]
    for tally in tallies[1:]:
        assert [e.checksum for e in first] == [e.checksum for e in tally]
        assert all(np.array_equal(a.actions[0], b.actions[0]) for a, b in zip(first, tally, strict=True))


def test_a_time_limit_truncates_at_the_step_where_gymnasium_does() -> None:
    always = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return 1\n"
    task = Task(id="MountainCar-v0", episodes=3, max_episode_steps=17)

    tally = played(always, task, process())

    assert [episode.length for episode in tally] == [17, 17, 17]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ("tests.evaluator.worlds:Everything-v0", "dict and tuple of every kind"),
        ("tests.evaluator.worlds:Shifted-v0", "discrete spaces that do not start at 0"),
    ],
)
def test_every_kind_of_space_crosses_the_wire(environment: str, expected: str) -> None:
    source = """
class Agent:
    def __init__(self, action_space, observation_space, seed):
        self.actions, self.observations = action_space, observation_space
        self.actions.seed(seed)
    def act(self, observation):
        assert self.observations.contains(observation), observation
        return self.actions.sample()
"""
    task = Task(id="host-made", env=environment, episodes=9)

    tally = played(source, task, process())

    assert [episode.length for episode in tally] == [5] * 9
    assert all(episode.total > 0 for episode in tally)


def test_an_action_outside_the_space_names_its_episode() -> None:
    source = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return 2\n"

    with pytest.raises(AgentFault) as caught:
        played(source, Task(id="CartPole-v1", episodes=1), process())

    assert caught.value.verdict is Verdict.PROTOCOL_ERROR
    assert str(caught.value) == "episode 0, step 0: the action 2 is outside 0…1"


def test_float_actions_outside_the_box_are_clipped_and_counted() -> None:
    source = (
        "import numpy as np\nclass Agent:\n    memoryless = True\n"
        "    def act(self, observation):\n        return np.array([9.0])\n"
    )
    task = Task(id="Pendulum-v1", episodes=2)

    tally = played(source, task, process())

    assert sum(episode.clipped for episode in tally) == 400
    assert all((episode.actions[0] == 2.0).all() for episode in tally)
    with pytest.raises(AgentFault, match=re.escape("is outside -2.0…2.0")):
        played(source, task.model_copy(update={"clip": False}), process())


def test_actions_are_put_on_the_grid_before_stepping() -> None:
    source = (
        "import numpy as np\nclass Agent:\n    memoryless = True\n"
        "    def act(self, observation):\n        return np.array([0.123])\n"
    )

    tally = played(source, Task(id="Pendulum-v1", episodes=1, grid=0.25), process())

    assert (tally[0].actions[0] == 0.0).all()


HALF_FALL = """
class Agent:
    def __init__(self, seed):
        self.falls = seed % 2
    def act(self, observation):
        return 0 if self.falls else int(observation[2] + observation[3] > 0)
"""


def test_progress_moves_with_steps_and_does_not_take_the_short_episodes_that_ended_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(referee, "REPORT_SECONDS", 0.0)
    reports: list[PlayProgress] = []
    task = Task(id="CartPole-v1", episodes=20, lanes=ParallelEpisodes(shared=20, separate=20))
    outcome = played(HALF_FALL, task, process(), progress=reports.append)
    lengths = [episode.length for episode in outcome]
    early = [report for report in reports if report.steps < sum(lengths) / 2]

    assert min(lengths) < 20
    assert max(lengths) == 500
    assert early
    assert max(report.share for report in early) <= 0.65
    assert len({report.share for report in early if report.done == early[-1].done}) > 1
    assert (reports[-1].done, reports[-1].share, reports[-1].steps) == (20, 1.0, sum(lengths))


def test_short_episodes_are_not_each_reported_but_the_last_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee, "REPORT_SECONDS", 3600.0)
    reports: list[PlayProgress] = []
    source = "class Agent:\n    def act(self, observation):\n        return 0\n"
    played(source, Task(id="CartPole-v1", episodes=200), process(), progress=reports.append)

    assert len(reports) == 2
    assert reports[-1].done == 200
