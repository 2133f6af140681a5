"""Runs a plain function of an observation that returns the action."""

from types import ModuleType
from typing import Any

from evaluator.sandbox.adapters.foreign import own_function

NAMES = ("act", "agent", "policy", "predict", "choose_action", "get_action")


def agent(module: ModuleType) -> type:
    """An Agent class around the file's function; all episodes ask the same one, as they would share its globals."""
    function = own_function(module, NAMES, "function")

    class Agent:
        """Asks the function."""

        memoryless = True

        def act(self, observation: Any) -> Any:
            """What the function returns."""
            return function(observation)

    return Agent
