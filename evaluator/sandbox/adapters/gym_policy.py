"""Adapter for policies of Gymnasium's style: a class made from an environment, with a method such as `get_action`.

Its environment has spaces but cannot be stepped: the real one is at the referee.
"""

from types import ModuleType, SimpleNamespace
from typing import Any

from evaluator.sandbox.adapters.find_agent import own_class, parameters

POLICY_METHODS = ("get_action", "select_action", "choose_action", "sample_action", "act", "__call__")
ENVIRONMENT_PARAMETERS = ("env", "environment")


def _stand_in(observation_space: Any, action_space: Any, task_id: str) -> Any:
    """A stand-in with the attributes that policies read from an environment."""
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
    ours, method = own_class(module, POLICY_METHODS, "gym-policy")
    wanted = parameters(ours)

    class Agent:
        """Calls its own policy."""

        def __init__(self, observation_space: Any, action_space: Any, task_id: str, seed: int) -> None:
            action_space.seed(seed)
            self._environment = _stand_in(observation_space, action_space, task_id)
            values = {"observation_space": observation_space, "action_space": action_space, "task_id": task_id, "seed": seed}
            values |= dict.fromkeys(ENVIRONMENT_PARAMETERS, self._environment)
            self._policy = ours(**{name: value for name, value in values.items() if name in wanted})
            self._ask = getattr(self._policy, method)
            self._extra = {name: self._environment for name in ENVIRONMENT_PARAMETERS if name in parameters(self._ask)}
            if callable(reset := getattr(self._policy, "reset", None)) and not parameters(reset):
                reset()

        def act(self, observation: Any) -> Any:
            """The policy's action."""
            return self._ask(observation, **self._extra) if not self._extra else self._act_by_name(observation)

        def _act_by_name(self, observation: Any) -> Any:
            """Pass the observation by name: some policies take the environment first."""
            name = next(name for name in parameters(self._ask) if name not in self._extra)
            return self._ask(**{name: observation}, **self._extra)

    return Agent
