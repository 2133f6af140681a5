"""A network saved as ONNX, read as far as a visitor's page can play it, and written as the document that the page plays.

Whatever a file says is refused or kept as numbers. Protocol Buffers are read by hand: no subgraph, function or outside file
is ever opened, and no message is read deeper than the five levels of a tensor's dimension. Field numbers are those of
onnx.proto3 (github.com/onnx/onnx, IR version 13).
"""

import base64
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

# Its numbers are written as text of a third more, and a visitor loads them.
MAX_BYTES = 2 << 20
MAX_NODES = 200
MAX_TENSORS = 400
MAX_DIMENSIONS = 6
# Those of which nothing that is read here has changed; later ones are refused until somebody has looked.
OPSETS = range(13, 27)
# TensorProto.DataType to our name, and how raw data lies in the file.
TYPES = {
    1: ("float", "<f4"), 2: ("uint8", "u1"), 3: ("int8", "i1"), 6: ("int32", "<i4"), 7: ("int64", "<i8"),
    9: ("bool", "?"), 11: ("double", "<f8"),
}  # fmt: skip
# Where a tensor has its numbers if not as raw data: the field and whether they are varints.
_TYPED_FIELDS = {1: (4, "<f4"), 2: (5, ""), 3: (5, ""), 6: (5, ""), 7: (7, ""), 9: (5, ""), 11: (10, "<f8")}
_EXACT = 1 << 53
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class NetworkRefused(Exception):
    """The network is not one that a page can play; says why."""


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """Constant numbers."""

    kind: str
    dimensions: tuple[int, ...]
    values: npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Node:
    """One operator."""

    operator: str
    inputs: tuple[str, ...]
    """Empty texts stand for inputs that are left out."""
    outputs: tuple[str, ...]
    attributes: Mapping[str, float | tuple[float, ...] | Tensor | str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Network:
    """A graph with one input."""

    input: str
    input_kind: str
    input_dimensions: int
    output: str
    """The first one."""
    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]


_Fields = list[tuple[int, int, int | bytes]]


def read_network(content: bytes) -> Network:
    """Read the file.

    Raises:
        NetworkRefused: it is too large, damaged, or has what is not read here.
    """
    if len(content) > MAX_BYTES:
        raise NetworkRefused(f"it has more than {MAX_BYTES >> 20} MiB")
    model = list(_fields(content))
    if any(number == 25 for number, _, _ in model):
        raise NetworkRefused("it has functions of its own")
    for opset in _messages(model, 8):
        domain, version = _text(opset, 1), _number(opset, 2)
        if domain not in ("", "ai.onnx"):
            raise NetworkRefused("it has operators of another domain")
        if version not in OPSETS:
            raise NetworkRefused(f"its operators are not of version {OPSETS.start} to {OPSETS.stop - 1}")
    graphs = _messages(model, 7)
    if len(graphs) != 1:
        raise NetworkRefused("it has no graph")
    return _graph(graphs[0])


def _graph(graph: _Fields) -> Network:
    nodes, tensors, inputs = (_messages(graph, number) for number in (1, 5, 11))
    if len(nodes) > MAX_NODES or len(tensors) > MAX_TENSORS:
        raise NetworkRefused(f"it has more than {MAX_NODES} operators or {MAX_TENSORS} tensors")
    if any(number == 15 for number, _, _ in graph):
        raise NetworkRefused("it has sparse tensors")
    constants = {_text(tensor, 8): _tensor(tensor) for tensor in tensors}
    if len(constants) != len(tensors):
        raise NetworkRefused("two of its tensors have one name")
    # Early versions name constants among the inputs, too.
    inputs = [value for value in inputs if _text(value, 1) not in constants]
    outputs = _messages(graph, 12)
    if len(inputs) != 1 or not outputs:
        raise NetworkRefused("it must have one input and an output")
    kind, dimensions = _tensor_type(inputs[0])
    return Network(
        input=_text(inputs[0], 1), input_kind=kind, input_dimensions=dimensions, output=_text(outputs[0], 1),
        nodes=tuple(_node(node) for node in nodes), tensors=constants,
    )  # fmt: skip


def _tensor_type(value: _Fields) -> tuple[str, int]:
    """The kind of an input's numbers and how many dimensions it has."""
    for kind in _messages(value, 2):
        for tensor in _messages(kind, 1):
            shape = _messages(tensor, 2)
            dimensions = len(_messages(shape[0], 1)) if shape else 0
            if dimensions <= MAX_DIMENSIONS:
                return _kind(_number(tensor, 1)), dimensions
    raise NetworkRefused("its input is no tensor of few dimensions")


def _node(node: _Fields) -> Node:
    if _text(node, 7) not in ("", "ai.onnx"):
        raise NetworkRefused("it has operators of another domain")
    attributes = dict(_attribute(attribute) for attribute in _messages(node, 5))
    return Node(operator=_text(node, 4), inputs=_texts(node, 1), outputs=_texts(node, 2), attributes=attributes)


