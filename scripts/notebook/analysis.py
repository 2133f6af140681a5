"""Evaluations, comparisons, boards and replays as Python values and pandas frames, and exports for other tools.

TensorBoard, Weights & Biases and Minari each need their own package.
"""

import importlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluator.host.envs.custom_metrics import RecordedEpisode
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.envs.render import Picture, RenderLimits, render_episode, with_rendering
from evaluator.host.errors import AgentFault
from evaluator.host.progress import ignore_progress
from evaluator.host.public_download import PublicDownloader
from evaluator.host.seeds.derived_seeds import episode_seeds
from evaluator.host.solo.verify_result import checked_actions
from evaluator.model.canonical_json import parse_strict
from evaluator.model.config.task import Task
from evaluator.model.identifiers import safe_path_segment
from evaluator.model.records.parse import parse_trace
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import PREVIEW_BEACON
from evaluator.model.records.verdict import Verdict
from evaluator.model.visible_text import visible
from leaderboard.api.rank_json import standings_document
from leaderboard.scoring.intervals import TAIL, student_quantile
from scripts.console import OUR_FAULT, SUBMISSION_AT_FAULT, USAGE, CommandError
from scripts.repository.checkout import open_checkout
from scripts.runs.local_evaluator import open_evaluator
from scripts.standings.recorded_standings import recorded_standings

# What an agent that is no folder draws its episodes for: the same for all, so that such agents are compared on equal ones.
_NO_DIGEST = 64 * "0"
_DOCUMENT_BYTES = 64 << 20
_COLUMNS = ("place", "login", "agent", "name", "score", "low", "high", "episodes", "attempts")
_METHODS = ("act", "predict", "choose_action", "get_action")


def optional(library: str) -> Any:
    """A library that only some functions need.

    Raises:
        CommandError: it is not installed.
    """
    try:
        return importlib.import_module(library)
    except ImportError as error:
        package = library.partition(".")[0]
        raise CommandError(USAGE, f"this needs {package}; install it with 'pip install {package}'") from error


@dataclass(frozen=True, kw_only=True)
class EvaluatedAgent:
    """The episodes of an agent on a task."""

    agent: str
    task: Task
    seeds: tuple[str, ...]
    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    actions: tuple[Sequence[npt.NDArray[np.generic]], ...] = field(repr=False)
    """For each episode one array per leaf of the action space."""
    result: Result | None = field(default=None, repr=False)
    """The record, of an agent that is a folder."""

    @property
    def score(self) -> float:
        """The mean return."""
        return math.fsum(self.returns) / len(self.returns)

    def to_frame(self) -> Any:
        """A pandas frame with a row for each episode."""
        return optional("pandas").DataFrame(
            {
                "agent": self.agent, "task": self.task.id, "episode": range(len(self.returns)), "seed": self.seeds,
                "return": self.returns, "length": self.lengths,
            }
        )  # fmt: skip


def evaluate(agent: Any, task: str, *, board: str | Path = ".", sandbox: str = "auto") -> EvaluatedAgent:
    """Evaluate an agent by the rules of a board.

    Args:
        agent: a folder, as `pullrank evaluate` takes it, played in the sandbox; or a function of an observation, or a class
            or object with `act` or `predict`, played in this process on seeds that are equal for all of these.
        task: its id on the board.
        board: a folder in the board's clone.
        sandbox: for a folder: auto, docker, gvisor or process.

    Raises:
        CommandError: the task is not there, or the agent failed; the message says how.
    """
    checkout = open_checkout(Path(board).resolve())
    (chosen,) = checkout.tasks([task])
    if not isinstance(agent, str | Path):
        return _in_process(agent, chosen, checkout.challenge.season)
    entry = checkout.find(Path(agent).resolve())
    evaluator = open_evaluator(checkout, sandbox)
    result, trace = evaluator.run(evaluator.request(entry, chosen), ignore_progress)
    if result.verdict is not Verdict.OK or trace is None:
        raise CommandError(SUBMISSION_AT_FAULT, f"{agent} on {task}: {result.verdict}: {result.message}")
    parsed = parse_trace(trace)
    begins = [0, *accumulate(episode.length for episode in parsed.episodes)]
    actions = checked_actions(parsed, load_gym_task(chosen))
    return EvaluatedAgent(
        agent=entry.agent, task=chosen, seeds=result.seeds, returns=result.returns, lengths=result.lengths, result=result,
        actions=tuple([array[first:last] for array in actions] for first, last in pairwise(begins)),
    )  # fmt: skip


