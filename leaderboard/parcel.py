"""Results on their way from one process to another: as what `marshal` takes, in half of the time that objects take.

Only between a process and its own child. Nothing that came from elsewhere is ever unpacked.
"""

import marshal
import pickle
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from evaluator.model.config.challenge import Limits
from evaluator.model.records.result import Class, Cost, Provenance, Result, SandboxKind
from evaluator.model.records.verdict import Verdict
from leaderboard.lean import COST, FIELDS, ORIGIN

_NAMES, _COST, _ORIGIN = (tuple(model.model_fields) for model in (Result, Cost, Provenance))
_KINDS = {"klass": Class, "sandbox": SandboxKind, "verdict": Verdict}
_BY_VALUE = {name: {one.value: one for one in kind} for name, kind in _KINDS.items()}
_new, _set = object.__new__, object.__setattr__


def packed(results: Iterable[Result]) -> bytes:
    """Lean results as plain values, limits once each; any other as it is pickled."""
    limits: dict[int, tuple[int, Limits]] = {}
    rows = [_row(result, limits) if _is_plain(result) else pickle.dumps(result) for result in results]
    return marshal.dumps((rows, pickle.dumps([one for _, one in limits.values()])))


def unpacked(content: bytes) -> list[Result]:
    """What was packed."""
    rows, limits = marshal.loads(content)
    known: list[Limits] = pickle.loads(limits)
    return [pickle.loads(row) if isinstance(row, bytes) else _result(row, known) for row in rows]


def _is_plain(result: Result) -> bool:
    """Whether it is lean and of no more parts than all are."""
    return isinstance(result.returns, array) and result.script is None and result.first_attempt is None


def _row(result: Result, limits: dict[int, tuple[int, Limits]]) -> tuple[Any, ...]:
    fields = dict(result.__dict__)
    for name in _KINDS:
        fields[name] = fields[name].value
    for name in ("returns", "lengths"):
        values = fields[name]
        fields[name] = (values.typecode, values.tobytes())
    number, _ = limits.setdefault(id(result.limits), (len(limits), result.limits))
    fields["limits"] = number
    fields["cost"], fields["provenance"] = tuple(result.cost.__dict__.values()), tuple(result.provenance.__dict__.values())
    return tuple(fields.values())


def _result(row: Sequence[Any], limits: Sequence[Limits]) -> Result:
    fields = dict(zip(_NAMES, row, strict=True))
    for name, known in _BY_VALUE.items():
        fields[name] = known[fields[name]]
    for name in ("returns", "lengths"):
        fields[name] = array(*fields[name])
    fields["limits"] = limits[fields["limits"]]
    fields["cost"] = _made(Cost, dict(zip(_COST, fields["cost"], strict=True)), COST)
    fields["provenance"] = _made(Provenance, dict(zip(_ORIGIN, fields["provenance"], strict=True)), ORIGIN)
    found: Result = _made(Result, fields, FIELDS)
    return found


def _made(model: Any, fields: dict[str, Any], known: set[str]) -> Any:
    """A value that was valid before it was packed."""
    found = _new(model)
    _set(found, "__dict__", fields)
    _set(found, "__pydantic_fields_set__", known)
    _set(found, "__pydantic_extra__", None)
    _set(found, "__pydantic_private__", None)
    return found
