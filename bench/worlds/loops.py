"""`python -m bench.worlds.loops CELL`: plays a cell without a sandbox, and prints what it took as JSON.

The bare loop, Gymnasium's vector environments, Stable-Baselines3's `evaluate_policy`, and a call for each move.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium

from bench.channel_bench import specs
from bench.worlds import calls
from bench.worlds.cells import BARE, BY_NAME, CALLS, SB3, VECTORS, Cell, load
from evaluator.host.seeds.derived_seeds import environment_seed
from evaluator.host.usage import MIB, Usage
from evaluator.model.config.task import Task

BEGUN = "BENCH_BEGUN"
"""The variable with the time at which the program was started."""


@dataclass
class Clock:
    """From the first observation that an agent sees to the last action."""

    processes: Sequence[int] = ()
    """Ids of other processes that work with this one."""
    outside: Callable[[], Usage] = Usage
    """What a sandbox has used so far."""
    start: float = 0.0
    """Seconds from the program's start to the first observation."""
    seconds: float = 0.0
    cpu: float = 0.0
    mib: float = 0.0
    begun: float = 0.0

    def start_now(self) -> None:
        """The first observation is there."""
        self.start = time.time() - float(os.environ.get(BEGUN, time.time()))
        self.begun, self.cpu = time.perf_counter(), self._cpu()

    def stop(self) -> None:
        """The last action was taken."""
        self.seconds = time.perf_counter() - self.begun
        self.cpu = self._cpu() - self.cpu
        others = sum(_peak_kib(process) for process in self.processes)
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.mib = (own + others) / 1024 + (self.outside().peak_memory_bytes or 0) / MIB

    def _cpu(self) -> float:
        others = sum(_processor_seconds(process) for process in self.processes)
        return time.process_time() + others + (self.outside().cpu_seconds or 0)

    def report(self, steps: int) -> dict[str, float]:
        """What it took."""
        return {
            "steps": steps, "seconds": self.seconds, "cpu_seconds": self.cpu, "mib": self.mib, "start": self.start,
        }  # fmt: skip


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_kib(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def task_of(cell: Cell) -> Task:
    """The cell as a task."""
    return Task(id=cell.world, env=BY_NAME[cell.world].env_id, episodes=cell.episodes, max_episode_steps=cell.cap)


def make(cell: Cell) -> gymnasium.Env[Any, Any]:
    """An environment as everybody makes it."""
    return gymnasium.make(BY_NAME[cell.world].env_id, max_episode_steps=cell.cap)


def loop(cell: Cell, clock: Clock, act: Callable[[Any], Any]) -> int:
    """The loop that everybody writes; returns the steps."""
    environment, steps = make(cell), 0
    clock.start_now()
    for spec in specs(task_of(cell)):
        observation, _ = environment.reset(seed=environment_seed(spec.seed, 128))
        over = False
        while not over:
            observation, _, terminated, truncated, _ = environment.step(act(observation))
            over = terminated or truncated
            steps += 1
    clock.stop()
    return steps


def vector(cell: Cell, clock: Clock) -> int:
    """Gymnasium's vector environments, with the same number of steps."""
    agent, count = load(cell.source()), VECTORS[cell.way]
    kind = gymnasium.vector.AsyncVectorEnv if cell.way.startswith("Async") else gymnasium.vector.SyncVectorEnv
    environments = kind([lambda: make(cell)] * count)
    observations, _ = environments.reset(seed=1)
    if isinstance(environments, gymnasium.vector.AsyncVectorEnv):
        clock.processes = [process.pid for process in environments.processes]
    clock.start_now()
    rounds = max(1, cell.episodes * cell.cap // count)
    for _ in range(rounds):
        observations = environments.step(agent.act_batch(observations))[0]
    clock.stop()
    environments.close()
    return rounds * count


class _Policy:
    """What `evaluate_policy` asks."""

    def __init__(self, agent: Any, clock: Clock) -> None:
        self._agent, self._clock = agent, clock

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False) -> Any:
        """Actions for observations that are stacked."""
        if not self._clock.begun:
            self._clock.start_now()
        return self._agent.act_batch(observation), None


def baselines(cell: Cell, clock: Clock) -> int:
    """Stable-Baselines3's `evaluate_policy` around the same policy."""
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    environments = make_vec_env(lambda: make(cell), n_envs=SB3[cell.way], seed=1)
    policy: Any = _Policy(load(cell.source()), clock)
    _, lengths = evaluate_policy(policy, environments, n_eval_episodes=cell.episodes, return_episode_rewards=True)
    clock.stop()
    return int(sum(lengths))


def play(cell: Cell) -> dict[str, float]:
    """Play a cell."""
    clock = Clock()
    if cell.way == BARE:
        return clock.report(loop(cell, clock, load(cell.source()).act))
    if cell.way in CALLS:
        with calls.opened(cell) as (ask, process):
            clock.processes = [process]
            steps = loop(cell, clock, ask)
        return clock.report(steps)
    return clock.report((vector if cell.way in VECTORS else baselines)(cell, clock))


if __name__ == "__main__":
    print(json.dumps(play(Cell(**json.loads(sys.argv[1])))))
