"""An agent's folder made from a saved model: the file or its address, an agent that plays it, and the manifest.

What a file is, its bytes say; nothing of it is executed or unpickled.
"""

import hashlib
import json
import os
import pickletools
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evaluator.host.errors import AgentFault, EnvironmentFault
from evaluator.host.loading.submission_folder import POINTER_FAULT
from evaluator.host.loading.weights_cache import POINTER_BYTES, WeightsCache, is_pointer
from evaluator.host.loading.yaml_loader import dump_yaml
from evaluator.host.process_owner import scratch_folder
from evaluator.host.usage import MIB
from evaluator.model.config.submission import MANIFEST_NAME, WeightsFile
from evaluator.model.config.task import Task
from evaluator.model.identifiers import WeightsUrl
from evaluator.model.records.stored_record import without_retry
from evaluator.model.records.verdict import Verdict
from evaluator.model.validation_messages import error_in_words
from scripts.console import OUR_FAULT, SUBMISSION_AT_FAULT, USAGE, CommandError, say
from scripts.repository.checkout import Checkout
from scripts.repository.layout import TEMPLATE_FOLDER

# More of a member is not read: a zip can unpack to a thousand times its size.
_MEMBER_BYTES = 16 << 20
_MEMBERS = 5000
# Those of each model. Of other methods Python unpacks all that it has read at once, however little is asked for.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Fields of a model of Stable-Baselines3 that show its algorithm, checked in this order: those of `sandbox/adapters/sb3.py`,
# of which the trusted side imports nothing. A test compares them.
_ALGORITHM_FIELDS = (
    ("policy_delay", "TD3"), ("ent_coef_optimizer", "SAC"), ("target_entropy", "SAC"), ("exploration_fraction", "DQN"),
    ("n_epochs", "PPO"), ("gae_lambda", "A2C"),
)  # fmt: skip
# What a pickle of numbers names; everything else is an object of somebody's class.
_TENSORS = re.compile(
    r"collections OrderedDict|torch._utils _rebuild_(tensor_v2|parameter)|torch(\.storage)? \w+Storage|torch \w+"
)
# What a damaged or hostile zip raises where it is read; NotImplementedError and RecursionError are RuntimeErrors.
_UNREADABLE = (OSError, ValueError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error)
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
    if archive.getinfo(name).compress_type not in _METHODS:
        raise _fault(path, f"{name!r} in it is neither stored nor deflated, as each model's is; save it again")
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


STATISTICS = "vecnormalize.pkl"


@dataclass(frozen=True, kw_only=True)
class ModelSource:
    """Where the files come from."""

    model: Path
    statistics: Path | None = None
    """What VecNormalize saved, if it lies beside the model."""
    url: str | None = None
    """Where the model was fetched."""


@contextmanager
def open_source(source: str, checkout: Checkout, cache: WeightsCache | None = None) -> Iterator[ModelSource]:
    """The model in a file, in a folder of rl-baselines3-zoo, or at an https address.

    Raises:
        CommandError: there is none, or several.
    """
    if "://" in source:
        with scratch_folder("model") as room:
            yield _fetched(source, Path(room) / "model", checkout, cache or WeightsCache())
        return
    path = Path(source)
    if path.is_dir():
        zips = sorted(path.rglob("*.zip"))
        models = [each for each in zips if each.name != "best_model.zip"] or zips
        if len(models) != 1:
            raise CommandError(USAGE, f"{path}: holds {len(models)} zips of models; name one of them")
        path = models[0]
    if not path.is_file():
        raise CommandError(USAGE, f"{path}: is no file; name a model's file, its folder, or its https address")
    beside = (path.parent / STATISTICS, path.parent / path.stem / STATISTICS, path.parent / "vec_normalize.pkl")
    yield ModelSource(model=path, statistics=next((other for other in beside if other.is_file()), None))


def _fetched(url: str, target: Path, checkout: Checkout, cache: WeightsCache) -> ModelSource:
    from evaluator.host.public_download import PublicDownloader  # imported late: TLS takes long to import

    most = checkout.challenge.submissions.weights_mib * MIB
    if "/blob/" in url:
        raise CommandError(USAGE, f"{url}: is a page about a file; with /resolve/ or /raw/ instead of /blob/ it is the file")
    try:
        TypeAdapter(WeightsUrl).validate_python(url)
        with target.open("wb") as file:
            size = (cache.https or PublicDownloader()).download(url, most, file.write)
    except ValidationError as error:
        raise CommandError(USAGE, f"{url}: {error_in_words(error)}") from error
    except AgentFault as fault:
        if fault.verdict is Verdict.INTERNAL_ERROR:
            words = f"{without_retry(str(fault))}; nothing was written, try it again"
            raise CommandError(OUR_FAULT, f"{url}: {words}") from fault
        raise CommandError(SUBMISSION_AT_FAULT, f"{url}: {fault}") from fault
    if size > most:
        words = f"has more than the {most // MIB} MiB that submissions.weights_mib allows; quantise it"
        raise CommandError(SUBMISSION_AT_FAULT, f"{url}: {words}")
    return ModelSource(model=target, url=url)


