"""The evaluator image: what it is called, and building it when it is not there."""

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Sequence

from evaluator.host.digests.image_files import build_context
from evaluator.host.docker.engine import Engine, EngineError

NAME = "pullrank-evaluator"
# The environment variable that names one more package index for building: the usual one has no CPU build of torch.
WHEELS = "PULLRANK_WHEELS"


def base_identity(engine: Engine, base: str) -> str:
    """What the base image is, whatever it is called here: the reference's digest, or else the local image's id."""
    if "@sha256:" in base:
        return base.partition("@")[2]
    return engine.image_id(base) or base


def image_tag(base: str, extras: Sequence[str] = ()) -> str:
    """The image's name: the same sources on the same base have the same name, so it is built once."""
    hasher = hashlib.sha256(base.encode())
    for path, content in sorted(build_context(extras).items()):
        hasher.update(f"\0{path}\0{len(content)}\0".encode() + content)
    return f"{NAME}:{hasher.hexdigest()[:16]}"


def build_archive(extras: Sequence[str] = ()) -> bytes:
    """The build context as a tar archive in which only the files' names and bytes tell."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, content in sorted(build_context(extras).items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode, member.mtime = len(content), 0o644, 0
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def ensure_evaluator_image(engine: Engine, base: str, tell: Callable[[str], None]) -> str:
    """The id of the evaluator image, built now if it is not there.

    Raises:
        EngineError: it cannot be had.
    """
    return _built(engine, image_tag(base_identity(engine, base)), build_archive, {"BASE_IMAGE": base}, tell)


def ensure_with_extras(engine: Engine, base: str, tell: Callable[[str], None], extras: Sequence[str]) -> str:
    """The id of the evaluator image with extras, built now if it is not there.

    Raises:
        EngineError: it cannot be had.
    """
    if not extras:
        return ensure_evaluator_image(engine, base, tell)
    arguments = {"BASE_IMAGE": base, "EXTRAS": " ".join(extras), "WHEELS": os.environ.get(WHEELS, "")}
    name = image_tag(base_identity(engine, base), extras)
    try:
        return _built(engine, name, lambda: build_archive(extras), arguments, tell)
    except EngineError as error:
        advice = f"{WHEELS} names an index where torch's CPU build is"
        raise EngineError(f"the extras {', '.join(extras)} cannot be had: {error}; {advice}") from error


def _built(
    engine: Engine, name: str, context: Callable[[], bytes], arguments: dict[str, str], tell: Callable[[str], None]
) -> str:
    image_id = engine.image_id(name)
    if image_id is None:
        engine.build(context(), name, arguments, tell)
        image_id = engine.image_id(name)
    assert image_id is not None
    return image_id
