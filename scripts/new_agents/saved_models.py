"""What a file with a trained network is, by its bytes; nothing of it is executed or unpickled."""

import json
import lzma
import pickletools
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.host.loading.submission_folder import POINTER_FAULT
from evaluator.host.loading.weights_cache import POINTER_BYTES, is_pointer
from scripts.console import SUBMISSION_AT_FAULT, CommandError

# More of a member is not read: a zip can unpack to a thousand times its size.
_MEMBER_BYTES = 16 << 20
_MEMBERS = 5000
# Fields of a model of Stable-Baselines3 that show its algorithm, checked in this order.
_ALGORITHM_FIELDS = (
    ("policy_delay", "TD3"), ("ent_coef_optimizer", "SAC"), ("target_entropy", "SAC"), ("exploration_fraction", "DQN"),
    ("n_epochs", "PPO"), ("gae_lambda", "A2C"),
)  # fmt: skip
# What a pickle of numbers names; everything else is an object of somebody's class.
_TENSORS = re.compile(
    r"collections OrderedDict|torch._utils _rebuild_(tensor_v2|parameter)|torch(\.storage)? \w+Storage|torch \w+"
)
# What a damaged or hostile zip raises where it is read; NotImplementedError and RecursionError are RuntimeErrors.
_UNREADABLE = (OSError, ValueError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
_OLD = re.compile(r"<class 'gym\.")
_LAYER = re.compile(r"(.*)\.weight")
# By the layers' name: the activation between them, and whether the output is squashed into the action's bounds.
_HEADS = (("actor_mean.", "torch.tanh"), ("actor.", "torch.tanh"), ("network.", "torch.relu"), ("q_network.", "torch.relu"))
_SQUASHED_HEADS = ("fc_mu", "fc_mean")


@dataclass(frozen=True, kw_only=True)
class SavedModel:
    """A recognised model."""

    template: str
    """The folder in scripts/templates that plays it."""
    file: str
    """Its name in the agent's folder."""
    algorithm: str
    has_agent: bool = False
    """Whether the template has an agent.py, instead of an adapter."""
    is_old: bool = False
    """Whether it names gym instead of gymnasium."""
    replaced: tuple[tuple[str, str], ...] = ()
    """Lines of the template's agent and what stands there instead."""
    observation_shape: tuple[int, ...] | None = None
    """Where the file says it."""
    actions: int | tuple[int, ...] | None = None
    """The number of discrete actions, or the shape of a continuous one, where the file says it."""


def recognise(path: Path) -> SavedModel:
    """What a file is.

    Raises:
        CommandError: nothing that can be played, with what to do instead.
    """
    try:
        with path.open("rb") as file:
            beginning = file.read(POINTER_BYTES)
        if is_pointer(beginning[: POINTER_BYTES - 1]) and path.stat().st_size < POINTER_BYTES:
            raise _fault(path, POINTER_FAULT)
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return _of_zip(path, archive)
    except _UNREADABLE as error:
        raise _fault(path, f"cannot be read ({type(error).__name__}); save the model again") from error
    # An ONNX file begins with the field `ir_version`, a small number.
    if beginning[:1] == b"\x08" and len(beginning) > 2 and 0 < beginning[1] < 0x20:
        return SavedModel(template="onnx", file="model.onnx", algorithm="a network saved as ONNX")
    if beginning[:1] == b"\x80":
        raise _fault(path, "is a plain pickle, which only its own code can read; save it with torch.jit.save or as ONNX")
    kinds = "a zip of Stable-Baselines3, a state dict as CleanRL saves, TorchScript or ONNX"
    raise _fault(path, f"is nothing that is known here: {kinds}")


def _fault(path: Path, words: str) -> CommandError:
    return CommandError(SUBMISSION_AT_FAULT, f"{path}: {words}")


def _of_zip(path: Path, archive: zipfile.ZipFile) -> SavedModel:
    names = archive.namelist()
    if len(names) > _MEMBERS:
        raise _fault(path, f"has more than {_MEMBERS} members, which no model has; save it again")
    if "data" in names and "policy.pth" in names:
        return _of_sb3(path, json.loads(_member(path, archive, "data")))
    if any("/code/" in name for name in names):
        words = "a network saved as TorchScript"
        return SavedModel(template="torchscript", file="model.pt", algorithm=words, has_agent=True)
    if pickled := next((name for name in names if name.count("/") == 1 and name.endswith("/data.pkl")), None):
        return _of_state_dict(path, _member(path, archive, pickled))
    raise _fault(path, "is a zip without a model of Stable-Baselines3 or torch; name the model's own file")


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as member:
        content = member.read(_MEMBER_BYTES + 1)
    if len(content) > _MEMBER_BYTES:
        raise _fault(path, f"{name!r} in it has more than {_MEMBER_BYTES >> 20} MiB, which no model's has; save it again")
    return content


def _of_sb3(path: Path, data: Any) -> SavedModel:
    policy = data.get("policy_class") if isinstance(data, dict) else None
    module = str(policy.get("__module__", "")) if isinstance(policy, dict) else ""
    algorithm = next((name for field, name in _ALGORITHM_FIELDS if isinstance(data, dict) and field in data), None)
    if algorithm is None or module.startswith("sb3_contrib"):
        raise _fault(path, "is of none of PPO, A2C, DQN, SAC, TD3 and DDPG; export its policy as ONNX or TorchScript")
    actions = data.get("action_space")
    return SavedModel(
        template="sb3", file="model.zip", algorithm=algorithm,
        is_old=isinstance(actions, dict) and bool(_OLD.match(str(actions.get(":type:")))),
        observation_shape=_shape(data.get("observation_space")), actions=_actions(actions),
    )  # fmt: skip


def _shape(space: Any) -> tuple[int, ...] | None:
    shape = space.get("_shape", space.get("shape")) if isinstance(space, dict) else None
    is_shape = isinstance(shape, list) and len(shape) < 8 and all(isinstance(side, int) for side in shape)
    return tuple(shape) if is_shape and shape is not None else None


def _actions(space: Any) -> int | tuple[int, ...] | None:
    number = str(space.get("n", "")) if isinstance(space, dict) else ""
    return int(number) if number.isdecimal() and len(number) < 10 else _shape(space)


def _of_state_dict(path: Path, pickled: bytes) -> SavedModel:
    """Layers by the names in the pickle, whose opcodes are listed and not run."""
    texts: list[str] = []
    for opcode, argument, _ in pickletools.genops(pickled):
        if opcode.name == "GLOBAL" and not _TENSORS.fullmatch(str(argument)):
            shown = str(argument).replace(" ", ".")[:80]
            raise _fault(path, f"holds an object of {shown!r}, whose code is not in it; save torch.jit.script(model)")
        if opcode.name in ("STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4"):
            raise _fault(path, "holds objects, not only numbers; save model.state_dict(), or torch.jit.script(model)")
        if isinstance(argument, str):
            texts.append(argument)
    names = dict.fromkeys(match[1] for text in texts if (match := _LAYER.fullmatch(text)))
    for head, activation in _HEADS:
        if layers := [name for name in names if re.fullmatch(re.escape(head) + r"\d+", name)]:
            return _layered(layers, activation, is_squashed=False)
    for last in _SQUASHED_HEADS:
        if last in names:
            hidden = [name for name in names if re.fullmatch(r"fc\d+", name)]
            return _layered([*hidden, last], "torch.relu", is_squashed=True)
    heads = ", ".join(head + "0" for head, _ in _HEADS)
    raise _fault(path, f"has no layers called {heads} or fc_mu; save it with torch.jit.script(model).save(…)")


def _layered(layers: list[str], activation: str, *, is_squashed: bool) -> SavedModel:
    replaced = (
        ("LAYERS = []", f"LAYERS = {json.dumps(layers)}"),
        ("ACTIVATION = torch.tanh", f"ACTIVATION = {activation}"),
        ("SQUASHED = False", f"SQUASHED = {is_squashed}"),
    )
    algorithm = "a network saved by CleanRL"
    return SavedModel(template="state-dict", file="model.pt", algorithm=algorithm, has_agent=True, replaced=replaced)
