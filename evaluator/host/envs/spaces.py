"""Spaces on the host: their description, the encoding of observations, the decoding of actions and whether they are legal.

Type and shape of what an agent returned are checked before, in `evaluator/sandbox/observations_and_actions.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from evaluator import wire

Array = npt.NDArray[Any]


class UnsupportedSpaceError(Exception):
    """The environment has a space that cannot be sent to an agent."""


class IllegalActionError(Exception):
    """An action is not in the action space; `row` is its row in the answer."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


def describe(space: spaces.Space[Any]) -> dict[str, Any]:
    """The description of a space, as in `protocol.md`.

    Raises:
        UnsupportedSpaceError: the space is neither Box, Discrete, MultiDiscrete, MultiBinary nor Dict or Tuple of them.
    """
    match space:
        case spaces.Discrete():
            return {"type": "Discrete", "n": int(space.n), "start": int(space.start)}
        case spaces.Box():
            bounds = {"low": _numbers(space.low), "high": _numbers(space.high)}
            return {"type": "Box", "dtype": _dtype(space), "shape": list(space.shape), **bounds}
        case spaces.MultiDiscrete():
            shape = list(space.nvec.shape)
            lists = {"nvec": space.nvec.ravel().tolist(), "start": space.start.ravel().tolist()}
            return {"type": "MultiDiscrete", "dtype": _dtype(space), "shape": shape, **lists}
        case spaces.MultiBinary():
            return {"type": "MultiBinary", "dtype": "|i1", "shape": list(space.shape), "n": list(space.shape)}
        case spaces.Dict():
            return {"type": "Dict", "spaces": {key: describe(inner) for key, inner in sorted(space.spaces.items())}}
        case spaces.Tuple():
            return {"type": "Tuple", "spaces": [describe(inner) for inner in space.spaces]}
        case _:
            raise UnsupportedSpaceError(f"{type(space).__name__} spaces cannot be sent to an agent")


def padded_leaves(leaves: Iterable[bytes]) -> list[bytes]:
    """Leaves of a frame's body, each padded to the alignment."""
    return [part for raw in leaves for part in (raw, wire.padding(len(raw)))]


def _dtype(space: spaces.Space[Any]) -> str:
    return str(np.dtype(cast("Any", space.dtype)).newbyteorder("<").str)


def _numbers(values: Array) -> list[float | str]:
    flat = values.ravel().tolist()
    if flat and all(value == flat[0] for value in flat):
        flat = flat[:1]
    return [value if np.isfinite(value) else str(value) for value in flat]


def at(path: tuple[str | int, ...]) -> Callable[[Any], Any]:
    """A function that returns the part of a value at a leaf's path."""

    def follow(value: Any) -> Any:
        for step in path:
            value = value[step]
        return value

    return follow


