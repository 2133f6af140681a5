"""Writes the smallest useful ONNX file, without the package that does: a matrix between a batch and its scores."""

from typing import Any

FLOAT = 1


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _value(name: str, *sizes: int) -> bytes:
    """A batch of rows, or of arrays of these sizes."""
    shape = _field(1, _field(2, "batch")) + b"".join(_field(1, _field(1, size)) for size in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, FLOAT) + _field(2, shape)))


def linear(weights: Any) -> bytes:
    """The model y = x W."""
    rows, columns = weights.shape
    node = _field(1, "x") + _field(1, "w") + _field(2, "y") + _field(4, "MatMul")
    dimensions = _field(1, rows) + _field(1, columns)
    tensor = dimensions + _field(2, FLOAT) + _field(8, "w") + _field(9, weights.astype("<f4").tobytes())
    graph = _field(1, node) + _field(2, "linear") + _field(5, tensor)
    graph += _field(11, _value("x", rows)) + _field(12, _value("y", columns))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))