def _in_process(agent: Any, task: Task, season: str) -> EvaluatedAgent:
    gym_task = load_gym_task(task)
    decoder = gym_task.decoder()
    if len(decoder.leaves) != 1 or decoder.leaves[0].path:
        raise CommandError(USAGE, f"{task.id} takes actions of several parts; evaluate an agent's folder instead")
    seeds = episode_seeds(season, PREVIEW_BEACON, _NO_DIGEST, task.id, task.counted)
    environment = gym_task.make()
    returns, lengths, played = [], [], []
    for seed in seeds:
        act = _policy(agent() if isinstance(agent, type) else agent)
        observation, over = gym_task.start(environment, seed), False
        rewards: list[float] = []
        taken: list[npt.NDArray[np.generic]] = []
        while not over:
            content = np.asarray(act(observation), decoder.leaves[0].dtype).tobytes()
            (action,), (array,) = decoder.decode(memoryview(content), 1)
            observation, reward, terminated, truncated, _ = environment.step(action)
            rewards.append(float(reward))
            taken.append(array)
            over = terminated or truncated or len(rewards) == gym_task.time_limit
        returns.append(sum(rewards))
        lengths.append(len(rewards))
        played.append([np.concatenate(taken)])
    environment.close()
    name = str(getattr(agent, "__name__", type(agent).__name__))
    name = name if name.isidentifier() else "function"
    return EvaluatedAgent(
        agent=name, task=task, seeds=seeds, returns=tuple(returns), lengths=tuple(lengths), actions=tuple(played)
    )


def _policy(agent: Any) -> Callable[[Any], Any]:
    """A function from observation to action."""
    method = next((getattr(agent, name) for name in _METHODS if hasattr(agent, name)), agent)
    if not callable(method):
        raise CommandError(USAGE, f"{agent!r} is no agent; give a folder, a function, or an object with act or predict")

    def act(observation: Any) -> Any:
        answer = method(observation)
        return answer[0] if isinstance(answer, tuple) else answer  # Stable-Baselines3 answers action and state

    return act


@dataclass(frozen=True, kw_only=True)
class ComparedAgents:
    """The difference of two agents' mean returns."""

    difference: float
    low: float
    high: float
    """The 95 % interval."""
    is_paired: bool
    """Whether both played the same episodes."""


def compare(one: EvaluatedAgent, other: EvaluatedAgent) -> ComparedAgents:
    """Compare two agents on one task: episode by episode where they played the same ones, else by Welch's interval.

    Raises:
        CommandError: they played different tasks, or one episode.
    """
    if one.task.id != other.task.id or min(len(one.returns), len(other.returns)) < 2:
        raise CommandError(USAGE, "two agents are compared on one task, with two episodes or more each")
    first, second = np.array(one.returns), np.array(other.returns)
    is_paired = one.seeds == other.seeds
    if is_paired:
        parts, freedom = [first - second], len(first) - 1
    else:
        parts, freedom = [first, second], min(len(first), len(second)) - 1
    error = math.sqrt(sum(float(part.var(ddof=1)) / len(part) for part in parts))
    difference, margin = one.score - other.score, student_quantile(freedom, 1 - TAIL) * error
    return ComparedAgents(difference=difference, low=difference - margin, high=difference + margin, is_paired=is_paired)


