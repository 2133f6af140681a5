"""What makes a result stale: the measurement version, the packages that measure, the base image; and nothing else."""

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

BASES = ("process", "sha256:" + "0" * 64)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files that an image and a digest are made of, to be edited."""
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copytree(ROOT / "evaluator", tmp_path / "evaluator", ignore=shutil.ignore_patterns("host", "__pycache__"))
    monkeypatch.setattr(image_files, "ROOT", tmp_path)
    lock_digests.cache_clear()
    yield tmp_path
    lock_digests.cache_clear()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def digests() -> dict[str, str]:
    return {base: runtime_digest(base) for base in BASES}


# Of this checkout, before anything is edited.
BEFORE = digests()


def test_the_base_image_counts() -> None:
    assert len(set(BEFORE.values())) == len(BASES)


@pytest.mark.parametrize("path", ["evaluator/sandbox/main.py", "evaluator/wire.py", "evaluator/Dockerfile"])
def test_another_word_in_the_sandbox_makes_no_result_stale_but_another_image(copy: Path, path: str) -> None:
    image = image_tag(BASES[1])
    (copy / path).write_text((copy / path).read_text() + "\n# One more word.\n")

    assert digests() == BEFORE
    assert image_tag(BASES[1]) != image


@pytest.mark.parametrize("name", ["mkdocs-material", "pygithub", "rich", "typing-extensions", "jinja2", "cloudpickle"])
def test_another_version_of_what_does_not_measure_makes_no_result_stale(copy: Path, name: str) -> None:
    edit(copy / "requirements/runtime.txt", f"\n{name}==", f"\n{name}==99.")

    assert digests() == BEFORE


@pytest.mark.parametrize("name", ["numpy", "gymnasium", "box2d", "pettingzoo"])
def test_another_version_of_what_measures_makes_results_stale(copy: Path, name: str) -> None:
    pin = f"\n{name}[box2d]==" if name == "gymnasium" else f"\n{name}=="
    edit(copy / "requirements/runtime.txt", pin, f"{pin}99.")

    assert not set(digests().values()) & set(BEFORE.values())
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


def test_a_raised_measurement_version_makes_results_stale(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "MEASUREMENT_VERSION", runtime.MEASUREMENT_VERSION + 1)

    assert not set(digests().values()) & set(BEFORE.values())


@pytest.mark.parametrize("name", EXTRAS)
def test_an_extras_lock_counts_by_its_versions(copy: Path, name: str) -> None:
    locks = dict(lock_digests())
    path = copy / "evaluator/extras" / f"{name}.txt"
    path.write_text("# Another word.\n" + path.read_text())
    lock_digests.cache_clear()
    assert dict(lock_digests()) == locks
    before = with_extras(BEFORE["process"], (name,))
    path.write_text(path.read_text().replace("==", "==99.", 1))
    lock_digests.cache_clear()

    assert [other for other, value in lock_digests().items() if value != locks[other]] == [name]
    assert with_extras(BEFORE["process"], (name,)) != before


def test_the_packages_that_measure_are_few_and_the_named_others_exist() -> None:
    text = (ROOT / "requirements/runtime.txt").read_text()
    names = {line.partition("==")[0] for line in image_files.measuring_pins(text)}

    assert names == {"box2d", "box2d-py", "gymnasium", "numpy", "pettingzoo", "pygame-ce", "swig"}
    # scipy measured nothing while it was there, and the digests of today are made with that.
    named = {line.partition("==")[0] for line in image_files.pins(text)}
    assert named | {"scipy"} >= image_files.NOT_MEASURING
