"""The evaluator image: its name, and its build if it does not exist."""

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Sequence

from evaluator.host.digests.image_files import build_context
from evaluator.host.docker.engine import Engine, EngineError

EVALUATOR_REPOSITORY = "pullrank-evaluator"
# The environment variable with one more package index for builds: the usual one has no CPU build of torch.
WHEELS = "PULLRANK_WHEELS"


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
    """The build context as a tar archive, which depends on the files' names and bytes only."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, content in sorted(build_context(extras).items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode, member.mtime = len(content), 0o644, 0
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def ensure_evaluator_image(engine: Engine, base: str, tell: Callable[[str], None]) -> str:
    """The id of the evaluator image, built if it does not exist.

    Raises:
        EngineError: it cannot be built.
    """
    return _ensure(engine, image_tag(base_identity(engine, base)), build_archive, {"BASE_IMAGE": base}, tell)


def ensure_with_extras(engine: Engine, base: str, tell: Callable[[str], None], extras: Sequence[str]) -> str:
    """The id of the evaluator image with extras, built if it does not exist.

    Raises:
        EngineError: it cannot be built.
    """
    if not extras:
        return ensure_evaluator_image(engine, base, tell)
    arguments = {"BASE_IMAGE": base, "EXTRAS": " ".join(extras), "WHEELS": os.environ.get(WHEELS, "")}
    name = image_tag(base_identity(engine, base), extras)
    try:
        return _ensure(engine, name, lambda: build_archive(extras), arguments, tell)
    except EngineError as error:
        advice = f"{WHEELS} names an index where torch's CPU build is"
        raise EngineError(f"the extras {', '.join(extras)} cannot be had: {error}; {advice}") from error


def _ensure(
    engine: Engine, name: str, context: Callable[[], bytes], arguments: dict[str, str], tell: Callable[[str], None]
) -> str:
    image_id = engine.image_id(name)
    if image_id is None:
        engine.build(context(), name, arguments, tell)
        image_id = engine.image_id(name)
    assert image_id is not None
    return image_id
