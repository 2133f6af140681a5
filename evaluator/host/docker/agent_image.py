"""An agent's own image: fetched from its registry by digest, checked, loaded into the engine, and later removed.

The engine gets the layers as we write them anew and one of ours above them, with a configuration of ours that keeps only the
command, environment and folder.
"""

import contextlib
import json
import multiprocessing
import re
import shutil
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.docker.evaluator_image import image_archive
from evaluator.host.docker.image_layers import MAX_ENTRIES, Layer, check_layer, pack_layer
from evaluator.host.docker.registry_client import Registry
from evaluator.host.errors import AgentFault
from evaluator.host.process_owner import scratch_folder
from evaluator.host.usage import MIB
from evaluator.model.config.image_reference import ImageReference
from evaluator.model.config.submission_limits import KEPT_IMAGES_MIB
from evaluator.model.records.verdict import Verdict

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_LISTS = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
# One fewer than the engine's file system can stack, for our own.
_MAX_LAYERS = 124
_MAX_CONFIG_BYTES = 1 << 20
# The engine compares every variable with every other one: 40,000 kept it busy for two minutes.
_MAX_WORDS = 1000
# Bytes of a WORKDIR: the kernel takes no longer name of a file, and the engine no longer row of folders.
_MAX_FOLDER = 255
# The only fields kept of a configuration. VOLUME would be writable space without a limit, HEALTHCHECK a second program,
# USER another user, and LABEL could claim another owner of the container.
_KEPT_FIELDS = ("Entrypoint", "Cmd", "Env")
# Variables by which a runtime for graphics cards, where it is the engine's default, hands out what only the image asks for.
# CUDA's own is read by the program alone.
_ASKS_FOR_CARDS = re.compile(r"NVIDIA_|(?!CUDA_)\w*_VISIBLE_DEVICES=")


@dataclass(frozen=True, kw_only=True)
class BlobDescriptor:
    """A file in a registry."""

    digest: str
    """64 hexadecimal digits."""
    size: int
    """Bytes, as announced."""


@dataclass(frozen=True, kw_only=True)
class ImageManifest:
    """The files of an image."""

    config: BlobDescriptor
    layers: tuple[BlobDescriptor, ...]
    """From the lowest to the highest."""


@dataclass(frozen=True, kw_only=True)
class ImageConfig:
    """An image's configuration, reduced to how it is started."""

    diff_ids: tuple[str, ...]
    """SHA-256 of each unpacked layer."""
    system: str
    machine: str
    settings: dict[str, Any]

    def document(self, diff_ids: Sequence[str]) -> bytes:
        """A configuration with these unpacked layers."""
        layers = {"type": "layers", "diff_ids": [f"sha256:{name}" for name in diff_ids]}
        document = {"architecture": self.machine, "os": self.system, "config": self.settings, "rootfs": layers}
        return json.dumps(document, sort_keys=True).encode()


def read_manifest(body: bytes, platform: str, fetch: Callable[[str], bytes], image_mib: int) -> ImageManifest:
    """The manifest for a platform such as `linux/amd64`, also if `body` is a list of manifests.

    Raises:
        AgentFault: there is none, it is invalid, or the image is too large.
    """
    value = _object(body)
    if value.get("mediaType") in _LISTS or "manifests" in value:
        value = _object(fetch(_choose(value, platform)))
    if value.get("schemaVersion") != 2 or not isinstance(value.get("layers"), list):
        raise _fault("has a manifest of an old kind; build it with a newer tool")
    layers = tuple(_parse_descriptor(layer) for layer in value["layers"])
    if len(layers) > _MAX_LAYERS:
        raise _fault(f"has {len(layers)} layers, the limit is {_MAX_LAYERS}; copy it into fewer")
    check_size(sum(layer.size for layer in layers), image_mib, "in its registry")
    config = _parse_descriptor(value.get("config"))
    if config.size > _MAX_CONFIG_BYTES:
        raise _fault("has a configuration of more than a mebibyte")
    return ImageManifest(config=config, layers=layers)


def check_size(size: int, image_mib: int, where: str) -> None:
    """Raise AgentFault for an image that is too large."""
    if size > image_mib * MIB:
        words = f"has {-(-size // MIB)} MiB {where}, the limit is {image_mib} MiB; leave out what the agent does not need"
        raise _fault(words)


