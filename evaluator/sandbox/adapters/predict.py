"""Runs a class with `predict(state)`, which returns the action, or the action and a state as Stable-Baselines3 does."""

from types import ModuleType
from typing import Any

from evaluator.sandbox.adapters.foreign import own_class


def agent(module: ModuleType) -> type:
    """An Agent class around the file's class with `predict`."""
    ours, _ = own_class(module, ("predict",), "predict")

    class Agent(ours):  # type: ignore[valid-type,misc]
        """The class itself, asked in our words; its constructor is its own."""

        def act(self, observation: Any) -> Any:
            """What it predicts."""
            found = self.predict(observation)
            is_pair = isinstance(found, tuple) and len(found) == 2 and (found[1] is None or isinstance(found[1], tuple))
            return found[0] if is_pair else found

    return Agent
