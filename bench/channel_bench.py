"""CartPole through the container against a bare Gymnasium loop in one process."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium

from bench import agents
from evaluator.host.deterministic import pinned_variables
from evaluator.host.envs.episode_recorder import PlayedEpisode
from evaluator.host.envs.gym_task import GymTask, load_gym_task
from evaluator.host.sandboxes.sandbox import SandboxSpec
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.seeds.derived_seeds import agent_seeds, environment_seed, episode_seeds
from evaluator.host.solo.referee import EpisodeSpec, SoloSetup, play_episodes
from evaluator.host.solo.verify_result import replay_episode
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import ParallelEpisodes, Task

EPISODES = 100
DIGEST = "0" * 64
LIMITS = Limits(cpu_seconds=3600)


def specs(task: Task) -> tuple[EpisodeSpec, ...]:
    """The episodes that every variant plays."""
    name = ("bench", "preview", DIGEST, task.id, task.counted)
    pairs = zip(episode_seeds(*name), agent_seeds(*name), strict=True)
    return tuple(EpisodeSpec(index=i, seed=seed, agent_seed=own) for i, (seed, own) in enumerate(pairs))


def bare(source: str, task: Task) -> float:
    """Steps per second of the loop that everybody writes."""
    agent: Any = agents.bare_agent(source)
    environment = gymnasium.make(task.env_id)
    steps = 0
    begun = time.perf_counter()
    for spec in specs(task):
        observation, _ = environment.reset(seed=environment_seed(spec.seed, 128))
        over = False
        while not over:
            observation, _, terminated, truncated, _ = environment.step(agent.act(observation))
            over = terminated or truncated
            steps += 1
    return steps / (time.perf_counter() - begun)


def contained(source: str, task: Task, chosen: SelectedSandbox) -> tuple[float, tuple[PlayedEpisode, ...], GymTask]:
    """Steps per second from the first question to the last answer, the container being up."""
    world = load_gym_task(task)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "agent.py").write_text(source)
        sandbox = chosen.opener(SandboxSpec(folder=folder, entry="agent.py", limits=LIMITS, environment=pinned_variables()))
        try:
            stream = sandbox.stream()
            match = SoloSetup(
                gym_task=world, specs=specs(task), limits=LIMITS, progress=lambda done: None, pin_sandbox=sandbox.pin
            )
            begun = time.perf_counter()
            tally = play_episodes(match, stream)
            seconds = time.perf_counter() - begun
        finally:
            sandbox.close()
    return sum(e.length for e in tally) / seconds, tally, world


def replayed(episodes: tuple[PlayedEpisode, ...], world: GymTask) -> float:
    """Steps per second of verification on one core."""
    steps = 0
    begun = time.perf_counter()
    for spec, episode in zip(specs(world.task), episodes, strict=True):
        now = replay_episode(world, spec.seed, list(episode.actions))
        assert now.total == episode.total
        steps += episode.length
    return steps / (time.perf_counter() - begun)


def rounds(count: int, boxes: dict[str, SelectedSandbox]) -> Iterator[dict[str, float]]:
    """Each round times every variant once, one after the other, and yields them as ratios of that round's bare loop."""
    task = Task(id="CartPole-v1", episodes=EPISODES)
    one = task.model_copy(update={"lanes": ParallelEpisodes(shared=1, separate=1)})
    docker = boxes["docker"]
    for _ in range(count):
        rule = bare(agents.ONE_RULE, task)
        mlp = bare(agents.ONE_MLP, task)
        row = {"bare rule, steps/s": rule, "bare MLP, steps/s": mlp}
        row["(b) one lane, rule"] = contained(agents.ONE_RULE, one, docker)[0] / rule
        row["(b) one lane, MLP"] = contained(agents.ONE_MLP, one, docker)[0] / mlp
        speed, episodes, world = contained(agents.RULE, task, docker)
        row["(c) lock-step, rule"] = speed / rule
        row["verify, one core"] = replayed(episodes, world) / rule
        row["(c) lock-step, MLP"] = contained(agents.MLP, task, docker)[0] / mlp
        if "gvisor" in boxes:
            row["(c) gVisor, rule"] = contained(agents.RULE, task, boxes["gvisor"])[0] / rule
        yield row


def run(boxes: dict[str, SelectedSandbox], count: int = 5) -> dict[str, dict[str, float]]:
    """Median, least and greatest of each figure over the rounds."""
    rows = list(rounds(count, boxes))
    return {
        name: {
            "median": statistics.median(row[name] for row in rows),
            "min": min(row[name] for row in rows),
            "max": max(row[name] for row in rows),
        }
        for name in rows[0]
    }
