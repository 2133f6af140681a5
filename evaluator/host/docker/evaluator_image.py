"""The evaluator image: its name, and its build if it does not exist."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from evaluator.host.digests.image_files import build_context
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.docker.image_layers import Layer

EVALUATOR_REPOSITORY = "pullrank-evaluator"
# The environment variable with one more package index for builds: the usual one has no CPU build of torch.
WHEELS = "PULLRANK_WHEELS"
# The folder of our files in the image.
_HOME = "opt/pullrank"
_REBUILT = "pullrank-evaluator-rebuilt"
_CONFIG_SECONDS = 60
# Stands for the time of a build; tools want one.
_EPOCH = "1970-01-01T00:00:00Z"
_KEPT = ("Cmd", "Entrypoint", "Env", "Labels", "User", "WorkingDir")


def base_identity(engine: Engine, base: str) -> str:
    """The base image's identity: the reference's digest, or else the local image's id."""
    if "@sha256:" in base:
        return base.partition("@")[2]
    return engine.image_id(base) or base


def image_tag(base: str, extras: Sequence[str] = ()) -> str:
    """The image's name, which is a hash over the base and the sources, so that each is built once."""
    hasher = hashlib.sha256(base.encode())
    for path, content in sorted(build_context(extras).items()):
        hasher.update(f"\0{path}\0{len(content)}\0".encode() + content)
    return f"{EVALUATOR_REPOSITORY}:{hasher.hexdigest()[:16]}"


def build_archive(extras: Sequence[str] = ()) -> bytes:
    """The build context as a tar archive, which depends on the files' names and bytes only.

    Each folder in it is copied to the image's root: folders that the engine made would have the time of the build.
    """
    files = {_place(path): content for path, content in build_context(extras).items()}
    folders = {str(parent) for path in (*files, f"extras/{_HOME}/-") for parent in PurePosixPath(path).parents} - {"."}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path in sorted(folders | files.keys()):
            member = tarfile.TarInfo(path)
            member.mtime = 0
            if path in folders:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
            else:
                member.size, member.mode = len(files[path]), 0o644
            tar.addfile(member, io.BytesIO(files.get(path, b"")))
    return buffer.getvalue()


def _place(path: str) -> str:
    """Where a file lies in the build context; what changes often comes last, so that a build repeats little."""
    if path == "Dockerfile":
        return path
    folder = "code" if "/" in path else "extras" if path.startswith("extra-") else "locks"
    return f"{folder}/{_HOME}/{path}"


def ensure_evaluator_image(engine: Engine, base: str, tell: Callable[[str], None], extras: Sequence[str] = ()) -> str:
    """The id of the evaluator image with extras, built if it does not exist.

    Raises:
        EngineError: it cannot be built.
    """
    name = image_tag(base_identity(engine, base), extras)
    try:
        image_id = engine.image_id(name)
        if image_id is None:
            engine.build(build_archive(extras), name, _arguments(base, extras), tell)
            image_id = _without_time(engine, name, tell)
    except EngineError as error:
        if not extras:
            raise
        advice = f"; {WHEELS} names an index where torch's CPU build is" if {"torch", "sb3"} & set(extras) else ""
        raise EngineError(f"the extras {', '.join(extras)} cannot be had: {error}{advice}") from error
    return image_id


def _arguments(base: str, extras: Sequence[str]) -> dict[str, str]:
    """The arguments of a build. Without extras there is only the base, so that an index makes no other layers."""
    return {"BASE_IMAGE": base} | ({"EXTRAS": " ".join(extras), "WHEELS": os.environ.get(WHEELS, "")} if extras else {})


def rebuilt_digest(engine: Engine, base: str, tell: Callable[[str], None], extras: Sequence[str] = ()) -> str:
    """The digest of the evaluator image when it is built again from nothing but its base; the new one is removed.

    Raises:
        EngineError: it cannot be built.
    """
    name = f"{_REBUILT}:{os.getpid()}"
    try:
        engine.build(build_archive(extras), name, _arguments(base, extras), tell, cached=False)
        return image_digest(engine, name)
    finally:
        engine.remove_image(name)


def image_digest(engine: Engine, reference: str) -> str:
    """SHA-256 over what an image is: its layers and how it is started, and not when it was built.

    This is the image's id where the engine took our configuration.
    """
    return f"sha256:{hashlib.sha256(_config(engine.inspect_image(reference))).hexdigest()}"


def _without_time(engine: Engine, name: str, tell: Callable[[str], None]) -> str:
    """Replace an image's configuration by one without the time of its build, so that its id depends on its files alone.

    The engine has the layers already, so they are not sent. Containerd's image store wants them: there the id is another one
    each time, and the layers are the same.
    """
    description = engine.inspect_image(name)
    layers = [None] * len(description["RootFS"]["Layers"])
    try:
        return engine.load(image_archive(layers, _config(description), name), name, _CONFIG_SECONDS)
    except EngineError as error:
        tell(f"the image's id holds the time of its build: {error}")
        return str(description["Id"])


def _config(description: Mapping[str, Any]) -> bytes:
    document = {
        "architecture": description["Architecture"],
        "os": description["Os"],
        "created": _EPOCH,
        "config": {name: value for name in _KEPT if (value := description["Config"].get(name))},
        "rootfs": {"type": "layers", "diff_ids": description["RootFS"]["Layers"]},
    }
    return json.dumps(document, sort_keys=True).encode()


def image_archive(layers: Sequence[Layer | None], config: bytes, name: str) -> Iterator[bytes]:
    """The archive of an image, in pieces.

    `layers`: from the lowest to the highest; None for one that the engine has. `config` lists them by their hashes.
    """
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    names = [f"{index}/layer.tar" for index in range(len(layers))]
    yield from _member(config_name, len(config), [config])
    for layer_name, layer in zip(names, layers, strict=True):
        if layer is not None:
            yield from _member(layer_name, layer.size, layer.pieces())
    index = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": names}]).encode()
    yield from _member("manifest.json", len(index), [index])
    yield bytes(2 * tarfile.BLOCKSIZE)


def _member(name: str, size: int, pieces: Iterable[bytes]) -> Iterator[bytes]:
    member = tarfile.TarInfo(name)
    member.size = size
    yield member.tobuf(tarfile.GNU_FORMAT)
    yield from pieces
    yield bytes(-size % tarfile.BLOCKSIZE)
