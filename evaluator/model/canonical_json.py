"""Canonical JSON, digests over it, and strict parsing of JSON."""

import hashlib
import json
from typing import Any

import rfc8785


def canonical(value: Any) -> bytes:
    """Serialise a JSON value in the canonical form of RFC 8785.

    Raises:
        ValueError: the value holds NaN, an infinity, or something that JSON cannot express.
    """
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise ValueError(f"this value has no canonical JSON form: {error}") from error


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
