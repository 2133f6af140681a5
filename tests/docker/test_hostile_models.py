"""Saved networks that mean harm: libraries open them in the container only, and each ends in a clear verdict."""

import base64
import io
import json
import os
import pickle
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from evaluator.host.docker.engine import Engine
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from tests.docker import onnx_file
from tests.docker.extras import torch_index
from tests.docker.onnx_file import _field, _value
from tests.docker.test_extras import played
from tests.evaluations import folder
from tests.evaluator import foreign_agents
from tests.hostile.arena import our_containers

pytestmark = pytest.mark.docker
FLOAT, INT64, BOOL = 1, 7, 9
LIMITS = Limits(answer_seconds=20, start_seconds=60, cpu_seconds=20)
TASK = Task(id="CartPole-v1", env="CartPole-v1", episodes=2)


def ended(container: SelectedSandbox, adapter: str, name: str, content: bytes) -> Result:
    submission = folder("", foreign_agents.manifest(adapter, name), **{name: content})
    return played(container, submission, TASK, limits=LIMITS).result


def tensor(name: str, dims: list[int], kind: int, raw: bytes | None = None, elsewhere: str | None = None) -> bytes:
    """A tensor whose numbers stand in it or in another file."""
    made = b"".join(_field(1, size) for size in dims) + _field(2, kind) + _field(8, name)
    if elsewhere is not None:
        entries = {"location": elsewhere, "offset": "0", "length": str(4 * dims[0] * (dims[1] if len(dims) > 1 else 1))}
        made += b"".join(_field(13, _field(1, key) + _field(2, value)) for key, value in entries.items()) + _field(14, 1)
    return made + (_field(9, raw) if raw is not None else b"")


def node(kind: str, inputs: list[str], outputs: list[str], attributes: bytes = b"") -> bytes:
    return b"".join(_field(1, n) for n in inputs) + b"".join(_field(2, n) for n in outputs) + _field(4, kind) + attributes


def graph_of(nodes: list[bytes], tensors: list[bytes], ends: bytes) -> bytes:
    return b"".join(_field(1, n) for n in nodes) + _field(2, "g") + b"".join(_field(5, t) for t in tensors) + ends


def model(graph: bytes) -> bytes:
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))


ENDS = _field(11, _value("x", 4)) + _field(12, _value("y", 2))


@pytest.mark.attack(
    "network_with_weights_elsewhere",
    family="models",
    tries="Names files of the container, of the host and of the kernel as the place of an ONNX network's weights.",
    outcome="crashed: the file is refused, or is the container's own",
)
@pytest.mark.parametrize("place", ["../../../../etc/passwd", "/proc/self/environ", "../channel/agent.sock"])
def test_onnx_weights_outside_of_the_folder(place: str, docker: SelectedSandbox, engine: Engine) -> None:
    graph = graph_of([node("MatMul", ["x", "w"], ["y"])], [tensor("w", [4, 2], FLOAT, elsewhere=place)], ENDS)

    result = ended(docker, "onnx", "model.onnx", model(graph))

    assert result.verdict is Verdict.CRASHED, (result.message, result.log_tail)
    assert "root:x:0" not in result.message + result.log_tail
    assert our_containers(engine) == []


@pytest.mark.attack(
    "network_that_grows",
    family="models",
    tries="Brings an ONNX network of a few hundred bytes that makes a tensor of 64 GiB when it is asked.",
    outcome="crashed or out_of_memory",
)
def test_onnx_that_makes_a_huge_tensor(container: SelectedSandbox, engine: Engine) -> None:
    shape = tensor("shape", [2], INT64, struct.pack("<2q", 1 << 17, 1 << 17))
    nodes = [
        node("ConstantOfShape", ["shape"], ["big"]),
        node("ReduceSum", ["big"], ["one"]),
        node("MatMul", ["x", "w"], ["z"]),
        node("Add", ["z", "one"], ["y"]),
    ]
    graph = graph_of(nodes, [shape, tensor("w", [4, 2], FLOAT, bytes(32))], ENDS)

    result = ended(container, "onnx", "model.onnx", model(graph))

    assert result.verdict in (Verdict.CRASHED, Verdict.OUT_OF_MEMORY, Verdict.TIMEOUT), (result.verdict, result.log_tail)
    assert our_containers(engine) == []


