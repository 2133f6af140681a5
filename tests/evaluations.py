"""Agents' folders and evaluations for tests: real sandboxes, small tasks."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from evaluator.host.deterministic import pinned_variables
from evaluator.host.duels.evaluate_duel import DuelPlayer, DuelRequest, evaluate_duel, order_sides
from evaluator.host.envs.episode_recorder import PlayedEpisode
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.host.loading.submission_folder import SubmissionFolder, assemble
from evaluator.host.progress import ReportProgress, ignore_progress
from evaluator.host.sandboxes.sandbox import SandboxSpec
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, select_sandbox
from evaluator.host.seeds.derived_seeds import agent_seeds, episode_seeds
from evaluator.host.solo.evaluate_agent import Evaluation, EvaluationRequest, evaluate_agent
from evaluator.host.solo.referee import EpisodeSpec, SoloSetup, play_episodes
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission import SubmissionFile
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.stored_record import Tier

SEASON = "test"
DIGEST = "ab" * 32
MANIFEST = b"name: Test\nalgorithm: none\n"


def folder(source: str, manifest: bytes = MANIFEST, **files: bytes) -> SubmissionFolder:
    """A submission of one source."""
    contents = {"submission.yml": manifest, "agent.py": source.encode(), **files}
    blobs = tuple(SubmissionFile(path=path, executable=False, content=content) for path, content in sorted(contents.items()))
    return assemble(blobs, SubmissionLimits())


def process() -> SelectedSandbox:
    """The process sandbox: here whatever the machine, and real."""
    return select_sandbox("process", "", lambda line: None)


def specs(task: Task) -> tuple[EpisodeSpec, ...]:
    """The episodes of a task."""
    name = (SEASON, "preview", DIGEST, task.id, task.episodes)
    pairs = zip(episode_seeds(*name), agent_seeds(*name), strict=True)
    return tuple(EpisodeSpec(index=i, seed=seed, agent_seed=own) for i, (seed, own) in enumerate(pairs))


def played(
    source: str,
    task: Task,
    chosen: SelectedSandbox,
    limits: Limits | None = None,
    progress: ReportProgress = ignore_progress,
) -> tuple[PlayedEpisode, ...]:
    """What the referee keeps of an agent on a task."""
    limits = limits or Limits()
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        room.chmod(0o755)
        (room / "agent.py").write_text(source)
        sandbox = chosen.opener(SandboxSpec(folder=room, entry="agent.py", limits=limits, environment=pinned_variables()))
        try:
            match = SoloSetup(gym_task=load_gym_task(task), specs=specs(task), limits=limits, progress=progress)
            return play_episodes(match, sandbox.stream())
        finally:
            sandbox.close()


def order(folder: SubmissionFolder, task: Task, **changes: object) -> EvaluationRequest:
    """An order with the preview's seeds."""
    fields: dict[str, object] = {
        "login": "alice", "login_id": None, "agent": "test", "folder": folder, "gym_task": load_gym_task(task),
        "limits": Limits(),
        "season": SEASON, "beacon": "preview", "beacon_verified": False, "tier": Tier.LOCAL, "runtime_digest": DIGEST,
    }  # fmt: skip
    return EvaluationRequest(**{**fields, **changes})  # type: ignore[arg-type]


def evaluate(wanted: EvaluationRequest, chosen: SelectedSandbox | None = None) -> Evaluation:
    """A result and its trace, at a time that is always the same."""
    box = chosen or process()
    return evaluate_agent(wanted, box.kind, box.opener, lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), lambda done: None)


def evaluated(source: str, task: Task, chosen: SelectedSandbox | None = None, **changes: object) -> Evaluation:
    """A result and its trace."""
    return evaluate(order(folder(source), task, **changes), chosen)


class SameSeeds(EvaluationRequest):
    """An order whose seeds do not hang on the agent's version, so that two agents meet the same episodes."""

    def specs(self) -> tuple[EpisodeSpec, ...]:
        """Those of every order of this task."""
        return specs(self.gym_task.task)


def on_the_same_seeds(
    folder: SubmissionFolder, task: Task, chosen: SelectedSandbox | None = None, **changes: object
) -> Evaluation:
    """What an agent reaches in the episodes that every other one is given here, too."""
    return evaluate(SameSeeds(**vars(order(folder, task, **changes))), chosen)


def duel_order(one: str, other: str | None, task: Task, **changes: object) -> DuelRequest:
    """An order with the preview's seeds: alice/one against bob/other, or alice/one against itself."""
    first = DuelPlayer(login="alice", login_id=None, agent="one", folder=folder(one))
    second = DuelPlayer(login="bob", login_id=None, agent="other", folder=folder(other)) if other is not None else first
    fields: dict[str, object] = {
        "contenders": order_sides(first, second), "game": open_game(task), "limits": Limits(), "season": SEASON,
        "beacon": "preview", "beacon_verified": False, "tier": Tier.LOCAL, "runtime_digest": DIGEST,
    }  # fmt: skip
    return DuelRequest(**{**fields, **changes})  # type: ignore[arg-type]


def duelled(one: str, other: str | None, task: Task, chosen: SelectedSandbox | None = None, **changes: object) -> Duel:
    """The duel of alice's player, side 0, with bob's, side 1; with itself where there is no other."""
    box = chosen or process()
    wanted = duel_order(one, other, task, **changes)
    return evaluate_duel(wanted, box.kind, box.opener, lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), lambda done: None)


RANDOM_PLAYER = """
import numpy

class Agent:
    def __init__(self, seed):
        self.generator = numpy.random.default_rng(seed)
    def act(self, observation):
        return int(self.generator.choice(numpy.flatnonzero(observation["action_mask"])))
"""

FIRST_LEGAL = """
class Agent:
    memoryless = True
    def act(self, observation):
        return int(observation["action_mask"].argmax())
"""

ANGLE_RULE = """
class Agent:
    memoryless = True
    def act(self, observation):
        return int(observation[2] + observation[3] > 0)
"""
