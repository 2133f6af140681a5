"""`python -m bench.worlds.contained CELL`: plays a cell through the referee and a sandbox, and prints it as JSON."""

import json
import os
import sys
import tempfile
from pathlib import Path

from bench.channel_bench import specs
from bench.worlds.cells import LANES, Cell
from bench.worlds.loops import Clock, task_of
from evaluator.host.deterministic import pinned_variables
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.sandboxes.sandbox import SandboxSpec
from evaluator.host.sandboxes.select_sandbox import select_sandbox
from evaluator.host.solo.referee import SoloSetup, play_episodes
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import ParallelEpisodes
from scripts.repository.checkout import base_image

LIMITS = Limits(cpus=1, cpu_seconds=3600, answer_seconds=30)


def play(cell: Cell) -> dict[str, float]:
    """Play a cell."""
    kind, _, lanes = cell.way.partition(", ")
    count = LANES[lanes]
    parallel = ParallelEpisodes(shared=count, separate=count)
    task = task_of(cell).model_copy(update={"lanes": parallel})
    clock, gym_task = Clock(), load_gym_task(task)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "agent.py").write_text(cell.source())
        chosen = select_sandbox(kind, base_image(os.environ), lambda line: None)
        spec = SandboxSpec(folder=folder, entry="agent.py", limits=LIMITS, environment=pinned_variables())
        sandbox = chosen.opener(spec)
        try:
            run = SoloSetup(
                gym_task=gym_task, specs=specs(task), limits=LIMITS, progress=lambda done: None,
                pin_sandbox=sandbox.pin, before_first_observation=clock.start_now,
            )  # fmt: skip
            clock.outside = sandbox.usage
            outcome = play_episodes(run, sandbox.stream())
            clock.stop()
        finally:
            sandbox.close()
    return clock.report(sum(episode.length for episode in outcome))


if __name__ == "__main__":
    print(json.dumps(play(Cell(**json.loads(sys.argv[1])))))