class ObservationEncoder:
    """Encodes observations of many lanes as contiguous leaves."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.leaves = tuple(wire.leaves(describe(space)))
        self._plain = not self.leaves[0].path if len(self.leaves) == 1 else False
        self._dtypes = [np.dtype(leaf.dtype) for leaf in self.leaves]

    def encode(self, observations: Sequence[Any]) -> list[bytes]:
        """One bytes object per leaf: the leaf of every observation, one after the other.

        Raises:
            ValueError: the environment's observation does not have its space's shape.
        """
        if self._plain:
            return [self._leaf(0, observations)]
        return [self._leaf(i, list(map(at(leaf.path), observations))) for i, leaf in enumerate(self.leaves)]

    def _leaf(self, index: int, values: Sequence[Any]) -> bytes:
        leaf, dtype = self.leaves[index], self._dtypes[index]
        if leaf.shape and all(getattr(value, "dtype", None) is dtype for value in values):
            try:
                raw = b"".join(values)
            except (BufferError, TypeError, ValueError):  # not contiguous
                raw = b""
            if len(raw) == leaf.nbytes * len(values):
                return raw
        return np.array(values, dtype).reshape(len(values), *leaf.shape).tobytes()


class ActionDecoder:
    """Decodes the actions of an ACTIONS body, and checks them before an environment sees them."""

    def __init__(self, space: spaces.Space[Any], *, clip: bool, grid: float | None) -> None:
        self._space = space
        self._grid = grid
        self._clip = clip
        self.leaves = tuple(wire.leaves(describe(space)))
        self._parts = list(simple_spaces(space))
        self.clipped = 0
        self.clipped_rows: list[int] = []
        """How many numbers of each row were clipped in the last answer; empty if none was."""
        if isinstance(space, spaces.Discrete):
            self._least, self._greatest = int(space.start), int(space.start + space.n - 1)

    def decode(self, body: memoryview, count: int) -> tuple[list[Any], list[Array]]:
        """The `count` actions as the environment takes them, and as arrays, one per leaf; raises as `settle` does."""
        if isinstance(self._space, spaces.Discrete):
            return self._numbers(np.frombuffer(body, "<i8", count))
        parts = wire.slices(self.leaves, count)
        raw = [np.frombuffer(body[where], leaf.dtype).reshape(count, *leaf.shape) for leaf, where in parts]
        arrays = self.settle(raw)
        # Copies: what an environment changes in its action is not what it was given.
        return self.actions([array.copy() for array in arrays]), arrays

    def _numbers(self, array: Array) -> tuple[list[Any], list[Array]]:
        """Decode a Discrete space fast: this runs in every step."""
        numbers = array.tolist()
        if min(numbers) < self._least or max(numbers) > self._greatest:
            _in_range(array, self._least, self._greatest)
        return numbers, [array]

    def settle(self, arrays: list[Array]) -> list[Array]:
        """Check stacked leaves, round them to the grid and clip them.

        Raises:
            IllegalActionError: one of them is not in the action space.
        """
        self.clipped_rows = []
        return [self._checked(part, array) for part, array in zip(self._parts, arrays, strict=True)]

    def is_settled(self, arrays: list[Array]) -> bool:
        """Whether stacked leaves can be a result of `settle`. Clipped values are at a bound, which may be off the grid.

        Where the type's numbers lie wider apart than the grid, rounding twice may give another number than rounding once.

        Raises:
            IllegalActionError: one of them is not in the action space.
        """
        return all(
            bool(((array == now) | self._is_clipped(part, array) | self._is_coarse(array)).all())
            for part, array, now in zip(self._parts, arrays, self.settle(arrays), strict=True)
        )

    def _is_clipped(self, space: spaces.Space[Any], array: Array) -> Any:
        if self._clip and isinstance(space, spaces.Box) and array.dtype.kind == "f":
            return (array == space.low) | (array == space.high)
        return False

    def _is_coarse(self, array: Array) -> Any:
        if self._grid is not None and array.dtype.kind == "f":
            with np.errstate(over="ignore"):  # after the largest number of the type comes infinity
                return 2.0 * np.spacing(np.abs(array)).astype(np.float64) >= self._grid
        return False

    def actions(self, arrays: list[Array]) -> list[Any]:
        """Stacked leaves as a list of actions."""
        if isinstance(self._space, spaces.Discrete):
            return cast("list[Any]", arrays[0].tolist())
        if len(arrays) == 1 and not self.leaves[0].path:
            return list(arrays[0])
        count = len(arrays[0])
        return [_assemble(self._space, iter([array[i] for array in arrays])) for i in range(count)]

    def _checked(self, space: spaces.Space[Any], array: Array) -> Array:
        match space:
            case spaces.Discrete():
                _in_range(array, space.start, space.start + space.n - 1)
            case spaces.MultiDiscrete():
                _in_range(array, space.start, space.start + space.nvec - 1)
            case spaces.MultiBinary():
                _in_range(array, 0, 1)
            case spaces.Box():
                if array.dtype.kind == "b":  # another byte is true, too, but not the same bytes
                    _in_range(array.view(np.uint8), 0, 1)
                return self._box(space, array)
        return array

    def _box(self, space: spaces.Box, array: Array) -> Array:
        if array.dtype.kind == "f":
            _require_finite(array, array, "is not a finite number")
            rounded = array if self._grid is None else _rounded(array, self._grid)
            if self._clip:
                outside = (rounded < space.low) | (rounded > space.high)
                if outside.any():
                    self._count_clipped(outside)
                    rounded = np.clip(rounded, space.low, space.high)
            else:
                _in_range(rounded, space.low, space.high)
            if self._grid is not None:  # a multiple of the grid may lie outside of the type
                _require_finite(rounded, array, "cannot be rounded to the task's grid")
            return rounded
        _in_range(array, space.low, space.high)
        return array

    def _count_clipped(self, outside: Array) -> None:
        rows = outside.reshape(len(outside), -1).sum(axis=1).tolist()
        self.clipped += sum(rows)
        before = self.clipped_rows or [0] * len(rows)
        self.clipped_rows = [old + new for old, new in zip(before, rows, strict=True)]


def _rounded(array: Array, grid: float) -> Array:
    """The nearest multiples of the grid, in the array's type; infinite where the type has none."""
    with np.errstate(all="ignore"):
        rounded: Array = (np.round(array / grid) * grid).astype(array.dtype)
        lost = ~np.isfinite(rounded)
        if lost.any():
            # In the array's type the grid may be zero or infinite, or the quotient too large: in double precision it is not.
            # Where it is there, too, the grid is finer than any two numbers are apart.
            wide = array[lost].astype(np.float64)
            multiples = np.round(wide / grid)
            rounded[lost] = np.where(np.isfinite(multiples), multiples * grid, wide).astype(array.dtype)
    return rounded


def _require_finite(array: Array, given: Array, why: str) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        raise _illegal(given, ~finite, why)


def _in_range(array: Array, low: Any, high: Any) -> None:
    if array.ndim == 1 and isinstance(low, (int, np.integer)):
        if int(array.min()) >= low and int(array.max()) <= high:
            return
    elif ((array >= low) & (array <= high)).all():
        return
    bad = (array < low) | (array > high)
    where = tuple(np.argwhere(bad)[0])
    least, greatest = (np.broadcast_to(bound, array.shape)[where] for bound in (low, high))
    raise _illegal(array, bad, f"is outside {least}…{greatest}")


def _illegal(array: Array, bad: Array, why: str) -> IllegalActionError:
    where = tuple(np.argwhere(bad)[0])
    return IllegalActionError(int(where[0]), f"the action {array[where]} {why}")


def simple_spaces(space: spaces.Space[Any]) -> Iterator[spaces.Space[Any]]:
    """The spaces that a space is made of, in the order of its leaves."""
    match space:
        case spaces.Dict():
            for _, inner in sorted(space.spaces.items()):
                yield from simple_spaces(inner)
        case spaces.Tuple():
            for inner in space.spaces:
                yield from simple_spaces(inner)
        case _:
            yield space


def _assemble(space: spaces.Space[Any], leaves: Iterator[Any]) -> Any:
    match space:
        case spaces.Dict():
            return {key: _assemble(inner, leaves) for key, inner in sorted(space.spaces.items())}
        case spaces.Tuple():
            return tuple(_assemble(inner, leaves) for inner in space.spaces)
        case spaces.Discrete():
            return int(next(leaves))
        case _:
            return next(leaves)
