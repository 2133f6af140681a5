"""An agent's own image: fetched from its registry by digest, examined, given to the engine, and removed again.

The engine gets the layers as they are, under a configuration of ours that keeps nothing of theirs but what is run.
"""

import contextlib
import hashlib
import json
import tarfile
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from evaluator.host.docker.engine import Engine, EngineError
from evaluator.host.docker.image_registry import Registry
from evaluator.host.docker.layers import ENTRIES, examine_layers
from evaluator.host.docker.manifest import ImageConfig, ImageManifest, check_size, read_config, read_manifest
from evaluator.host.errors import AgentFault
from evaluator.model.config.submission import ImageReference
from evaluator.model.records.verdict import Verdict

NAME = "pullrank-agent"
PULL_SECONDS = 600
LOAD_SECONDS = 600
# How much of agents' images stays for the next task; the longest unused ones go first.
KEPT_MIB = 4096
# How the engine says that WORKDIR is a file, as if that were a failure of its own.
_NO_FOLDER = "Cannot mkdir"
_MIB = 1 << 20
_CHUNK = 1 << 20
# Both players of a duel may be of one image, and they are opened side by side.
_one_at_a_time = threading.Lock()


def local_name(reference: ImageReference) -> str:
    """What an agent's image is called here."""
    return f"{NAME}:{reference.digest}"


def ensure_agent_image(engine: Engine, reference: ImageReference, image_mib: int, seconds: float = PULL_SECONDS) -> str:
    """The id of an agent's image, fetched now if it is not here.

    Raises:
        AgentFault: it cannot be had, is too large, or is not what it says.
        EngineError: the engine does not take it.
    """
    name = local_name(reference)
    with _one_at_a_time:
        image_id = engine.image_id(name)
        if image_id is None:
            image_id = _fetch(engine, reference, image_mib, seconds)
        try:
            check_size(sum(image.size for image in engine.stored(NAME) if image.name == name), image_mib, "unpacked")
        except AgentFault:
            engine.forget(name)
            raise
        engine.rename(image_id, name)
    return image_id


def trim_images(engine: Engine, kept_mib: int = KEPT_MIB) -> list[str]:
    """Remove the longest unused agents' images beyond the bound; those in use stay. Returns their names."""
    gone = []
    with _one_at_a_time:
        stored = engine.stored(NAME)
        excess = sum(image.size for image in stored) - kept_mib * _MIB
        for image in stored:
            if excess > 0:
                engine.forget(image.name)
                gone.append(image.name)
                excess -= image.size
    return gone


def inspect_image(reference: ImageReference, platform: str, image_mib: int, seconds: float) -> ImageManifest:
    """What the registry says of an image, without fetching its layers.

    Raises:
        AgentFault: it cannot be had, or could not be run.
    """
    return _asked(Registry(reference, seconds), reference, platform, image_mib)[0]


def _asked(
    registry: Registry, reference: ImageReference, platform: str, image_mib: int
) -> tuple[ImageManifest, ImageConfig]:
    manifest = read_manifest(registry.manifest(reference.digest), platform, registry.manifest, image_mib)
    body = registry.blob(manifest.config.digest, manifest.config.size)
    return manifest, read_config(body, platform, len(manifest.layers))


def _fetch(engine: Engine, reference: ImageReference, image_mib: int, seconds: float) -> str:
    registry = Registry(reference, seconds)
    manifest, config = _asked(registry, reference, engine.platform, image_mib)
    with tempfile.TemporaryDirectory(prefix="pullrank-image-") as room:
        files = _fetch_layers(registry, manifest, config, Path(room), image_mib)
        try:
            return engine.load(_archive(files, config.document, local_name(reference)), local_name(reference), LOAD_SECONDS)
        except EngineError:
            with contextlib.suppress(EngineError):
                engine.forget(local_name(reference))
            raise


def _fetch_layers(
    registry: Registry, manifest: ImageManifest, config: ImageConfig, room: Path, image_mib: int
) -> list[Path]:
    """Every layer as a file; together they unpack to no more than the limit."""
    files, left, entries = [], image_mib * _MIB, ENTRIES
    for index, (layer, diff_id) in enumerate(zip(manifest.layers, config.diff_ids, strict=True)):
        path = room / str(index)
        with path.open("wb") as file:
            registry.blob(layer.digest, layer.size, file.write)
        size, count = examine_layers(path, diff_id, left, entries)
        left, entries = left - size, entries - count
        files.append(path)
    return files


def _archive(layers: list[Path], config: bytes, name: str) -> Iterator[bytes]:
    """An image as the engine loads it: `docker save` writes the same."""
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    names = [f"{index}/layer.tar" for index in range(len(layers))]
    yield from _member(config_name, len(config), [config])
    for layer_name, path in zip(names, layers, strict=True):
        yield from _member(layer_name, path.stat().st_size, _pieces(path))
    index = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": names}]).encode()
    yield from _member("manifest.json", len(index), [index])
    yield bytes(2 * tarfile.BLOCKSIZE)


def _member(name: str, size: int, pieces: Iterable[bytes]) -> Iterator[bytes]:
    member = tarfile.TarInfo(name)
    member.size = size
    yield member.tobuf(tarfile.GNU_FORMAT)
    yield from pieces
    yield bytes(-size % tarfile.BLOCKSIZE)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            yield piece


def cannot_start(error: EngineError) -> AgentFault:
    """What the engine finds wrong with an image that it has; its own failures are not the agent's."""
    if not error.refused and _NO_FOLDER not in str(error):
        return AgentFault(Verdict.INTERNAL_ERROR, str(error))
    return AgentFault(Verdict.INVALID, f"the image cannot be started: {error}")
