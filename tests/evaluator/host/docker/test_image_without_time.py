"""The evaluator image's id and digest under engines that take our configuration and under one that does not."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable
from typing import Any

import pytest

from evaluator.host.docker import evaluator_image
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from scripts.commands import image as command
from scripts.console import OUR_FAULT, CommandError

BUILT = "sha256:" + "b" * 64
BASE = "python@sha256:" + "c" * 64


class Store(Engine):
    """An engine that builds one image; containerd's store refuses layers that it is not sent."""

    def __init__(
        self, *, created: str = "2026-01-02T03:04:05Z", wants_layers: bool = False, unstable_layers: bool = False
    ) -> None:
        self.created, self.wants_layers, self.unstable_layers = created, wants_layers, unstable_layers
        self.images: dict[str, str] = {}
        self.built: list[tuple[dict[str, str], bool]] = []

    def image_id(self, reference: str) -> str | None:
        return self.images.get(reference)

    def build(self, context: bytes, tag: str, arguments: dict[str, str], tell: Any, *, cached: bool = True) -> None:
        self.built.append((arguments, cached))
        self.images[tag] = BUILT

    def load(self, archive: Iterable[bytes], name: str, seconds: int) -> str:
        with tarfile.open(fileobj=io.BytesIO(b"".join(archive))) as tar:
            (listed,) = json.load(tar.extractfile("manifest.json"))  # type: ignore[arg-type]
            if self.wants_layers:
                raise EngineError("could not unpack the image: 0/layer.tar is missing")
            config = tar.extractfile(listed["Config"]).read()  # type: ignore[union-attr]
            assert set(tar.getnames()) == {"manifest.json", listed["Config"]}
        assert (listed["RepoTags"], len(listed["Layers"])) == ([name], len(json.loads(config)["rootfs"]["diff_ids"]))
        self.images[name] = "sha256:" + hashlib.sha256(config).hexdigest()
        return self.images[name]

    def inspect_image(self, reference: str) -> dict[str, Any]:
        if reference not in self.images:
            raise EngineError(f"could not look at image {reference}")
        top = len(self.built) if self.unstable_layers else 2
        return {
            "Id": self.images[reference], "Created": self.created, "Architecture": "amd64", "Os": "linux",
            "Config": {"User": "65534:65534", "Env": ["PATH=/bin"], "Cmd": None, "Hostname": "vm", "Image": BUILT},
            "RootFS": {"Type": "layers", "Layers": ["sha256:" + "1" * 64, f"sha256:{top:064}"]},
        }  # fmt: skip

    def remove_image(self, name: str) -> None:
        del self.images[name]


def test_an_image_has_the_same_id_whenever_it_is_built() -> None:
    early, late = Store(created="2026-01-02T03:04:05Z"), Store(created="2027-01-02T03:04:05Z")
    ids = [evaluator_image.ensure_evaluator_image(engine, BASE, lambda line: None) for engine in (early, late)]

    assert ids[0] == ids[1] == evaluator_image.image_digest(early, evaluator_image.image_tag("sha256:" + "c" * 64))
    assert early.built == [({"BASE_IMAGE": BASE}, True)]


def test_where_the_engine_wants_the_layers_the_image_stays_as_built_and_its_digest_is_the_same() -> None:
    lines: list[str] = []
    plain, other = Store(), Store(wants_layers=True)
    name = evaluator_image.image_tag("sha256:" + "c" * 64)

    assert evaluator_image.ensure_evaluator_image(other, BASE, lines.append) == BUILT
    assert [line.partition(":")[0] for line in lines] == ["the image's id holds the time of its build"]
    assert evaluator_image.image_digest(other, name) == evaluator_image.ensure_evaluator_image(plain, BASE, lines.append)


def test_a_rebuild_uses_nothing_of_earlier_builds_and_leaves_nothing() -> None:
    store = Store()
    usual = evaluator_image.ensure_evaluator_image(store, BASE, lambda line: None)
    kept = dict(store.images)

    assert evaluator_image.rebuilt_digest(store, BASE, lambda line: None) == usual
    assert store.built[1:] == [({"BASE_IMAGE": BASE}, False)]
    assert store.images == kept


@pytest.mark.parametrize("extras", ["", "grpc onnx"])
def test_the_command_says_whether_it_was_the_same(
    extras: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BASE_IMAGE", BASE)
    same, other = Store(), Store(unstable_layers=True)
    monkeypatch.setattr(command, "Engine", lambda: same)
    assert command.rebuild(extras) == 0
    assert capsys.readouterr().err.endswith("built again the same.\n")
    assert [arguments.get("EXTRAS", "") for arguments, _ in same.built] == [extras, extras]

    monkeypatch.setattr(command, "Engine", lambda: other)
    with pytest.raises(CommandError, match="and built again sha256:") as caught:
        command.rebuild(extras)
    assert caught.value.code == OUR_FAULT


def test_the_build_context_has_no_times_and_every_folder() -> None:
    with tarfile.open(fileobj=io.BytesIO(evaluator_image.build_archive(("onnx",)))) as tar:
        members = {member.name: member for member in tar}

    assert {member.mtime for member in members.values()} == {0}
    parents = {name.rpartition("/")[0] for name in members} - {""}
    assert all(members[parent].isdir() for parent in parents)
    assert {name for name in members if name.endswith(".txt")} == {
        "locks/opt/pullrank/requirements.txt", "extras/opt/pullrank/extra-onnx.txt",
    }  # fmt: skip
    assert "code/opt/pullrank/evaluator/wire.py" in members
