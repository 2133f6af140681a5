"""Spaces, observations and actions in the sandbox: read from frames, checked for type and shape, written into frames."""

import operator
from typing import Any

import numpy as np

from evaluator import wire


class BadActionError(Exception):
    """The agent returned something that is not an action."""

    lane: int | None = None
    """Where one agent for each lane returned it."""


def gymnasium_space(space: dict[str, Any]) -> Any:
    """The Gymnasium space of a description. Called only where needed, since importing gymnasium takes long."""
    from gymnasium import spaces

    match space["type"]:
        case "Box":
            shape = tuple(space["shape"])
            low, high = (_filled(space[name], space["dtype"], shape) for name in ("low", "high"))
            return spaces.Box(low, high, shape, np.dtype(space["dtype"]).type)
        case "Discrete":
            return spaces.Discrete(space["n"], start=space["start"])
        case "MultiDiscrete":
            shape = tuple(space["shape"])
            nvec, start = (np.array(space[name], space["dtype"]).reshape(shape) for name in ("nvec", "start"))
            return spaces.MultiDiscrete(nvec, start=start, dtype=np.dtype(space["dtype"]).type)
        case "MultiBinary":
            return spaces.MultiBinary(space["n"])
        case "Dict":
            return spaces.Dict({key: gymnasium_space(inner) for key, inner in space["spaces"].items()})
        case _:
            return spaces.Tuple([gymnasium_space(inner) for inner in space["spaces"]])


def _filled(values: list[Any], dtype: str, shape: tuple[int, ...]) -> Any:
    flat = np.array([float(value) if isinstance(value, str) else value for value in values], dtype)
    return np.full(shape, flat[0], dtype) if len(flat) == 1 else flat.reshape(shape)


class ObservationReader:
    """Reads observations from ACT bodies."""

    def __init__(self, space: dict[str, Any]) -> None:
        self._space = space
        self._leaves = tuple(wire.leaves(space))

    def stacked(self, body: memoryview, count: int, start: int) -> Any:
        """All observations of a frame, stacked on the first axis of every leaf."""
        arrays = iter(
            np.frombuffer(body[part], leaf.dtype).reshape(count, *leaf.shape)
            for leaf, part in wire.slices(self._leaves, count, start)
        )
        return _assemble(self._space, arrays)

    def single(self, stacked: Any, index: int) -> Any:
        """The observation at `index` of stacked observations."""
        return _pick(self._space, stacked, index)


def _assemble(space: dict[str, Any], arrays: Any) -> Any:
    match space["type"]:
        case "Dict":
            return {key: _assemble(space["spaces"][key], arrays) for key in sorted(space["spaces"])}
        case "Tuple":
            return tuple(_assemble(inner, arrays) for inner in space["spaces"])
        case _:
            return next(arrays)


def _pick(space: dict[str, Any], stacked: Any, index: int) -> Any:
    match space["type"]:
        case "Dict":
            return {key: _pick(inner, stacked[key], index) for key, inner in space["spaces"].items()}
        case "Tuple":
            return tuple(_pick(inner, part, index) for inner, part in zip(space["spaces"], stacked, strict=True))
        case "Discrete":
            return int(stacked[index])
        case _:
            return stacked[index]


class ActionWriter:
    """Writes actions into ACTIONS bodies."""

    def __init__(self, space: dict[str, Any]) -> None:
        self._space = space
        self._discrete = space["type"] == "Discrete"

    def singles(self, actions: list[Any]) -> bytes:
        """The body for one action per lane; raises BadActionError where one cannot be an action of the space."""
        if self._discrete:
            return _integers(actions)
        return b"".join(_encode(self._space, actions))

    def stacked(self, actions: Any, count: int) -> bytes:
        """The body for `count` actions stacked on the first axis; raises as `singles` does."""
        return b"".join(_encode_stacked(self._space, actions, count))


def _integers(values: list[Any]) -> bytes:
    try:
        body = np.fromiter(map(operator.index, values), np.int64, len(values)).tobytes()
    except (TypeError, OverflowError) as error:
        bad = next((v for v in values if not _is_integer(v)), values[0])
        raise BadActionError(f"act returned {describe_value(bad)}; this task wants one integer") from error
    return body


def _is_integer(value: Any) -> bool:
    try:
        return -(2**63) <= operator.index(value) < 2**63
    except TypeError:
        return False


def _encode(space: dict[str, Any], values: list[Any]) -> Any:
    match space["type"]:
        case "Discrete":
            yield _integers(values)
        case "Dict":
            for key in sorted(space["spaces"]):
                yield from _encode(space["spaces"][key], [_item(value, key) for value in values])
        case "Tuple":
            for index, inner in enumerate(space["spaces"]):
                yield from _encode(inner, [_item(value, index) for value in values])
        case _:
            leaf = next(wire.leaves(space))
            raw = b"".join(_array(value, leaf.dtype, leaf.shape) for value in values)
            yield raw + wire.padding(len(raw))


def _encode_stacked(space: dict[str, Any], values: Any, count: int) -> Any:
    match space["type"]:
        case "Dict":
            for key in sorted(space["spaces"]):
                yield from _encode_stacked(space["spaces"][key], _item(values, key), count)
        case "Tuple":
            for index, inner in enumerate(space["spaces"]):
                yield from _encode_stacked(inner, _item(values, index), count)
        case _:
            leaf = next(wire.leaves(space))
            raw = _array(values, leaf.dtype, (count, *leaf.shape))
            yield raw + wire.padding(len(raw))


def _item(value: Any, key: Any) -> Any:
    try:
        return value[key]
    except (TypeError, KeyError, IndexError) as error:
        raise BadActionError(f"act returned {describe_value(value)}, which has no {key!r}") from error


def _array(value: Any, dtype: str, shape: tuple[int, ...]) -> bytes:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise BadActionError(f"act returned {describe_value(value)}, which is not an array: {error}") from error
    wanted = np.dtype(dtype)
    if array.shape != shape:
        raise BadActionError(f"act returned {describe_value(value)} of shape {array.shape}; this task wants shape {shape}")
    if array.dtype != wanted:
        if array.dtype.kind not in "biuf" or (wanted.kind in "iu" and array.dtype.kind == "f"):
            raise BadActionError(f"act returned {describe_value(value)}; this task wants numbers of type {wanted.name}")
        array = array.astype(wanted)
    return array.tobytes()


def describe_value(value: Any) -> str:
    """The value's type and the beginning of its repr."""
    try:
        text = repr(value)
    except BaseException:  # noqa: BLE001  (the agent's own __repr__ may do anything, exit included)
        text = "something that cannot be shown"
    return text if value is None else f"{type(value).__name__[:80]} {text[:80]}"
