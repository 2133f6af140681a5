"""Results without what no page shows, so that those of a large board fit into memory together."""

from array import array
from collections.abc import Sequence
from typing import Any, TypeVar

from evaluator.model.records.result import Cost, Provenance, Result
from evaluator.model.sealed_fields import secret_hash

Value = TypeVar("Value")
# One set for all of them: each one of its own would be as large as the returns.
FIELDS, COST, ORIGIN = set(Result.model_fields), set(Cost.model_fields), set(Provenance.model_fields)
_SHARED = ("task", "task_digest", "login", "agent", "submission_digest", "season", "beacon", "runtime_digest", "platform")


class Lean:
    """Drops seeds, which follow from the beacon and are as many as the returns, and keeps one copy of what is equal.

    Returns and lengths become arrays: they are read like the tuples that they were, in a third of the memory. Such
    results are to be shown, not to be written.
    """

    def __init__(self) -> None:
        self._kept: dict[Any, Any] = {}

    def __call__(self, result: Result) -> Result:
        """The same object, smaller; one that is sealed stays whole, since its reveal has to fit its hash."""
        if result.sealed is not None or not result.seeds:
            return result
        # Nobody else has seen it yet. As a copy, each would be made twice.
        known, kept = result.__dict__, self._kept
        # Those of a revealed season are the same for all, which is how its boards know that they can be paired.
        known["seeds"] = self._one(result.seeds) if secret_hash(result.beacon) else ()
        known["returns"] = array("d", known["returns"])
        known["lengths"] = _lengths(known["lengths"])
        known["limits"] = kept.setdefault(tuple(result.limits.__dict__.values()), result.limits)
        known["versions"] = kept.setdefault(tuple(result.versions.items()), result.versions)
        for name in _SHARED:
            known[name] = self._one(known[name])
        origin = result.provenance.__dict__
        origin["commit"], origin["run_url"] = self._one(origin["commit"]), self._one(origin["run_url"])
        for part, fields in ((result, FIELDS), (result.cost, COST), (result.provenance, ORIGIN)):
            object.__setattr__(part, "__pydantic_fields_set__", fields)
        return result

    def _one(self, value: Value) -> Value:
        found: Value = self._kept.setdefault(value, value)
        return found


def _lengths(lengths: Sequence[int]) -> "array[int]":
    try:
        return array("I", lengths)
    except OverflowError:
        return array("q", lengths)
