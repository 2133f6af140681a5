"""Where hostile agents are played: one small order, real sandboxes, nothing left behind."""

import os
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from evaluator.host.digests.image_files import default_base
from evaluator.host.digests.runtime_digest import runtime_digest
from evaluator.host.docker.engine import OWNER_LABEL, Engine
from evaluator.host.envs.gym_task import GymTask, load_gym_task
from evaluator.host.loading.submission_folder import SubmissionFolder, read_folder
from evaluator.host.sandboxes.docker_sandbox import REMOVAL
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, select_sandbox
from evaluator.host.solo.evaluate_agent import Evaluation, EvaluationRequest, evaluate_agent
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import ParallelEpisodes, Task
from evaluator.model.records.stored_record import Tier
from tests.hostile.catalogue import AGENTS
from tests.needs import is_every_night

# Large enough for a machine that is busy elsewhere; an attack that is to run into a limit names a smaller one.
LIMITS = {"memory_mib": 128, "tmpfs_mib": 64, "cpu_seconds": 6, "answer_seconds": 10, "start_seconds": 60, "log_kib": 64}
LANES = ParallelEpisodes(shared=4, separate=2)
MANIFEST = "name: A test agent\nalgorithm: none\n"


@dataclass(frozen=True, kw_only=True)
class Attack:
    """An attack's folder and what must come of it."""

    name: str
    family: str
    verdicts: tuple[str, ...]
    messages: tuple[str, ...] = ()
    log: str = ""
    task: str = "CartPole-v1"
    episodes: int = 4
    limits: Mapping[str, Any] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    in_gvisor: Mapping[str, Any] = field(default_factory=dict)
    """What differs there, since gVisor is another kernel: fields of this class."""
    note: str = ""
    """What a reader of the verdict must know."""

    def inside(self, how: str) -> "Attack":
        """The attack as it is played in a sandbox, with what must come of it there."""
        return replace(self, **self.in_gvisor) if how == "gvisor" else self

    def order(self) -> EvaluationRequest:
        """The attack as an order."""
        return order_of(AGENTS / self.family / self.name / "agent", self.task, self.episodes, self.limits)


def sandboxes_for(also: tuple[str, ...]) -> tuple[str, ...]:
    """The sandboxes that an attack is played in: docker, those that it names, and gVisor where all are asked for.

    `PULLRANK_ALL_ATTACKS=1` asks for all; without it only some are played in gVisor, which starts slower.
    """
    every = ("gvisor",) if is_every_night("attacks") else ()
    return tuple(dict.fromkeys(("docker", *also, *every)))


def _many(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


# Fields of expect.yml by another name, in which one word may stand for a list of one.
_LISTS = {"verdict": "verdicts", "verdicts": "verdicts", "message": "messages", "messages": "messages", "also": "also"}


def _expectations(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of `Attack` from those of expect.yml."""
    return {_LISTS.get(name, name): _many(value) if name in _LISTS else value for name, value in fields.items()}


def read_attack(path: Path) -> Attack:
    """The attack whose expect.yml this is."""
    fields = yaml.safe_load(path.read_text())
    fields.pop("tries", None)
    there = _expectations(fields.pop("in_gvisor", {}))
    return Attack(name=path.parent.name, family=path.parts[-3], in_gvisor=there, **_expectations(fields))


def attacks() -> list[Attack]:
    """Every agent's folder that holds an expect.yml, without the players of games."""
    return [read_attack(path) for path in sorted(AGENTS.glob("*/*/expect.yml")) if path.parts[-3] != "games"]


def world_of(task: str, episodes: int) -> GymTask:
    """A task with few lanes and few episodes."""
    return load_gym_task(Task(id=task, episodes=episodes, lanes=LANES))


def order_of(
    folder: Path, task: str = "CartPole-v1", episodes: int = 4, limits: Mapping[str, Any] | None = None
) -> EvaluationRequest:
    """An order for the agent in a folder."""
    return order(read_folder(folder, SubmissionLimits()), world_of(task, episodes), Limits(**{**LIMITS, **(limits or {})}))


def order(folder: SubmissionFolder, world: GymTask, limits: Limits) -> EvaluationRequest:
    """An order, as a person at home would give it."""
    return EvaluationRequest(
        login="mallory",
        login_id=None,
        agent="attack",
        folder=folder,
        gym_task=world,
        limits=limits,
        season="test",
        beacon="preview",
        beacon_verified=False,
        tier=Tier.LOCAL,
        runtime_digest=runtime_digest("test"),
    )


def play(order: EvaluationRequest, chosen: SelectedSandbox) -> Evaluation:
    """Evaluate it."""
    return evaluate_agent(order, chosen.kind, chosen.opener, lambda: datetime.now(UTC), lambda done: None)


def write_agent(folder: Path, source: str, manifest: str = MANIFEST) -> Path:
    """A submission with that source; returns its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "submission.yml").write_text(manifest)
    (folder / "agent.py").write_text(source)
    return folder


def base() -> str:
    """The base image under test."""
    return os.environ.get("BASE_IMAGE") or default_base()


def over_standard_streams(engine: Engine) -> SelectedSandbox:
    """The docker sandbox whose channel is standard input and output."""
    return select_sandbox("docker", base(), lambda line: None, over_socket=False)


def our_containers(engine: Engine) -> list[str]:
    """Ids of the containers that this process has made and not removed; others may be testing on the same engine."""
    _wait_for_removals()
    mine = (f'"pid": {os.getpid()},', f'"pid":{os.getpid()},')
    every = engine._api.containers(all=True, filters={"label": OWNER_LABEL})
    return [c["Id"] for c in every if any(words in c["Labels"][OWNER_LABEL] for words in mine)]


def _wait_for_removals() -> None:
    """Containers that were killed are removed by threads, which end before the process does."""
    for thread in threading.enumerate():
        if thread.name == REMOVAL:
            thread.join()


def our_leftovers() -> list[str]:
    """Names in the temporary directory that begin as ours do."""
    _wait_for_removals()
    return sorted(path.name for path in Path(tempfile.gettempdir()).glob("pullrank-*"))