def _attribute(attribute: _Fields) -> tuple[str, float | tuple[float, ...] | Tensor | str]:
    """Numbers, a list of numbers, a tensor or a text, by the attribute's type; subgraphs and other types are refused."""
    name = _text(attribute, 1)
    match _number(attribute, 20):
        case 1:
            return name, (_finite(_packed(attribute, 2, "<f4").tolist()) or (0.0,))[0]
        case 2:
            return name, _exact(_signed(_number(attribute, 3)))
        case 3:
            return name, _text(attribute, 4)
        case 4:
            return name, _tensor(_messages(attribute, 5)[0] if _messages(attribute, 5) else [])
        case 6:
            return name, _finite(_packed(attribute, 7, "<f4").tolist())
        case 7:
            return name, tuple(map(_exact, _varints(attribute, 8)))
    raise NetworkRefused("an operator has a graph or something else inside that is not read here")


def _finite(numbers: list[float]) -> tuple[float, ...]:
    """The numbers, which are written as JSON."""
    if not all(map(math.isfinite, numbers)):
        raise NetworkRefused("a number of an operator is infinite or none")
    return tuple(numbers)


def _tensor(tensor: _Fields) -> Tensor:
    if any(number in (3, 13) for number, _, _ in tensor) or _number(tensor, 14):
        raise NetworkRefused("its numbers lie in another file")
    code = _number(tensor, 2)
    kind, dimensions = _kind(code), tuple(_varints(tensor, 1))
    if len(dimensions) > MAX_DIMENSIONS or any(not 0 <= length <= MAX_BYTES for length in dimensions):
        raise NetworkRefused("a tensor has a shape that is not read here")
    size = math.prod(dimensions)
    raw = next((value for number, wire, value in tensor if number == 9 and wire == _BYTES), None)
    number, form = _TYPED_FIELDS[code]
    if isinstance(raw, bytes):
        if len(raw) != size * np.dtype(TYPES[code][1]).itemsize:
            raise NetworkRefused("a tensor has not as many numbers as its shape says")
        values = np.frombuffer(raw, TYPES[code][1])
    else:
        values = _packed(tensor, number, form) if form else np.array(_varints(tensor, number), np.int64)
    if values.size != size:
        raise NetworkRefused("a tensor has not as many numbers as its shape says")
    if values.dtype == np.int64 and size and not (values.min() >= -_EXACT and values.max() <= _EXACT):
        raise NetworkRefused("a whole number is beyond 2^53")
    return Tensor(kind=kind, dimensions=dimensions, values=values.astype(np.float64))


def _kind(code: int) -> str:
    if code not in TYPES:
        raise NetworkRefused("it has numbers of a type that is not read here")
    return TYPES[code][0]


def _exact(number: int) -> int:
    if abs(number) > _EXACT:
        raise NetworkRefused("a whole number is beyond 2^53")
    return number


