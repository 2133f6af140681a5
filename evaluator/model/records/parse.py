"""Parsers of the stored documents: results, duels and traces."""

from typing import Any, TypeVar

from pydantic_core import from_json

from evaluator.model import canonical_json
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.trace import Trace

Record = TypeVar("Record", Result, Duel)


def parse_result(content: bytes, *, quick: bool = False) -> Result:
    """Parse a result file.

    `quick` is for many files that are shown or planned with. pydantic's JSON parser takes 40 % of the time, but does not see
    a key that stands twice (the last one counts), and neither the form of the file nor `self_sha256` is checked. What
    verifies or publishes results must not use it.

    Raises:
        ValueError: the bytes are not a result; unless `quick`, also if they are not exactly the bytes that
            `Result.serialised` writes, or if `self_sha256` does not fit.
    """
    return _parse(Result, _read_json(content, quick), content, quick)


def parse_duel(content: bytes, *, quick: bool = False) -> Duel:
    """Parse a duel file; `quick` and errors as for `parse_result`."""
    return _parse(Duel, _read_json(content, quick), content, quick)


def parse_record(content: bytes, *, quick: bool = False) -> Result | Duel:
    """Parse a file that is a result or a duel; `quick` and errors as for `parse_result`."""
    document = _read_json(content, quick)
    if isinstance(document, dict) and document.get("kind") == "duel":
        return _parse(Duel, document, content, quick)
    return _parse(Result, document, content, quick)


def parse_trace(content: bytes) -> Trace:
    """Parse a trace file; raises ValueError where the bytes are not exactly those of a trace."""
    trace = Trace.model_validate(canonical_json.parse_strict(content))
    if trace.serialised() != content:
        raise ValueError("the trace is not in canonical form; a byte of it was changed")
    return trace


def _read_json(content: bytes, quick: bool) -> Any:
    return from_json(content, allow_inf_nan=False) if quick else canonical_json.parse_strict(content)


def _parse(model: type[Record], document: Any, content: bytes, quick: bool) -> Record:
    record = model.model_validate(document)
    if quick:
        return record
    if record.serialised() != content:
        raise ValueError("the file is not in the form that records are written in; a byte of it was changed")
    # The same as the record's own hash, since the bytes are: the document holds what the record would write.
    if (
        canonical_json.digest({name: value for name, value in document.items() if name != "self_sha256"})
        != record.self_sha256
    ):
        raise ValueError("self_sha256 does not fit the rest; a value was changed")
    return record
