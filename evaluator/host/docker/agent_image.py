"""An agent's own image: fetched from its registry by digest, checked, loaded into the engine, and later removed.

The engine gets the layers as we write them anew and one of ours above them, with a configuration of ours that keeps only the
command, environment and folder.
"""

import contextlib
import multiprocessing
import shutil
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from evaluator.host.docker.engine import Engine, EngineError
from evaluator.host.docker.evaluator_image import image_archive
from evaluator.host.docker.image_layers import MAX_ENTRIES, Layer, check_layer, layer_of
from evaluator.host.docker.image_manifest import ImageConfig, ImageManifest, check_size, read_config, read_manifest
from evaluator.host.docker.image_registry import Registry
from evaluator.host.errors import AgentFault
from evaluator.host.process_owner import scratch_folder
from evaluator.host.usage import MIB
from evaluator.model.config.image_reference import ImageReference
from evaluator.model.records.verdict import Verdict

AGENT_REPOSITORY = "pullrank-agent"
PULL_SECONDS = 600
LOAD_SECONDS = 600
# MiB of agents' images that stay for the next task; the longest unused ones are removed first.
KEPT_IMAGES_MIB = 4096
# An image counts as that many at least: empty files are no bytes to the engine, but fill a disk's table of files.
LEAST_IMAGE_MIB = 256
# What other evaluations on the machine need of its disk, beside what the engine needs for the image.
SPARE_DISK_MIB = 1024
# Both players of a duel may have the same image, and are opened at once; so may evaluations in forks of this process.
_image_lock = multiprocessing.get_context("fork").Lock()


def _top_layer() -> Layer:
    """Lists of users and groups, in which no agent's user stands, and the folders that are mounted at."""
    members = []
    for name, mode in {"etc": 0o755, "channel": 0o755, "submission": 0o755, "tmp": 0o1777}.items():
        folder = tarfile.TarInfo(name)
        folder.type, folder.mode = tarfile.DIRTYPE, mode
        members.append((folder, b""))
    lists = {"etc/passwd": b"root:x:0:0:root:/:\n", "etc/group": b"root:x:0:\n"}
    return layer_of([*members, *((tarfile.TarInfo(name), content) for name, content in lists.items())])


# Lies above an image's own layers. The engine reads both lists itself whenever it starts a container: gigabytes of empty
# lines take it minutes. Where the image has a file or a link in place of a folder it fails as if by itself, or mounts
# elsewhere; and what it mounts at /tmp has the mode of the folder.
TOP_LAYER = _top_layer()


def local_name(reference: ImageReference) -> str:
    """The local name of an agent's image."""
    return f"{AGENT_REPOSITORY}:{reference.digest}"


def ensure_agent_image(
    engine: Engine, reference: ImageReference, image_mib: int, wait: Callable[[], None] | None = None
) -> str:
    """The id of an agent's image, fetched if it is not here.

    `wait` is called after the registry was asked, also where it failed, and before the engine unpacks the image: an agent
    reads in the times of its image's files when that was.

    Raises:
        AgentFault: it cannot be fetched, is too large, or is not what its digest says.
        EngineError: the engine cannot load it.
    """
    name = local_name(reference)
    with _image_lock:
        image_id = engine.image_id(name)
        if image_id is None:
            image_id = _fetch(engine, reference, image_mib, wait)
        try:
            check_size(
                sum(image.size for image in engine.stored(AGENT_REPOSITORY) if image.name == name), image_mib, "unpacked"
            )
        except AgentFault:
            engine.remove_image(name)
            raise
        engine.tag(image_id, name)
    return image_id


def trim_images(engine: Engine, kept_mib: int = KEPT_IMAGES_MIB) -> list[str]:
    """Remove the longest unused agents' images beyond the limit, except those in use; returns their names."""
    removed = []
    with _image_lock:
        sizes = {image.name: max(image.size, LEAST_IMAGE_MIB * MIB) for image in engine.stored(AGENT_REPOSITORY)}
        excess = sum(sizes.values()) - kept_mib * MIB
        for name, size in sizes.items():
            if excess > 0:
                engine.remove_image(name)
                removed.append(name)
                excess -= size
    return removed


def inspect_image(reference: ImageReference, platform: str, image_mib: int, seconds: float) -> ImageManifest:
    """An image's manifest, without its layers; raises AgentFault where it cannot be fetched, or could not be run."""
    return _fetch_manifest(Registry(reference, seconds), reference, platform, image_mib)[0]


def _fetch_manifest(
    registry: Registry, reference: ImageReference, platform: str, image_mib: int
) -> tuple[ImageManifest, ImageConfig]:
    manifest = read_manifest(registry.manifest(reference.digest), platform, registry.manifest, image_mib)
    body = registry.blob(manifest.config.digest, manifest.config.size)
    return manifest, read_config(body, platform, len(manifest.layers))


def _fetch(engine: Engine, reference: ImageReference, image_mib: int, wait: Callable[[], None] | None) -> str:
    """Fetch an image and load it.

    Where there is a `wait`, the lock, which the caller holds, is free until its end: who waited behind a slow registry could
    be cut off at the end of its job, and be played again.
    """
    name = local_name(reference)
    with scratch_folder("image") as folder:
        if wait is not None:
            _image_lock.release()
        try:
            registry = Registry(reference, PULL_SECONDS)
            manifest, config = _fetch_manifest(registry, reference, engine.platform, image_mib)
            layers = [*_fetch_layers(registry, manifest, config, Path(folder), image_mib), TOP_LAYER]
        finally:
            if wait is not None:
                try:
                    wait()
                finally:
                    _image_lock.acquire()
        if (image_id := engine.image_id(name)) is not None:  # loaded by another process meanwhile
            return image_id
        try:
            document = config.document([layer.diff_id for layer in layers])
            return engine.load(image_archive(layers, document, name), name, LOAD_SECONDS)
        except EngineError as error:
            with contextlib.suppress(EngineError):
                engine.remove_image(name)
            if error.refused:
                raise cannot_start(error) from error
            raise


def _fetch_layers(
    registry: Registry, manifest: ImageManifest, config: ImageConfig, folder: Path, image_mib: int
) -> list[Layer]:
    """Fetch and check every layer, which together unpack to at most the limit."""
    layers, left, entries = [], image_mib * MIB, MAX_ENTRIES
    # Images are fetched side by side, one or two for each job; the engine then has one of them twice.
    needed = 2 * sum(layer.size for layer in manifest.layers) + SPARE_DISK_MIB * MIB
    for index, (layer, diff_id) in enumerate(zip(manifest.layers, config.diff_ids, strict=True)):
        path = folder / str(index)
        with path.open("wb") as file:
            registry.blob(layer.digest, layer.size, partial(_write, file, needed=needed))
        checked = check_layer(path, diff_id, left, entries, registry.check_deadline)
        left, entries = left - checked.unpacked, entries - checked.entries
        layers.append(checked.written)
    return layers


def _write(file: BinaryIO, piece: bytes, needed: int) -> None:
    if shutil.disk_usage(file.name).free < needed:
        words = "the disk of this machine has no room for the image beside what is played here"
        raise AgentFault(Verdict.INTERNAL_ERROR, words)
    file.write(piece)


def cannot_start(error: EngineError) -> AgentFault:
    """The fault of an image that cannot be started; a failure of the engine is not the agent's."""
    if not error.refused:
        return AgentFault(Verdict.INTERNAL_ERROR, str(error))
    return AgentFault(Verdict.INVALID, f"the image cannot be started: {error}")
