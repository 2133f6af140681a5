"""Agents' folders and evaluations for tests: real sandboxes, small tasks."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from evaluator.host.deterministic import pinned_environment
from evaluator.host.duels.evaluate_duel import Contender, DuelOrder, hold, order_sides
from evaluator.host.envs.gym_task import open_world
from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.host.loading.submission_folder import Folder, assemble
from evaluator.host.sandboxes.sandbox import Cell
from evaluator.host.sandboxes.select import Chosen, choose
from evaluator.host.seeds.derive import agent_seeds, episode_seeds
from evaluator.host.solo.episode_batch import Ticket
from evaluator.host.solo.evaluate_agent import Evaluation, Order, evaluate
from evaluator.host.solo.referee import Match, Tally, play
from evaluator.model.config.challenge import Limits, SubmissionLimits, Task
from evaluator.model.config.submission import Blob
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Class

SEASON = "test"
DIGEST = "ab" * 32
MANIFEST = b"name: Test\nalgorithm: none\n"


def folder(source: str, manifest: bytes = MANIFEST, **files: bytes) -> Folder:
    """A submission of one source."""
    contents = {"submission.yml": manifest, "agent.py": source.encode(), **files}
    blobs = tuple(Blob(path=path, executable=False, content=content) for path, content in sorted(contents.items()))
    return assemble(blobs, SubmissionLimits())


def process() -> Chosen:
    """The process sandbox: here whatever the machine, and real."""
    return choose("process", "", lambda line: None)


def tickets(task: Task) -> tuple[Ticket, ...]:
    """The episodes of a task."""
    name = (SEASON, "preview", DIGEST, task.id, task.episodes)
    pairs = zip(episode_seeds(*name), agent_seeds(*name), strict=True)
    return tuple(Ticket(index=i, seed=seed, agent_seed=own) for i, (seed, own) in enumerate(pairs))


def played(source: str, task: Task, chosen: Chosen, limits: Limits | None = None) -> Tally:
    """What the referee keeps of an agent on a task."""
    limits = limits or Limits()
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        room.chmod(0o755)
        (room / "agent.py").write_text(source)
        sandbox = chosen.opener(Cell(folder=room, entry="agent.py", limits=limits, environment=pinned_environment()))
        try:
            match = Match(world=open_world(task), tickets=tickets(task), limits=limits, progress=lambda done: None)
            return play(match, sandbox.stream())
        finally:
            sandbox.close()


def order(found: Folder, task: Task, **changes: object) -> Order:
    """An order with the preview's seeds."""
    fields: dict[str, object] = {
        "login": "alice", "login_id": None, "agent": "test", "folder": found, "world": open_world(task), "limits": Limits(),
        "season": SEASON, "beacon": "preview", "beacon_verified": False, "klass": Class.LOCAL, "runtime_digest": DIGEST,
    }  # fmt: skip
    return Order(**{**fields, **changes})  # type: ignore[arg-type]


def evaluated(source: str, task: Task, chosen: Chosen | None = None, **changes: object) -> Evaluation:
    """A result and its trace."""
    box = chosen or process()
    wanted = order(folder(source), task, **changes)
    return evaluate(wanted, box.kind, box.opener, lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), lambda done: None)


class SameSeeds(Order):
    """An order whose seeds do not hang on the agent's version, so that two agents meet the same episodes."""

    def tickets(self) -> tuple[Ticket, ...]:
        """Those of every order of this task."""
        return tickets(self.world.task)


def on_the_same_seeds(found: Folder, task: Task, chosen: Chosen | None = None, **changes: object) -> Evaluation:
    """What an agent reaches in the episodes that every other one is given here, too."""
    box = chosen or process()
    wanted = SameSeeds(**vars(order(found, task, **changes)))
    return evaluate(wanted, box.kind, box.opener, lambda: datetime(2026, 1, 2, tzinfo=UTC), lambda done: None)


def duel_order(one: str, other: str | None, task: Task, **changes: object) -> DuelOrder:
    """An order with the preview's seeds: alice/one against bob/other, or alice/one against itself."""
    first = Contender(login="alice", login_id=None, agent="one", folder=folder(one))
    second = Contender(login="bob", login_id=None, agent="other", folder=folder(other)) if other is not None else first
    fields: dict[str, object] = {
        "contenders": order_sides(first, second), "game": open_game(task), "limits": Limits(), "season": SEASON,
        "beacon": "preview", "beacon_verified": False, "klass": Class.LOCAL, "runtime_digest": DIGEST,
    }  # fmt: skip
    return DuelOrder(**{**fields, **changes})  # type: ignore[arg-type]


def duelled(one: str, other: str | None, task: Task, chosen: Chosen | None = None, **changes: object) -> Duel:
    """The duel of alice's player, side 0, with bob's, side 1; with itself where there is no other."""
    box = chosen or process()
    wanted = duel_order(one, other, task, **changes)
    return hold(wanted, box.kind, box.opener, lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), lambda done: None)


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