@pytest.mark.attack(
    "network_that_never_ends",
    family="models",
    tries="Brings an ONNX network with a loop of 2^62 rounds.",
    outcome="timeout",
)
def test_onnx_with_an_endless_loop(docker: SelectedSandbox) -> None:
    def plain(name: str, kind: int, dims: bytes = b"") -> bytes:
        return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dims)))

    body = b"".join(
        [
            _field(1, node("Identity", ["go"], ["going"])),
            _field(1, node("Add", ["sum", "sum"], ["sums"])),
            _field(2, "body"),
            _field(11, plain("round", INT64)),
            _field(11, plain("go", BOOL)),
            _field(11, plain("sum", FLOAT)),
            _field(12, plain("going", BOOL)),
            _field(12, plain("sums", FLOAT)),
        ]
    )
    attribute = _field(5, _field(1, "body") + _field(6, body) + _field(20, 5))
    tensors = [
        tensor("rounds", [], INT64, struct.pack("<q", 1 << 62)),
        tensor("yes", [], BOOL, b"\x01"),
        tensor("zero", [], FLOAT, bytes(4)),
        tensor("w", [4, 2], FLOAT, bytes(32)),
    ]
    nodes = [
        node("Loop", ["rounds", "yes", "zero"], ["last"], attribute),
        node("MatMul", ["x", "w"], ["z"]),
        node("Add", ["z", "last"], ["y"]),
    ]
    limits = LIMITS.model_copy(update={"cpu_seconds": 12, "answer_seconds": 3})
    submission = folder(
        "", foreign_agents.manifest("onnx", "model.onnx"), **{"model.onnx": model(graph_of(nodes, tensors, ENDS))}
    )

    result = played(docker, submission, TASK, limits=limits).result

    assert result.verdict is Verdict.TIMEOUT, (result.verdict, result.message, result.log_tail)


@pytest.mark.attack(
    "network_nested_without_end",
    family="models",
    tries="Brings an ONNX file whose messages are nested 50,000 deep, to exhaust its reader's stack.",
    outcome="crashed",
)
def test_onnx_nested_deep(docker: SelectedSandbox) -> None:
    graph = b""
    for _ in range(1200):
        attribute = _field(1, "body") + _field(6, graph) + _field(20, 5)
        graph = _field(1, node("If", ["x"], ["y"], _field(5, attribute)))

    result = ended(docker, "onnx", "model.onnx", model(graph))

    assert result.verdict is Verdict.CRASHED, (result.verdict, result.message)


@pytest.fixture
def with_sb3() -> object:
    with torch_index():
        yield


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def zip_of_zeros(name: str, blocks: int) -> bytes:
    """An archive whose one member unpacks to so many times 16 MiB, made without compressing all of them."""
    size = 1 << 24
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(size)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = block * blocks + packer.flush()
    sizes = struct.pack("<III", 0, len(packed), size * blocks)
    local = b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, zipfile.ZIP_DEFLATED, 0, 33) + sizes
    local += struct.pack("<HH", len(name), 0) + name.encode()
    central = b"PK\x01\x02" + struct.pack("<HHHHHH", 20, 20, 0, zipfile.ZIP_DEFLATED, 0, 33) + sizes
    central += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name.encode()
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local) + len(packed), 0)
    return local + packed + central + end


@pytest.mark.attack(
    "model_whose_description_is_a_bomb",
    family="models",
    tries="Brings a model of Stable-Baselines3 whose description unpacks to 2.75 GiB.",
    outcome="out_of_memory",
)
@pytest.mark.attack(
    "model_described_by_nested_brackets",
    family="models",
    tries="Brings a model of Stable-Baselines3 whose description is nested too deep for a parser.",
    outcome="crashed or invalid",
)
@pytest.mark.attack(
    "model_that_runs_a_program",
    family="models",
    tries="Brings a model of Stable-Baselines3 whose pickled fields run a program when they are opened.",
    outcome="the program runs in the container, and finds nothing",
)
def test_models_of_stable_baselines3(docker: SelectedSandbox, with_sb3: object, engine: Engine) -> None:
    class Trap:
        def __reduce__(self) -> object:
            return os.system, ("touch /tmp/pullrank-owned; echo the program ran as $(id -u) >&2",)

    serialized = base64.b64encode(pickle.dumps(Trap(), 2)).decode()
    field = {":type:": "<class 'x'>", ":serialized:": serialized}
    trap = json.dumps(
        {"n_epochs": 1, "gae_lambda": 1, "policy_class": field, "observation_space": field, "action_space": field}
    )

    bomb = ended(docker, "sb3", "model.zip", zip_of_zeros("data", 176))
    nested = ended(docker, "sb3", "model.zip", zipped(data=b"[" * 1_000_000))
    program = ended(docker, "sb3", "model.zip", zipped(data=trap.encode()))

    assert bomb.verdict is Verdict.OUT_OF_MEMORY, (bomb.message, bomb.log_tail)
    assert nested.verdict in (Verdict.CRASHED, Verdict.INVALID), (nested.message, nested.log_tail)
    assert program.verdict is Verdict.CRASHED, (program.message, program.log_tail)
    assert "the program ran as" in program.log_tail
    assert not Path("/tmp/pullrank-owned").exists()
    assert our_containers(engine) == []


def test_the_writer_of_these_files_writes_networks(docker: SelectedSandbox) -> None:
    """So that the attacks above fail for what they are, and not for how they are written."""
    graph = graph_of([node("MatMul", ["x", "w"], ["y"])], [tensor("w", [4, 2], FLOAT, bytes(32))], ENDS)

    assert model(graph) != onnx_file.linear(np.zeros((4, 2), np.float32))
    assert ended(docker, "onnx", "model.onnx", model(graph)).verdict is Verdict.OK
