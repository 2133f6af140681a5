"""Networks of every operator that a page plays, and what onnxruntime says to positions by lot.

`python -m tests.browser.networks` writes networks.json anew; it needs `pip install onnx onnxruntime`.
"""

import base64
import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).with_name("networks.json")
SHAPE = (6, 7, 2)


def _models(onnx: Any) -> dict[str, Any]:
    chance = np.random.default_rng(7)
    make, numpy_helper = onnx.helper.make_node, onnx.numpy_helper

    def weights(name: str, *shape: int) -> Any:
        return numpy_helper.from_array((chance.normal(size=shape) / 4).astype(np.float32), name)

    def whole(name: str, *numbers: int) -> Any:
        return numpy_helper.from_array(np.array(numbers, np.int64), name)

    def model(nodes: list[Any], tensors: list[Any], dims: list[Any], kind: int = 1) -> Any:
        ends = [
            onnx.helper.make_tensor_value_info(name, kind, dims)
            for name, kind, dims in (("x", 1, ["n", *SHAPE]), ("y", kind, dims))
        ]
        graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
        return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)

    flat = make("Flatten", ["x"], ["f"])
    dense = [flat, make("Gemm", ["f", "w", "b"], ["g"], transB=1, alpha=0.5, beta=2.0)]
    first = [weights("w", 7, 84), weights("b", 7)]
    plain = [
        "Abs",
        "Elu",
        "Exp",
        "Identity",
        "LeakyRelu",
        "LogSoftmax",
        "Neg",
        "Relu",
        "Sigmoid",
        "Softmax",
        "Softplus",
        "Tanh",
    ]
    made = {name: model([*dense, make(name, ["g"], ["y"])], first, ["n", 7]) for name in plain}
    for name in ("Add", "Sub", "Mul", "Div", "Max", "Min"):
        made[name] = model([*dense, make(name, ["g", "c"], ["y"])], [*first, weights("c", 1, 7)], ["n", 7])
    clip = [numpy_helper.from_array(np.float32(-0.1), "low"), numpy_helper.from_array(np.float32(0.2), "high")]
    made["Clip"] = model([*dense, make("Clip", ["g", "low", "high"], ["y"])], [*first, *clip], ["n", 7])
    made["Sqrt"] = model([*dense, make("Abs", ["g"], ["a"]), make("Sqrt", ["a"], ["y"])], first, ["n", 7])
    made["ArgMax"] = model([*dense, make("ArgMax", ["g"], ["y"], axis=1, keepdims=0)], first, ["n"], 7)
    made["Cast"] = model([*dense, make("Cast", ["g"], ["i"], to=7), make("Cast", ["i"], ["y"], to=1)], first, ["n", 7])
    made["MatMul"] = model([make("MatMul", ["x", "m"], ["h"]), make("ReduceMean", ["h"], ["y"], axes=[1, 3], keepdims=0)],
                           [weights("m", 2, 5)], ["n", 7])  # fmt: skip
    tower = [
        make("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        make("Conv", ["t", "k", "kb"], ["c"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        make("BatchNormalization", ["c", "s", "o", "m", "v"], ["z"]), make("Relu", ["z"], ["r"]),
        make("Conv", ["r", "k2"], ["d"], strides=[2, 1], dilations=[1, 2], group=2),
        make("GlobalAveragePool", ["d"], ["p"]), make("Squeeze", ["p", "axes"], ["q"]),
        make("Unsqueeze", ["q", "one"], ["u"]), make("Concat", ["u", "u"], ["cc"], axis=1),
        make("ReduceSum", ["cc", "one"], ["rs"], keepdims=0),
        make("Shape", ["rs"], ["sh"]), make("Gather", ["sh", "zero"], ["batch"], axis=0),
        make("Concat", ["batch", "rest"], ["to"], axis=0), make("Reshape", ["rs", "to"], ["y"]),
    ]  # fmt: skip
    var = numpy_helper.from_array(np.linspace(0.5, 1.5, 8).astype(np.float32), "v")
    constants = [weights("k", 8, 2, 3, 3), weights("kb", 8), weights("s", 8), weights("o", 8), weights("m", 8), var,
                 weights("k2", 7 * 2, 4, 2, 2), whole("axes", 2, 3), whole("one", 1), whole("zero", 0),
                 whole("rest", -1)]  # fmt: skip
    made["tower"] = model(tower, constants, ["n", 14])
    return made


def _record() -> None:
    onnx, runtime = importlib.import_module("onnx"), importlib.import_module("onnxruntime")
    chance = np.random.default_rng(11)
    cases = []
    for name, made in _models(onnx).items():
        onnx.checker.check_model(made)
        session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        positions = chance.integers(0, 2, (4, *SHAPE)).astype(np.float32)
        outputs = [session.run(None, {"x": one[None]})[0].astype(np.float64).ravel().tolist() for one in positions]
        model = base64.b64encode(made.SerializeToString()).decode()
        cases.append(
            {"name": name, "model": model, "positions": positions.reshape(4, -1).astype(int).tolist(), "outputs": outputs}
        )
    RECORDED.write_text("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")


if __name__ == "__main__":
    _record()
