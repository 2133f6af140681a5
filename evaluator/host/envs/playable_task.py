"""What tasks with an environment and games have in common, and what an agent is told of them."""

from dataclasses import dataclass
from typing import Any

from gymnasium import spaces

from evaluator import wire
from evaluator.host.envs.spaces import ObservationEncoder, describe
from evaluator.host.errors import EnvironmentFault
from evaluator.model.canonical_json import canonical
from evaluator.model.config.task import Task
from evaluator.model.records.trace import is_recordable


@dataclass(frozen=True, kw_only=True)
class PlayableTask:
    """A task, and the spaces of its environment or game."""

    task: Task
    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]

    def __post_init__(self) -> None:
        """Refuse spaces that no HELLO or no trace holds: every evaluation would be a failure of ours."""
        try:
            canonical(self.hello_fields())
        except ValueError as error:
            raise EnvironmentFault(f"spaces of task {self.task.id} cannot be recorded: {error}") from error
        if not all(is_recordable(leaf.shape) for leaf in wire.leaves(describe(self.action_space))):
            raise EnvironmentFault(f"actions of task {self.task.id} cannot be recorded: one is empty or has too many axes")

    def encoder(self) -> ObservationEncoder:
        """A new encoder of observations."""
        return ObservationEncoder(self.observation_space)

    def hello_fields(self) -> dict[str, Any]:
        """What HELLO (`evaluator/host/sandboxes/handshake.py`) says of it, which the agent's constructor may ask for."""
        return {
            "task_id": self.task.id,
            "observation_space": describe(self.observation_space),
            "action_space": describe(self.action_space),
        }