def replay(evaluated: EvaluatedAgent, episode: int, *, frames: int = 1000) -> list[Picture | str]:
    """The frames of an episode, as arrays of shape (height, width, 3), or as texts; the agent is not run again.

    Raises:
        CommandError: there is no such episode, or the environment renders nothing.
    """
    if not 0 <= episode < len(evaluated.returns):
        raise CommandError(USAGE, f"there is no episode {episode}; the last one is {len(evaluated.returns) - 1}")
    rendering = with_rendering(load_gym_task(evaluated.task))
    if rendering is None:
        raise CommandError(OUR_FAULT, f"{evaluated.task.id} renders nothing")
    actions = evaluated.actions[episode]
    recorded = RecordedEpisode(
        seed=evaluated.seeds[episode], total=evaluated.returns[episode], length=len(actions[0]), gym_task=rendering,
        recorded=actions,
    )  # fmt: skip
    limits = RenderLimits(frames=frames, steps=1_000_000, seconds=3600.0)
    return [picture for _, picture in render_episode(rendering, recorded, limits, time.monotonic)]


def load_board(place: str | Path, *, https: PublicDownloader | None = None) -> Any:
    """A pandas frame of a board's tables, with a row for each agent and task.

    Args:
        place: a folder in a clone, or the https address of a board's site.
        https: how addresses are reached; the public internet if left out.

    Raises:
        CommandError: there is no board.
    """
    is_site = str(place).startswith("https://")
    if not is_site and not Path(place).is_dir():
        example = "such as https://owner.github.io/board/"
        raise CommandError(USAGE, f"{place}: is neither a folder nor a site's https address, {example}")
    pandas = optional("pandas")
    rows = list(_site_rows(place, https or PublicDownloader()) if is_site else _clone_rows(Path(place)))
    return pandas.DataFrame(rows, columns=[*_COLUMNS, "task"])


def _clone_rows(place: Path) -> Iterator[dict[str, Any]]:
    for table in standings_document(recorded_standings(open_checkout(place.resolve()), official=False))["tasks"]:
        yield from _rows(table, table["task"])


def _site_rows(place: str | Path, https: PublicDownloader) -> Iterator[dict[str, Any]]:
    address = str(place).rstrip("/")
    tasks = _document(f"{address}/api/tasks.json", https)
    for task in tasks if isinstance(tasks, list) else []:
        if isinstance(task, dict) and isinstance(name := task.get("id"), str) and task.get("leaderboard"):
            yield from _rows(_document(f"{address}/api/tasks/{safe_path_segment(name)}/leaderboard.json", https), name)


def _rows(table: Any, task: str) -> Iterator[dict[str, Any]]:
    rows = table.get("rows") if isinstance(table, dict) else None
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict):
            estimate = row.get("estimate")
            values = {**row, **(estimate if isinstance(estimate, dict) else {})}
            cells = {name: values.get(name) for name in _COLUMNS} | {"task": task}
            yield {name: _shown(cell) for name, cell in cells.items()}


def _shown(cell: Any) -> Any:
    """A cell as it may be printed: a site may say anything, also in lists, and a terminal obeys it."""
    return cell if isinstance(cell, float | int | None) else visible(str(cell))


def _document(url: str, https: PublicDownloader) -> Any:
    content = bytearray()
    try:
        size = https.download(url, _DOCUMENT_BYTES, content.extend)
        if size <= _DOCUMENT_BYTES:
            return parse_strict(bytes(content))
    except AgentFault as fault:
        raise CommandError(SUBMISSION_AT_FAULT, f"{url}: {fault}") from fault
    except (ValueError, RecursionError) as error:
        raise CommandError(SUBMISSION_AT_FAULT, f"{url}: is not a board's JSON; name the address of its site") from error
    raise CommandError(SUBMISSION_AT_FAULT, f"{url}: has more than {_DOCUMENT_BYTES >> 20} MiB, which no board has")


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