def write_model_agent(
    source: ModelSource,
    folder: Path,
    name: str,
    ids: list[str] | None,
    checkout: Checkout,
    cache: WeightsCache | None = None,
) -> list[str]:
    """Write the folder; returns the names of its files.

    Raises:
        CommandError: the model cannot be played, is too large, or fits no task.
    """
    try:
        model = recognise(source.model)
    except CommandError as error:  # of a fetched file the address is shown, not where it lies for a moment
        raise CommandError(error.code, str(error).replace(str(source.model), source.url or str(source.model))) from error
    # The adapter sb3 knows neither VecNormalize's statistics nor gym's names; this template's own agent knows both.
    if model.template == "sb3" and (source.statistics is not None or model.is_old):
        algorithm = ('ALGORITHM = "PPO"', f'ALGORITHM = "{model.algorithm}"')
        model = replace(model, template="sb3-agent", has_agent=True, replaced=(algorithm,))
    statistics = _read_statistics(source.statistics) if model.template == "sb3-agent" and source.statistics else None
    tasks = _tasks(model, ids, checkout)
    size = source.model.stat().st_size
    if source.url is None and size > checkout.challenge.submissions.kib * 1024:
        words = f"has {size // MIB} MiB, and a folder at most {checkout.challenge.submissions.kib // 1024}"
        raise CommandError(SUBMISSION_AT_FAULT, f"{source.model}: {words}; upload it, and give --from its https address")
    folder.mkdir(parents=True, exist_ok=True)
    if model.has_agent:
        text = (TEMPLATE_FOLDER / model.template / "agent.py").read_text(encoding="utf-8")
        for old, new in model.replaced:
            text = text.replace(old, new)
        (folder / "agent.py").write_text(text, encoding="utf-8")
    if statistics is not None:
        (folder / STATISTICS).write_bytes(statistics)
    schema = os.path.relpath(checkout.root / "site/pages/schemas/submission.json", folder.resolve())
    manifest = _manifest(model, name, [task.id for task in tasks], schema)
    if source.url is None:
        shutil.copyfile(source.model, folder / model.file)
    else:
        manifest += dump_yaml({"weights": [_kept(source, model, cache or WeightsCache()).model_dump()]})
    (folder / MANIFEST_NAME).write_text(manifest, encoding="utf-8")
    return sorted(path.name for path in folder.iterdir())


def _manifest(model: SavedModel, name: str, tasks: list[str], schema: str) -> str:
    """The template's manifest with this model's name, algorithm and tasks. `schema`: its path from the folder."""
    manifest = (TEMPLATE_FOLDER / model.template / MANIFEST_NAME).read_text(encoding="utf-8")
    manifest = re.sub(r"\$schema=.*", lambda _: f"$schema={schema}", manifest)
    for field, value in {"name": name, "algorithm": model.algorithm, "tasks": tasks}.items():
        # `re.sub` takes a backslash in a replacement for the beginning of an escape.
        line = dump_yaml({field: value}).replace("\\", r"\\")
        manifest = re.sub(rf"^{field}: .*\n", line, manifest, count=1, flags=re.MULTILINE)
    return manifest


def _read_statistics(path: Path) -> bytes:
    """What VecNormalize saved. A stranger's folder may have a link there, to what the user publishes nowhere.

    Raises:
        CommandError: it is no pickle.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _fault(path, f"cannot be read ({error.strerror}); remove it") from error
    if content[:1] != b"\x80":
        raise _fault(path, f"{'leads to what' if path.is_symlink() else 'is what'} VecNormalize did not save; remove it")
    return content


def _kept(source: ModelSource, model: SavedModel, cache: WeightsCache) -> WeightsFile:
    """The manifest's entry of a fetched model, whose bytes need not be fetched again."""
    content = source.model.read_bytes()
    weights = WeightsFile(
        file=model.file, url=source.url or "", sha256=hashlib.sha256(content).hexdigest(), bytes=len(content)
    )
    cache.add(weights, [content])
    return weights


def _tasks(model: SavedModel, ids: list[str] | None, checkout: Checkout) -> list[Task]:
    """The named tasks, or those whose spaces are the model's."""
    if ids:
        tasks = checkout.tasks(ids)
        if model.observation_shape is not None:
            for task in tasks:
                if task.game is None and not _fits(model, task):
                    say(f"{task.id}: has other spaces than the model, {_shapes(model)}; its agent has to convert them")
        return tasks
    if model.observation_shape is None:
        raise CommandError(USAGE, "the file does not say what it was trained on; name that with --task")
    tasks = [task for task in checkout.challenge.solo_tasks if task.script is None and _fits(model, task)]
    if not tasks:
        raise CommandError(
            USAGE, f"no task of this board has {_shapes(model)}; name one with --task if it fits all the same"
        )
    return tasks


def _shapes(model: SavedModel) -> str:
    return f"observations of shape {model.observation_shape} and actions {model.actions}"


def _fits(model: SavedModel, task: Task) -> bool:
    from evaluator.host.envs.gym_task import load_gym_task  # imported late: gymnasium is slow to import

    try:
        gym_task = load_gym_task(task)
    except EnvironmentFault:
        return False
    actions = getattr(gym_task.action_space, "n", None)
    actions = gym_task.action_space.shape if actions is None else int(actions)
    return (gym_task.observation_space.shape, actions) == (model.observation_shape, model.actions)
