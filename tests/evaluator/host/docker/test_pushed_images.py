"""What `image publish` reads of the engine, where its images lie in the old store and in containerd's.

The answers are real ones, of the engines that tests/docker/engine_answers.json names. With containerd's store `Id` is the
digest of the manifest or index, `RepoDigests` holds it for every name that the image has, local ones included, and a push
tells its digest by a line of text alone; where an index names more than lies here, it is not the one in `RepoDigests`.
"""

import json
import os
from typing import Any

import pytest

from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from tests.docker.engine_answers import ANSWERS, REGISTRY

ENGINES: list[dict[str, Any]] = json.loads(ANSWERS.read_text(encoding="utf-8"))
NAMES = [f"{one['version']} {one['store']}" for one in ENGINES]
LOCAL = "pullrank-evaluator:0123456789abcdef"
FETCHED, PUSHED = ("fetch", "fetch by digest", "fetch an index"), ("push", "push of an index")


class Recorded:
    """The engine's API, answering what was written down."""

    def __init__(self, image: dict[str, Any], pushed: list[dict[str, Any]]) -> None:
        self.image, self.pushed = image, pushed
        self.tags: list[tuple[str, str, str]] = []

    def pull(self, *_: Any, **__: Any) -> str:
        return ""

    def tag(self, image: str, repository: str, tag: str) -> None:
        self.tags.append((image, repository, tag))

    def inspect_image(self, _: str) -> dict[str, Any]:
        return self.image

    def push(self, *_: Any, **__: Any) -> Any:
        return iter(self.pushed)


def engine(image: dict[str, Any], pushed: list[dict[str, Any]]) -> Engine:
    made = Engine.__new__(Engine)
    made._of_thread = type("Thread", (), {"client": (os.getpid(), Recorded(image, pushed))})()  # type: ignore[assignment]
    return made


def case(one: dict[str, Any], name: str) -> dict[str, Any]:
    kept: dict[str, Any] = one["cases"][name]
    return kept


def test_answers_of_both_stores_are_there() -> None:
    stores = {one["store"] for one in ENGINES if one["version"] >= "28"}

    assert stores == {"overlay2", "overlayfs"}
    assert {one["version"].partition(".")[0] for one in ENGINES} >= {"20", "28"}
    assert all(set(one["cases"]) == {*FETCHED, *PUSHED, "push to nobody"} for one in ENGINES)


@pytest.mark.parametrize("name", FETCHED)
@pytest.mark.parametrize("one", ENGINES, ids=NAMES)
def test_the_digest_of_a_fetched_image_is_the_registrys(one: dict[str, Any], name: str) -> None:
    kept = case(one, name)

    assert engine(kept["inspected"][-1], []).pull(kept["reference"], LOCAL, None) == kept["registry"]


@pytest.mark.parametrize("one", ENGINES, ids=NAMES)
def test_of_several_names_the_references_own_is_read(one: dict[str, Any]) -> None:
    kept, other = case(one, "fetch"), "sha256:" + "c" * 64
    image = dict(kept["inspected"][-1])
    image["RepoDigests"] = [f"{REGISTRY}/another@{other}", f"registry.example@{other}", *image["RepoDigests"]]

    assert engine(image, []).pull(kept["reference"], LOCAL, None) == kept["registry"]


def test_an_image_that_the_registry_does_not_know_by_digest_has_none() -> None:
    kept = case(ENGINES[-1], "fetch")
    local = [each for each in kept["inspected"][-1]["RepoDigests"] if not each.startswith(REGISTRY)]

    with pytest.raises(EngineError, match="no digest"):
        engine({**kept["inspected"][-1], "RepoDigests": local}, []).pull(kept["reference"], LOCAL, None)


@pytest.mark.parametrize("name", PUSHED)
@pytest.mark.parametrize("one", ENGINES, ids=NAMES)
def test_the_digest_of_a_pushed_image_is_what_the_registry_has(one: dict[str, Any], name: str) -> None:
    kept = case(one, name)

    assert engine({}, kept["pushed"]).push(LOCAL, kept["reference"], None) == kept["registry"]


@pytest.mark.parametrize("one", ENGINES, ids=NAMES)
def test_a_push_that_failed_says_what_the_engine_said(one: dict[str, Any]) -> None:
    kept = case(one, "push to nobody")

    with pytest.raises(EngineError, match=r"could not push 127\.0\.0\.1:1/.*refused"):
        engine({}, kept["pushed"]).push(LOCAL, kept["reference"], None)


def test_a_digest_does_not_make_a_refused_push_good() -> None:
    pushed = [*case(ENGINES[-1], "push")["pushed"], {"error": "denied"}]

    with pytest.raises(EngineError, match="denied"):
        engine({}, pushed).push(LOCAL, f"{REGISTRY}/board/evaluator:1", None)


def test_a_push_without_a_digest_is_an_error() -> None:
    with pytest.raises(EngineError, match="no digest"):
        engine({}, [{"status": "The push refers to repository [ghcr.io/host/board/evaluator]"}]).push(LOCAL, LOCAL, None)
