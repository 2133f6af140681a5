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
            prediction = self.predict(observation)
            is_pair = (
                isinstance(prediction, tuple)
                and len(prediction) == 2
                and (prediction[1] is None or isinstance(prediction[1], tuple))
            )
            return prediction[0] if is_pair else prediction

    return Agent
