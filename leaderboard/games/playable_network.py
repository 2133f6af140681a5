"""A network as the document that a visitor's page plays: operators of a list, and numbers in place of every name."""

import base64
import json
from collections.abc import Mapping

from leaderboard.games.onnx_reader import NetworkRefused, Node, Tensor, read_network

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
MOST_INPUTS = 16
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
        inputs = [_number(numbers, name) for name in node.inputs]
        operator = "Identity" if node.operator == "Dropout" else node.operator
        written.append([operator, inputs[:1] if node.operator == "Dropout" else inputs, _attributes(node)])
        if node.outputs[0] in numbers:
            raise NetworkRefused("two of its values have one name")
        numbers[node.outputs[0]] = len(numbers)
    document = {
        "input": [network.input_kind, network.input_dimensions],
        "tensors": [_tensor(tensor) for tensor in constants.values()],
        "nodes": written,
        "output": _number(numbers, network.output),
    }
    return json.dumps(document, separators=(",", ":"))


def _check(node: Node) -> None:
    attributes = OPERATORS.get(node.operator)
    if attributes is None:
        raise NetworkRefused("it has an operator that a page does not play")
    if len(node.inputs) > MOST_INPUTS or not node.outputs or not node.outputs[0] or any(node.outputs[1:]):
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


def _number(numbers: Mapping[str, int], name: str) -> int:
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


def _tensor(tensor: Tensor) -> list[object]:
    raw = tensor.values.astype("<f4" if tensor.kind == "float" else "<f8").tobytes()
    return [tensor.kind, list(tensor.dimensions), base64.b64encode(raw).decode()]
