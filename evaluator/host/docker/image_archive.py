"""Archives of one image, as the engine loads them: the form of `docker save`."""

import hashlib
import json
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_COPY_BYTES = 1 << 20


def image_archive(layers: Sequence[Path | None], config: bytes, name: str) -> Iterator[bytes]:
    """The archive of an image, in pieces.

    Args:
        layers: from the lowest to the highest; None for one that the engine has.
        config: the image's configuration, which lists the layers by their hashes.
        name: what the engine is to call it.
    """
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    names = [f"{index}/layer.tar" for index in range(len(layers))]
    yield from _member(config_name, len(config), [config])
    for layer_name, path in zip(names, layers, strict=True):
        if path is not None:
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
        while piece := file.read(_COPY_BYTES):
            yield piece
