"""Canonical JSON, digests over it, and strict parsing of JSON."""

import hashlib
import json
from typing import Any

import rfc8785

# Between these two, JSON of Python and of RFC 8785 write a number that is not whole alike; whole ones are alike up to 2⁵³.
_PLAIN_LOW, _PLAIN_HIGH, _WHOLE = 1e-4, 1e15, 2**53


class _UnlikeError(Exception):
    """A value that Python's own encoder does not write as RFC 8785 has it."""


def canonical(value: Any) -> bytes:
    """Serialise a JSON value in the canonical form of RFC 8785.

    Python's own encoder writes most values alike, in a third of the reference implementation's time (`bench.growth`).

    Raises:
        ValueError: the value holds NaN, an infinity, or something that JSON cannot express.
    """
    try:
        return json.dumps(_alike(value), separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
    except (_UnlikeError, UnicodeEncodeError, RecursionError):
        pass
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise ValueError(f"this value has no canonical JSON form: {error}") from error


def _alike(value: Any) -> Any:
    """The value with whole floats as integers, if Python writes that as RFC 8785 has it."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int and -_WHOLE < value < _WHOLE:
        return value
    if kind is float:
        if value.is_integer() and -_WHOLE < value < _WHOLE:
            return int(value)
        if _PLAIN_LOW <= abs(value) < _PLAIN_HIGH:
            return value
    elif kind is list or kind is tuple:
        return [_alike(item) for item in value]
    elif kind is dict and all(type(key) is str and key.isascii() for key in value):
        return {key: _alike(item) for key, item in value.items()}
    raise _UnlikeError


def digest(value: Any) -> str:
    """SHA-256 over the canonical form, 64 hex digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key {key!r} stands twice")
        result[key] = value
    return result


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large for a number")
    return number


def parse_strict(data: bytes) -> Any:
    """Parse strict JSON: UTF-8, no NaN, no infinities, no duplicate keys.

    Raises:
        ValueError: the bytes are not strict JSON.
    """
    try:
        return json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_refuse_duplicates,
        )
    except RecursionError as error:
        raise ValueError("nested too deep") from error
