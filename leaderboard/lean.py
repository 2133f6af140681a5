"""Results without what no page shows, so that those of a large board fit into memory together."""

import json
from array import array
from typing import Any, TypeVar

from evaluator.model.result import Result

Value = TypeVar("Value")
# One set for all of them: each one of its own would be as large as the returns.
_FIELDS = set(Result.model_fields)
_SHARED = ("task", "task_digest", "login", "agent", "submission_digest", "season", "beacon", "runtime_digest", "platform")


class Lean:
    """Drops seeds, which follow from the beacon and are as many as the returns, and keeps one copy of what is equal.

    Returns and lengths become arrays: they are read like the tuples that they were, in a third of the memory. Such
    results are to be shown, not to be written.
    """

    def __init__(self) -> None:
        self._kept: dict[Any, Any] = {}
        self._versions: dict[str, dict[str, str]] = {}

    def __call__(self, result: Result) -> Result:
        """The same result, smaller; one that is sealed stays whole, since its reveal has to fit its hash."""
        if result.sealed is not None or not result.seeds:
            return result
        smaller = {
            "seeds": (),
            "returns": array("d", result.returns),
            "lengths": array("q", result.lengths),
            "limits": self._one(result.limits),
            "provenance": self._one(result.provenance),
            "versions": self._versions.setdefault(json.dumps(result.versions), result.versions),
        }
        shared = {name: self._one(getattr(result, name)) for name in _SHARED}
        return Result.model_construct(_fields_set=_FIELDS, **{**result.__dict__, **smaller, **shared})

    def _one(self, value: Value) -> Value:
        found: Value = self._kept.setdefault(value, value)
        return found
