"""What tasks with an environment and games have in common, and what an agent is told of them."""

from dataclasses import dataclass
from typing import Any

from gymnasium import spaces

from evaluator.host.envs.spaces import ObservationEncoder, describe
from evaluator.model.config.task import Task


@dataclass(frozen=True, kw_only=True)
class PlayableTask:
    """A task, and the spaces of its environment or game."""

    task: Task
    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]

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
