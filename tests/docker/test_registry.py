"""The evaluator image goes to a registry once, by a name that its sources give it, and comes back by digest."""

import io
import json
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from scripts.commands import image as command
from scripts.console import CommandError
from tests.docker.registry import Registry

pytestmark = pytest.mark.docker


@pytest.fixture
def registry() -> Iterator[Registry]:
    made = Registry()
    yield made
    made.close()


@pytest.fixture
def small(engine: Engine) -> Iterator[str]:
    """An image of one small file, instead of the evaluator's hundreds of megabytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        member = tarfile.TarInfo("hello")
        member.size = 5
        tar.addfile(member, io.BytesIO(b"hello"))
    name = f"pullrank-test:{uuid.uuid4().hex[:16]}"
    client = docker.from_env()
    client.api.import_image_from_data(buffer.getvalue(), repository="pullrank-test", tag=name.partition(":")[2])
    yield name
    client.images.remove(client.images.get(name).id, force=True)  # under all its names
    client.close()


def test_pushed_and_pulled_by_digest_it_is_the_same_image(engine: Engine, registry: Registry, small: str) -> None:
    target = f"{registry.address}/host/board/evaluator:{small.partition(':')[2]}"
    digest = engine.push(small, target, None)

    assert digest in registry.manifests
    assert engine.pull(f"{target.rpartition(':')[0]}@{digest}", "pullrank-test:again", None) == digest
    assert engine.image_id("pullrank-test:again") == engine.image_id(small)


def test_what_the_registry_does_not_have_cannot_be_fetched(engine: Engine, registry: Registry) -> None:
    with pytest.raises(EngineError, match="could not fetch"):
        engine.pull(f"{registry.address}/nobody/nothing:x", "pullrank-test:never", None)


def test_a_registry_that_is_not_there_is_named(engine: Engine, small: str) -> None:
    with pytest.raises(EngineError, match="could not push"):
        engine.push(small, "127.0.0.1:9/nobody/nothing:x", None)


def test_publish_hands_on_the_digest_and_pushes_once(
    engine: Engine, registry: Registry, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.host.docker.evaluator_image.image_tag", lambda base, extras=(): small)
    place = f"{registry.address}/Host/Board/evaluator"
    outputs = []
    for number in range(2):
        output = tmp_path / str(number)
        assert command.publish(place, output=output) == 0
        outputs.append({k: json.loads(v) for k, v in (line.split("=", 1) for line in output.read_text().splitlines())})

    first, second = outputs
    assert (first["pushed"], second["pushed"]) == (True, False)
    assert first["image"] == second["image"] == f"{place.lower()}@{first['digest']}"


def test_ensure_is_content_with_what_is_here(engine: Engine, registry: Registry) -> None:
    assert command.ensure(f"{registry.address}/host/board/evaluator") == 0
    assert registry.asked == []


def test_ensure_fetches_what_is_not_here(
    engine: Engine, registry: Registry, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = f"{registry.address}/host/board/evaluator"
    digest = engine.push(small, f"{target}:x", None)
    monkeypatch.setattr("evaluator.host.docker.evaluator_image.image_tag", lambda base, extras=(): "pullrank-test:fetched")

    assert command.ensure(f"{target}@{digest}") == 0
    assert engine.image_id("pullrank-test:fetched") == engine.image_id(small)


def test_pull_takes_the_registrys_image_or_says_who_puts_it_there(
    engine: Engine, registry: Registry, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = f"{registry.address}/host/board/evaluator"
    monkeypatch.setattr("evaluator.host.docker.evaluator_image.image_tag", lambda base, extras=(): small)
    with pytest.raises(CommandError, match="run the workflow 'image' on main"):
        command.pull(target, output=tmp_path / "output")
    assert not (tmp_path / "output").exists()

    digest = engine.push(small, f"{target}:{small.rpartition(':')[2]}", None)
    assert command.pull(target, output=tmp_path / "output") == 0
    assert (tmp_path / "output").read_text() == f'image="{target}@{digest}"\nname="{target}"\ndigest="{digest}"\n'


def test_publish_without_a_registry_says_what_follows(engine: Engine) -> None:
    with pytest.raises(CommandError, match="builds the image itself"):
        command.publish("127.0.0.1:9/host/board/evaluator")
