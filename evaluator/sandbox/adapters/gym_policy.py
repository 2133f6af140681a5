"""Runs a policy written against Gymnasium's API: a class that is made of an environment and asked with `get_action`.

The environment that it is given has spaces and nothing that steps: the referee has the real one.
"""

from types import ModuleType, SimpleNamespace
from typing import Any

from evaluator.sandbox.adapters.foreign import own_class, parameters

METHODS = ("get_action", "select_action", "choose_action", "sample_action", "act", "__call__")
ENVIRONMENTS = ("env", "environment")


def _stand_in(observation_space: Any, action_space: Any, task_id: str) -> Any:
    """What a policy looks up in an environment before anything is played."""
    environment = SimpleNamespace(
        observation_space=observation_space,
        action_space=action_space,
        single_observation_space=observation_space,
        single_action_space=action_space,
        spec=SimpleNamespace(id=task_id),
    )
    environment.unwrapped = environment
    return environment


def agent(module: ModuleType) -> type:
    """An Agent class around the file's policy."""
    ours, method = own_class(module, METHODS, "gym-policy")
    wanted = parameters(ours)

    class Agent:
        """Asks a policy of its own."""

        def __init__(self, observation_space: Any, action_space: Any, task_id: str, seed: int) -> None:
            action_space.seed(seed)
            self._environment = _stand_in(observation_space, action_space, task_id)
            values = {"observation_space": observation_space, "action_space": action_space, "task_id": task_id, "seed": seed}
            values |= dict.fromkeys(ENVIRONMENTS, self._environment)
            self._policy = ours(**{name: value for name, value in values.items() if name in wanted})
            self._ask = getattr(self._policy, method)
            self._extra = {name: self._environment for name in ENVIRONMENTS if name in parameters(self._ask)}
            if callable(reset := getattr(self._policy, "reset", None)) and not parameters(reset):
                reset()

        def act(self, observation: Any) -> Any:
            """What the policy chooses."""
            return self._ask(observation, **self._extra) if not self._extra else self._asked_by_name(observation)

        def _asked_by_name(self, observation: Any) -> Any:
            """Some take the environment first."""
            name = next(name for name in parameters(self._ask) if name not in self._extra)
            return self._ask(**{name: observation}, **self._extra)

    return Agent
