"""The evaluator image: the same sources give the same name and the same id, and nothing of ours but two sources."""

import pytest

from evaluator.host.digests.image_files import sandbox_sources
from evaluator.host.docker import evaluator_image
from evaluator.host.docker.engine import Engine
from tests.hostile.arena import base

pytestmark = pytest.mark.docker


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


@pytest.fixture(scope="module")
def files(engine: Engine, built: str) -> set[str]:
    """Those of the image that every other test runs in."""
    with engine.exported(built) as tar:
        return {member.name for member in tar}


def test_building_again_gives_the_same_image_to_the_last_byte(engine: Engine, built: str) -> None:
    """Its id is a hash over its configuration and its layers, with all rights and times."""
    assert evaluator_image.rebuilt_digest(engine, base(), lambda line: None) == built
    assert evaluator_image.image_digest(engine, built) == built
    assert engine.stored("pullrank-evaluator-rebuilt") == []


def test_image_holds_nothing_of_ours_but_the_untrusted_side(files: set[str]) -> None:
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
