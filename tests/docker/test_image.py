"""The evaluator image: the same sources give the same name and the same files, and nothing of ours but two sources."""

import hashlib
import io
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest

from evaluator.host.digests.image_files import sandbox_sources
from evaluator.host.docker import evaluator_image
from evaluator.host.docker.engine import Engine
from tests.hostile.arena import base

pytestmark = pytest.mark.docker
# Written by the engine or the package manager at build time, with the time in them; no code is read from them.
UNSTABLE = ("var/log/", "var/cache/", "etc/resolv.conf", "etc/hostname", "etc/hosts", ".dockerenv", "dev/", "proc/", "sys/")


@pytest.fixture(scope="module")
def built(engine: Engine) -> str:
    return evaluator_image.ensure_evaluator_image(engine, base(), lambda line: None)


def test_same_sources_have_the_same_name(engine: Engine, built: str) -> None:
    identity = evaluator_image.base_identity(engine, base())

    assert evaluator_image.image_tag(identity) == evaluator_image.image_tag(identity)
    assert engine.image_id(evaluator_image.image_tag(identity)) == built
    assert evaluator_image.build_archive() == evaluator_image.build_archive()


def test_other_base_has_another_name() -> None:
    assert evaluator_image.image_tag("one") != evaluator_image.image_tag("two")


def exported(engine: Engine, reference: str) -> dict[str, str]:
    """Path to hash of every file of an image, by way of a container that never starts."""
    container = engine._api.create_container(reference, ["true"])["Id"]
    try:
        stream: Iterator[bytes] = engine._api.export(container)
        data = io.BytesIO(b"".join(stream))
    finally:
        engine._api.remove_container(container, force=True)
    with tarfile.open(fileobj=data) as tar:
        return {member.name: digest(tar, member) for member in tar if not member.name.startswith(UNSTABLE)}


@pytest.fixture(scope="module")
def files(engine: Engine, built: str) -> dict[str, str]:
    """Those of the image that every other test runs in."""
    return exported(engine, built)


def digest(tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    """What a reader would notice: kind, rights, target and bytes; never times."""
    file = tar.extractfile(member) if member.isfile() else None
    content = hashlib.sha256(file.read()).hexdigest() if file else member.linkname
    return f"{member.type!r} {member.mode:o} {member.uid}:{member.gid} {content}"


def test_building_again_gives_the_same_files(engine: Engine, files: dict[str, str]) -> None:
    tag = "pullrank-test-build:again"
    try:
        rebuild(engine, tag)
        again = exported(engine, tag)
    finally:
        if engine.image_id(tag):
            engine._api.remove_image(tag, force=True)

    assert {name for name in files.keys() | again.keys() if files.get(name) != again.get(name)} == set()


def rebuild(engine: Engine, tag: str) -> None:
    """Build without the engine's cache."""
    stream: Any = engine._api.build(
        fileobj=io.BytesIO(evaluator_image.build_archive()), custom_context=True, tag=tag, buildargs={"BASE_IMAGE": base()},
        rm=True, forcerm=True, network_mode="host", nocache=True, decode=True,
    )  # fmt: skip
    faults = [event["error"] for event in stream if "error" in event]
    assert faults == []


def test_image_holds_nothing_of_ours_but_the_untrusted_side(files: dict[str, str]) -> None:
    ours = {name for name in files if name.startswith("opt/pullrank/") and name.endswith(".py")}
    assert ours == {f"opt/pullrank/{path}" for path in sandbox_sources()}
    assert {path.split("/")[1] for path in sandbox_sources()} == {"__init__.py", "wire.py", "sandbox"}
    words = ("referee", "challenge.yml", "beacon", "leaderboard", "pullrank/evaluator/host")
    assert [name for name in files if any(word in name for word in words)] == []


def test_image_runs_unprivileged(engine: Engine, built: str) -> None:
    config = engine._api.inspect_image(built)["Config"]

    assert config["User"] == "65534:65534"
    assert not config.get("ExposedPorts")
    assert not config.get("Volumes")
