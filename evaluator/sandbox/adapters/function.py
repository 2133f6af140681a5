"""Adapter for a plain function from the observation to the action."""

from types import ModuleType
from typing import Any

from evaluator.sandbox.adapters.find_agent import own_function

FUNCTION_NAMES = ("act", "agent", "policy", "predict", "choose_action", "get_action")


def agent(module: ModuleType) -> type:
    """An Agent class around the file's function; all episodes share it, since they share its globals anyway."""
    function = own_function(module, FUNCTION_NAMES, "function")

    class Agent:
        """Calls the function."""

        memoryless = True

        def act(self, observation: Any) -> Any:
            """The function's result."""
            return function(observation)

    return Agent
