"""What makes a result stale: the protocol number, the packages that measure, the base image; and nothing else."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.host.digests import image_files
from evaluator.host.digests import runtime_digest as runtime
from evaluator.host.digests.image_files import ROOT
from evaluator.host.digests.runtime_digest import lock_digests, runtime_digest, with_extras
from evaluator.host.docker.evaluator_image import image_tag
from evaluator.model.config.submission import EXTRAS

BASE = "sha256:" + "0" * 64
# What the bytes of the locks, the Dockerfile and the sandbox gave at protocol 1.
BEFORE = {
    "process": "f57563ac2f47972eaaed0bf7a5c85395341ac7a538e3d4e9eab891d0cde06ab4",
    BASE: "45fd6500c3865a8eca2a810c2e900ed0be9e9d4c43379f177fd624d58f30763b",
}
LOCKS_BEFORE = {
    "torch": "70e8132742fe509db7ab6530e24ab874ab773f4cb12cae935b7b1d37d5fda9ee",
    "sb3": "e74b0e36b683517a1b559d7eecd25c242f4d5489fb50218846462ada198cab2d",
    "onnx": "e89ef0196b95c02d000b1f76a846ce51e4815e88240d1f970f1039f03cf8c575",
    "grpc": "5fba82786abfb839d9ffd2fde5dd4be4cf67deaaa71b66dac8bf7a666808ff69",
}


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files that an image and a digest are made of, to be edited."""
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copytree(ROOT / "evaluator", tmp_path / "evaluator", ignore=shutil.ignore_patterns("host", "__pycache__"))
    monkeypatch.setattr(runtime, "MEASUREMENT_VERSION", 1)
    monkeypatch.setattr(image_files, "ROOT", tmp_path)
    monkeypatch.setattr(image_files, "ROOT", tmp_path)
    lock_digests.cache_clear()
    yield tmp_path
    lock_digests.cache_clear()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def digests() -> dict[str, str]:
    return {base: runtime_digest(base) for base in BEFORE}


def test_protocol_1_with_its_packages_has_the_digests_of_its_first_results(copy: Path) -> None:
    assert digests() == BEFORE
    assert dict(lock_digests()) == LOCKS_BEFORE


@pytest.mark.parametrize("path", ["evaluator/sandbox/main.py", "evaluator/wire.py", "evaluator/Dockerfile"])
def test_another_word_in_the_sandbox_makes_no_result_stale_but_another_image(copy: Path, path: str) -> None:
    image = image_tag(BASE)
    (copy / path).write_text((copy / path).read_text() + "\n# One more word.\n")

    assert digests() == BEFORE
    assert image_tag(BASE) != image


@pytest.mark.parametrize("name", ["mkdocs-material", "pygithub", "rich", "typing-extensions", "jinja2", "cloudpickle"])
def test_another_version_of_what_does_not_measure_makes_no_result_stale(copy: Path, name: str) -> None:
    edit(copy / "requirements/runtime.txt", f"\n{name}==", f"\n{name}==99.")

    assert digests() == BEFORE


@pytest.mark.parametrize("name", ["numpy", "gymnasium", "box2d", "pettingzoo"])
def test_another_version_of_what_measures_makes_results_stale(copy: Path, name: str) -> None:
    pin = f"\n{name}[box2d]==" if name == "gymnasium" else f"\n{name}=="
    edit(copy / "requirements/runtime.txt", pin, f"{pin}99.")

    after = digests()
    assert not set(after.values()) & set(BEFORE.values())
    assert len(set(after.values())) == len(BEFORE), "the base image counts in the new form, too"
    edit(copy / "requirements/runtime.txt", f"{pin}99.", pin)
    assert digests() == BEFORE


def test_the_extras_that_a_lock_names_make_no_result_stale(copy: Path) -> None:
    edit(copy / "requirements/runtime.txt", "\ngymnasium[box2d]==", "\ngymnasium==")

    assert digests() == BEFORE


def test_a_package_that_a_host_adds_measures_until_somebody_says_that_it_does_not(copy: Path) -> None:
    lock = copy / "requirements/runtime.txt"
    lock.write_text(lock.read_text() + "minigrid==3.0.0 \\\n    --hash=sha256:00\n    # via -r requirements/runtime.in\n")

    assert not set(digests().values()) & set(BEFORE.values())


def test_the_agents_packages_count(copy: Path) -> None:
    edit(copy / "evaluator/requirements.txt", "\nnumpy==", "\nnumpy==99.")

    assert not set(digests().values()) & set(BEFORE.values())


def test_a_raised_protocol_makes_results_stale(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "MEASUREMENT_VERSION", 2)
    second = digests()
    monkeypatch.setattr(runtime, "MEASUREMENT_VERSION", 3)

    assert len({*BEFORE.values(), *second.values(), *digests().values()}) == 3 * len(BEFORE)
    lock_digests.cache_clear()
    assert not set(lock_digests().values()) & set(LOCKS_BEFORE.values())


@pytest.mark.parametrize("name", EXTRAS)
def test_an_extras_lock_counts_by_its_versions(copy: Path, name: str) -> None:
    path = copy / "evaluator/extras" / f"{name}.txt"
    path.write_text("# Another word.\n" + path.read_text())
    assert dict(lock_digests()) == LOCKS_BEFORE
    before = with_extras(BEFORE["process"], (name,))
    path.write_text(path.read_text().replace("==", "==99.", 1))
    lock_digests.cache_clear()

    assert [other for other, value in lock_digests().items() if value != LOCKS_BEFORE[other]] == [name]
    assert with_extras(BEFORE["process"], (name,)) != before


def test_the_packages_that_measure_are_few_and_the_named_others_exist() -> None:
    text = (ROOT / "requirements/runtime.txt").read_text()
    names = {line.partition("==")[0] for line in image_files.measuring(text)}

    assert names == {"box2d", "box2d-py", "gymnasium", "numpy", "pettingzoo", "pygame-ce", "swig"}
    # scipy measured nothing while it was there, and the names of protocol 1 are made with that.
    named = {line.partition("==")[0] for line in image_files.pins(text)}
    assert named | {"scipy"} >= image_files.NOT_MEASURING
