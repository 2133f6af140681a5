"""Evaluations for other tools: TensorBoard, Weights & Biases, and Minari data sets. Each needs its own package."""

from pathlib import Path
from typing import Any

import numpy as np

from evaluator.host.envs.gym_task import load_gym_task
from scripts.notebook.analysis import EvaluatedAgent, optional


def to_tensorboard(evaluated: EvaluatedAgent, folder: str | Path) -> None:
    """Write returns and lengths, by episode, as events that `tensorboard --logdir` shows.

    Raises:
        CommandError: tensorboard is not installed.
    """
    optional("tensorboard")
    writer_module = optional("tensorboard.summary")
    writer = writer_module.Writer(str(Path(folder) / f"{evaluated.task.id.replace('/', '-')}-{evaluated.agent}"))
    for episode, (total, length) in enumerate(zip(evaluated.returns, evaluated.lengths, strict=True)):
        writer.add_scalar("episode/return", total, episode)
        writer.add_scalar("episode/length", length, episode)
    writer.add_scalar("score", evaluated.score, 0)
    writer.close()


def to_wandb(evaluated: EvaluatedAgent, project: str, **settings: Any) -> None:
    """Log a run; `settings` go to `wandb.init`, such as `mode="offline"`.

    Raises:
        CommandError: wandb is not installed.
    """
    config = {"task": evaluated.task.id, "agent": evaluated.agent, "result": evaluated.result and evaluated.result.key}
    run = optional("wandb").init(project=project, config=config, **settings)
    for total, length in zip(evaluated.returns, evaluated.lengths, strict=True):
        run.log({"return": total, "length": length})
    run.summary["score"] = evaluated.score
    run.finish()


def to_minari(evaluated: EvaluatedAgent, dataset_id: str) -> Any:
    """Make a Minari data set: every episode is stepped again by its recorded actions, without the agent.

    Raises:
        CommandError: minari is not installed.
    """
    minari = optional("minari")
    optional("h5py")  # Minari's own files need it
    buffers = optional("minari.data_collector").EpisodeBuffer
    gym_task = load_gym_task(evaluated.task)
    environment = gym_task.make()
    episodes = []
    for number, (seed, actions) in enumerate(zip(evaluated.seeds, evaluated.actions, strict=True)):
        observations, taken, rewards = [gym_task.start(environment, seed)], [], []
        terminated = False
        for action in gym_task.decoder().actions(list(actions)):
            observation, reward, terminated, _, _ = environment.step(action)
            observations.append(observation)
            taken.append(np.asarray(action))
            rewards.append(float(reward))
        ends = [False] * (len(rewards) - 1)
        episodes.append(
            buffers(
                id=number, observations=observations, actions=taken, rewards=rewards,
                terminations=[*ends, bool(terminated)], truncations=[*ends, not terminated],
            )
        )  # fmt: skip
    environment.close()
    return minari.create_dataset_from_buffers(
        dataset_id, episodes, env=gym_task.spec, algorithm_name=evaluated.agent,
        observation_space=gym_task.observation_space, action_space=gym_task.action_space,
    )  # fmt: skip
