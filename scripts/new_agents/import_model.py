"""An agent's folder made from a saved model: the file or its address, an agent that plays it, and the manifest."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from evaluator.host.errors import AgentFault, EnvironmentFault
from evaluator.host.loading.weights_cache import WeightsCache
from evaluator.host.loading.yaml_loader import dump_yaml
from evaluator.host.process_owner import scratch_folder
from evaluator.host.usage import MIB
from evaluator.model.base import error_in_words
from evaluator.model.config.submission import MANIFEST_NAME, WeightsFile
from evaluator.model.config.task import Task
from evaluator.model.identifiers import WeightsUrl
from evaluator.model.records.result import without_retry
from evaluator.model.records.verdict import Verdict
from scripts.console import OUR_FAULT, SUBMISSION_AT_FAULT, USAGE, CommandError, say
from scripts.new_agents.saved_models import SavedModel, recognise
from scripts.repository.checkout import Checkout
from scripts.repository.unchanged_starters import TEMPLATE_FOLDER

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
    from evaluator.host.public_https import PublicHttps  # imported late: TLS takes long to import

    most = checkout.challenge.submissions.weights_mib * MIB
    if "/blob/" in url:
        raise CommandError(USAGE, f"{url}: is a page about a file; with /resolve/ or /raw/ instead of /blob/ it is the file")
    try:
        TypeAdapter(WeightsUrl).validate_python(url)
        with target.open("wb") as file:
            size = (cache.https or PublicHttps()).download(url, most, file.write)
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
    if model.template == "sb3" and (source.statistics is not None or model.is_old):
        agent = (('ALGORITHM = "PPO"', f'ALGORITHM = "{model.algorithm}"'),)
        model = replace(model, template="sb3-agent", has_agent=True, replaced=agent)
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
    if model.template == "sb3-agent" and source.statistics is not None:
        shutil.copyfile(source.statistics, folder / STATISTICS)
    schema = os.path.relpath(checkout.root / "site/pages/schemas/submission.json", folder.resolve())
    manifest = (TEMPLATE_FOLDER / model.template / MANIFEST_NAME).read_text(encoding="utf-8")
    manifest = re.sub(r"\$schema=.*", lambda _: f"$schema={schema}", manifest)
    fields = {"name": name, "algorithm": model.algorithm, "tasks": [task.id for task in tasks]}
    for field, value in fields.items():
        # A backslash in what is written instead is a backslash.
        line = dump_yaml({field: value}).replace("\\", r"\\")
        manifest = re.sub(rf"^{field}: .*\n", line, manifest, count=1, flags=re.MULTILINE)
    if source.url is None:
        shutil.copyfile(source.model, folder / model.file)
    else:
        manifest += dump_yaml({"weights": [_kept(source, model, cache or WeightsCache()).model_dump()]})
    (folder / MANIFEST_NAME).write_text(manifest, encoding="utf-8")
    return sorted(path.name for path in folder.iterdir())


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