def _fields(message: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """A message's fields: number, wire type and value."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, place = _varint(message, place)
            yield number, wire, value
            continue
        if wire == _BYTES:
            size, place = _varint(message, place)
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(wire, -1)
        if size < 0 or place + size > len(message):
            raise NetworkRefused("it is damaged")
        yield number, wire, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """A number of up to 64 bits, and where it ends."""
    value = 0
    for index, byte in enumerate(message[place : place + 10]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & (1 << 64) - 1, place + index + 1
    raise NetworkRefused("it is damaged")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _messages(message: _Fields, number: int) -> list[_Fields]:
    return [list(_fields(value)) for key, _, value in message if key == number and isinstance(value, bytes)]


def _texts(message: _Fields, number: int) -> tuple[str, ...]:
    return tuple(
        value.decode("utf-8", "replace")
        for key, wire, value in message
        if key == number and wire == _BYTES and isinstance(value, bytes)
    )


def _text(message: _Fields, number: int) -> str:
    return (_texts(message, number) or ("",))[-1]


def _number(message: _Fields, number: int) -> int:
    return next((value for key, _, value in reversed(message) if key == number and isinstance(value, int)), 0)


def _varints(message: _Fields, number: int) -> list[int]:
    """A repeated field of whole numbers, packed or not."""
    values: list[int] = []
    for key, wire, value in message:
        if key != number:
            continue
        if isinstance(value, int):
            values.append(_signed(value))
        elif wire == _BYTES:
            place = 0
            while place < len(value):
                varint, place = _varint(value, place)
                values.append(_signed(varint))
    return values


def _packed(message: _Fields, number: int, form: str) -> npt.NDArray[np.float64]:
    """A repeated field of floating-point numbers, packed or not."""
    raw = b"".join(value for key, _, value in message if key == number and isinstance(value, bytes))
    if len(raw) % np.dtype(form).itemsize:
        raise NetworkRefused("it is damaged")
    return np.frombuffer(raw, form).astype(np.float64)


# What site/assets/js/network.js computes, with the attributes that it knows. None of them repeats, branches or draws.
OPERATORS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        ("Abs", "Add", "Div", "Exp", "GlobalAveragePool", "Identity", "MatMul", "Mul", "Neg", "Relu", "Sigmoid", "Softplus",
         "Sqrt", "Sub", "Tanh", "Clip", "Max", "Min"),
        frozenset(),
    ),
    "ArgMax": frozenset({"axis", "keepdims", "select_last_index"}),
    "BatchNormalization": frozenset({"epsilon", "momentum", "training_mode"}),
    "Cast": frozenset({"to", "saturate", "round_mode"}),
    "Concat": frozenset({"axis"}),
    "Constant": frozenset(),
    "Conv": frozenset({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}),
    "Dropout": frozenset({"seed"}),
    "Elu": frozenset({"alpha"}),
    "Flatten": frozenset({"axis"}),
    "Gather": frozenset({"axis"}),
    "Gemm": frozenset({"alpha", "beta", "transA", "transB"}),
    "LeakyRelu": frozenset({"alpha"}),
    "LogSoftmax": frozenset({"axis"}),
    "ReduceMean": frozenset({"axes", "keepdims", "noop_with_empty_axes"}),
    "ReduceSum": frozenset({"keepdims", "noop_with_empty_axes"}),
    "Reshape": frozenset({"allowzero"}),
    "Shape": frozenset({"start", "end"}),
    "Softmax": frozenset({"axis"}),
    "Squeeze": frozenset(),
    "Transpose": frozenset({"perm"}),
    "Unsqueeze": frozenset(),
}  # fmt: skip
MAX_INPUTS = 16
# Attributes that an exporter writes and that change nothing here.
_WITHOUT_EFFECT = frozenset({"kernel_shape", "momentum", "saturate", "round_mode", "seed"})
# What stands for an input that is left out.
_NONE = -1


def playable_document(content: bytes) -> str:
    """The JSON document of a saved network.

    A value is a number: 0 is the position, then come the constants, then what each operator gives.

    Raises:
        NetworkRefused: the network cannot be played by a page; says why.
    """
    network = read_network(content)
    constants = dict(network.tensors)
    nodes = []
    for node in network.nodes:
        _check(node)
        if node.operator == "Constant":
            constants[node.outputs[0]] = _constant(node)
        else:
            nodes.append(node)
    numbers = {network.input: 0} | {name: number for number, name in enumerate(constants, 1)}
    if len(numbers) != 1 + len(constants):
        raise NetworkRefused("a constant has the name of the input")
    written = []
    for node in nodes:
        inputs = [_value_number(numbers, name) for name in node.inputs]
        operator = "Identity" if node.operator == "Dropout" else node.operator
        written.append([operator, inputs[:1] if node.operator == "Dropout" else inputs, _attributes(node)])
        if node.outputs[0] in numbers:
            raise NetworkRefused("two of its values have one name")
        numbers[node.outputs[0]] = len(numbers)
    document = {
        "input": [network.input_kind, network.input_dimensions],
        "tensors": [_written(tensor) for tensor in constants.values()],
        "nodes": written,
        "output": _value_number(numbers, network.output),
    }
    return json.dumps(document, separators=(",", ":"))


def _check(node: Node) -> None:
    attributes = OPERATORS.get(node.operator)
    if attributes is None:
        raise NetworkRefused("it has an operator that a page does not play")
    if len(node.inputs) > MAX_INPUTS or not node.outputs or not node.outputs[0] or any(node.outputs[1:]):
        raise NetworkRefused("an operator has too many inputs, or not one output")
    if node.operator != "Constant" and not node.attributes.keys() <= attributes:
        raise NetworkRefused(f"{node.operator} has an attribute that a page does not play")
    if node.attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise NetworkRefused("Conv pads by itself; give pads")
    if any(node.attributes.get(name, 0) for name in ("training_mode", "select_last_index")):
        raise NetworkRefused(f"{node.operator} has an attribute that a page does not play")


def _constant(node: Node) -> Tensor:
    (value,) = node.attributes.values() if len(node.attributes) == 1 else (None,)
    if not isinstance(value, Tensor):
        raise NetworkRefused("a constant is no tensor")
    return value


def _value_number(numbers: Mapping[str, int], name: str) -> int:
    if not name:
        return _NONE
    if name not in numbers:
        raise NetworkRefused("an operator reads what nothing before it has written")
    return numbers[name]


def _attributes(node: Node) -> list[list[object]]:
    pairs: list[list[object]] = []
    for name, value in sorted(node.attributes.items()):
        if name in _WITHOUT_EFFECT or isinstance(value, str):
            continue
        if isinstance(value, Tensor):
            raise NetworkRefused(f"{node.operator} has an attribute that a page does not play")
        pairs.append([name, list(value) if isinstance(value, tuple) else value])
    return pairs


def _written(tensor: Tensor) -> list[object]:
    raw = tensor.values.astype("<f4" if tensor.kind == "float" else "<f8").tobytes()
    return [tensor.kind, list(tensor.dimensions), base64.b64encode(raw).decode()]
