"""Adapter for a class with `predict(state)`, which returns the action, or as in Stable-Baselines3 action and state."""

from types import ModuleType
from typing import Any

from evaluator.sandbox.adapters.find_agent import own_class


def agent(module: ModuleType) -> type:
    """An Agent class around the file's class with `predict`."""
    ours, _ = own_class(module, ("predict",), "predict")

    class Agent(ours):  # type: ignore[valid-type,misc]
        """The class itself, with its own constructor."""

        def act(self, observation: Any) -> Any:
            """The predicted action."""
            prediction = self.predict(observation)
            is_pair = (
                isinstance(prediction, tuple)
                and len(prediction) == 2
                and (prediction[1] is None or isinstance(prediction[1], tuple))
            )
            return prediction[0] if is_pair else prediction

    return Agent