def read_config(body: bytes, platform: str, layers: int) -> ImageConfig:
    """The configuration of an image, reduced to how it is started; raises AgentFault where it cannot be run here."""
    value = _object(body)
    _check_platform(value, platform)
    rootfs = value.get("rootfs")
    listed = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
    if not isinstance(listed, list) or len(listed) != layers:
        raise _fault("has another number of layers in its configuration than in its manifest")
    diff_ids = tuple(_digest(name) for name in listed)
    settings = value.get("config")
    original: dict[str, Any] = settings if isinstance(settings, dict) else {}
    kept: dict[str, Any] = {name: _words(original, name) for name in _KEPT_FIELDS}
    kept["Env"] = [word for word in kept["Env"] if not _ASKS_FOR_CARDS.match(word)]
    if not kept["Entrypoint"] and not kept["Cmd"]:
        raise _fault("has neither ENTRYPOINT nor CMD; say in its Dockerfile what is to be run")
    where = original.get("WorkingDir") or "/"
    if not isinstance(where, str) or not where.startswith("/") or "\0" in where:
        raise _fault("has a WORKDIR that is not an absolute path")
    if len(where.encode("utf-8", "replace")) > _MAX_FOLDER:
        raise _fault(f"has a WORKDIR of more than {_MAX_FOLDER} bytes")
    system, _, machine = platform.partition("/")
    return ImageConfig(diff_ids=diff_ids, system=system, machine=machine, settings={**kept, "WorkingDir": where})


def _choose(value: dict[str, Any], platform: str) -> str:
    """The digest of the manifest for a platform."""
    listed = value.get("manifests")
    platforms = []
    for item in listed if isinstance(listed, list) else ():
        about = item.get("platform") if isinstance(item, dict) else None
        if isinstance(about, dict):
            name = f"{about.get('os')}/{about.get('architecture')}"
            if name == platform:
                return _digest(item.get("digest"))
            platforms.append(name)
    raise _other_platform(sorted(set(platforms) - {"unknown/unknown"}), platform)


def _check_platform(value: dict[str, Any], platform: str) -> None:
    name = f"{value.get('os')}/{value.get('architecture')}"
    if name != platform:
        raise _other_platform([name], platform)


def _other_platform(names: list[str], platform: str) -> AgentFault:
    platforms = ", ".join(name[:40] for name in names[:5]) or "nothing that is named"
    return _fault(f"is for {platforms}, and this board runs {platform}; build it with '--platform {platform}'")


def _parse_descriptor(value: Any) -> BlobDescriptor:
    if not isinstance(value, dict) or type(value.get("size")) is not int or value["size"] < 0:
        raise _unreadable()
    kind = str(value.get("mediaType"))
    if "foreign" in kind or "nondistributable" in kind or value.get("urls"):
        raise _fault("has a layer that is kept outside its registry")
    if kind.endswith(("zstd", "encrypted")):
        raise _fault("has a layer that is compressed with zstd or encrypted; build it with gzip")
    return BlobDescriptor(digest=_digest(value.get("digest")), size=value["size"])


def _digest(value: Any) -> str:
    match = _DIGEST.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise _unreadable()
    return match[1]


def _words(config: dict[str, Any], name: str) -> list[str]:
    """A list of strings without zero bytes, which would cut an argument short."""
    words = config.get(name) or []
    if not isinstance(words, list) or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise _fault(f"has a configuration whose {name} is not a list of words")
    if len(words) > _MAX_WORDS:
        raise _fault(f"has a configuration whose {name} has {len(words)} words, the limit is {_MAX_WORDS}")
    if name == "Env" and not all(word.partition("=")[0] and "=" in word for word in words):
        raise _fault("has an ENV without a name or a value")
    return words


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _unreadable()
    return value


def _unreadable() -> AgentFault:
    return _fault("has a manifest or a configuration that cannot be read; push it again")


def _fault(words: str) -> AgentFault:
    return AgentFault(Verdict.INVALID, f"the image {words}")


AGENT_REPOSITORY = "pullrank-agent"
# From the registry, and into the engine.
IMAGE_FETCH_SECONDS = 600
LOAD_SECONDS = 600
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
    return pack_layer([*members, *((tarfile.TarInfo(name), content) for name, content in lists.items())])


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
            registry = Registry(reference, IMAGE_FETCH_SECONDS)
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
