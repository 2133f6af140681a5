"""Which code of a host's own a task is measured by, and what that does to the task's digest."""

import hashlib
import shutil
from pathlib import Path

import pytest

from evaluator.host.digests import image_files
from evaluator.host.digests.image_files import ROOT
from evaluator.host.digests.local_code import SHIPPED, local_code_of
from evaluator.host.loading.yaml_loader import LoadError, parse_challenge, read_challenge
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.metric import Metric
from evaluator.model.config.task import Task

# As they were when results did not yet depend on sources; a prefix tells them apart.
BEFORE = {
    "CartPole-v1": "3e4b479dc6a8", "MountainCar-v0": "ced9a35c2829", "Acrobot-v1": "cab0d269aa82",
    "Pendulum-v1": "0b13f70b3ecd", "FrozenLake-v1": "71ae706d602b", "Taxi-v4": "7480e410f80d",
    "LunarLander-v3": "41f250fabcf0", "BipedalWalker-v3": "8704d64f4877", "FrozenLake-v1-from-scratch": "02f2efe7ffc2",
    "Taxi-v4-from-scratch": "6871ffa66c37", "CartPole-v1-from-scratch": "d3bfc6220539", "tictactoe": "ff5d4d722340",
    "connect_four": "4674f8b50258", "quarto": "a2a5fa3e7a85", "rock_paper_scissors": "4b6a84c93b92",
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that modules are imported from."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def write(folder: Path, **sources: str) -> None:
    """Modules by their names, with `__` for the dots; `mine__init` is the source of the package `mine` itself."""
    for name, source in sources.items():
        *outer, last = name.split("__")
        path = folder.joinpath(*outer, ("__init__" if last == "init" else last) + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)


def parts(task: Task) -> tuple[str, ...]:
    code = local_code_of(task)
    return code.parts if code else ()


def test_tasks_without_own_code_keep_their_digests() -> None:
    tasks = read_challenge(ROOT / "challenge.yml").tasks

    assert {task.id: task.digest()[:12] for task in tasks} == BEFORE
    assert all(task.code is None for task in tasks)


@pytest.mark.parametrize("name", ["mujoco", "atari", "chess"])
def test_the_lists_of_tasks_to_copy_keep_theirs(name: str) -> None:
    text = (ROOT / "evaluator" / "environments" / f"{name}.yml").read_text()
    start = text.index("tasks:")
    challenge = parse_challenge(b"title: T\nseason: s\n" + text[start:].encode())

    assert challenge.tasks
    assert all(task.code is None for task in challenge.tasks)


@pytest.mark.parametrize("module", SHIPPED)
def test_what_comes_with_the_project_is_as_the_measurement_version_vouches_for_it(module: str) -> None:
    source = (ROOT / (module.replace(".", "/") + ".py")).read_bytes()

    assert hashlib.sha256(source).hexdigest() == SHIPPED[module], (
        f"{module} was edited: where the conformance suite passes as it is, write the new hash into SHIPPED; where it does "
        "not, also raise MEASUREMENT_VERSION and record the suite anew"
    )


def test_a_host_who_edits_what_comes_with_the_project_has_code_of_his_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHIPPED, "evaluator.environments.quarto", "0" * 64)

    assert parts(Task(id="q", game="evaluator.environments.quarto")) == ("evaluator.environments.quarto",)


def test_imports_are_followed_in_every_form_and_no_further_than_the_repository(here: Path) -> None:
    write(
        here,
        mine__init="from . import first",
        mine__first="import json, gymnasium\nfrom .second import Thing\nif json:\n    import absent_here",
        mine__second="def late():\n    from .third import x\n    import evaluator.host.envs.gym_task, scripts.cli",
        mine__third="import importlib\nx = importlib.import_module('.fourth', __package__)\ny = __import__('alone')",
        mine__fourth="NAME = 'mine.fifth:Class'",
        mine__fifth="import mine.first  # a circle",
        mine__unused="1",
        alone="import numpy, rich.console",
        other="1",
    )
    names = parts(Task(id="t", env="mine.first:Some-v0"))

    modules = ("alone", "mine", "mine.fifth", "mine.first", "mine.fourth", "mine.second", "mine.third")
    assert names[:-1] == modules
    assert names[-1].startswith("rich==")


def test_folders_without_an_init_are_followed_too(here: Path) -> None:
    write(here, plain__inner__env="from plain.inner import helper", plain__inner__helper="1")

    assert parts(Task(id="t", env="plain.inner.env:Some-v0")) == ("plain.inner.env", "plain.inner.helper")


def test_data_beside_a_hosts_module_among_the_environments_counts(here: Path) -> None:
    """Else another map of a maze makes no other task, and what was earned on an easier one goes on ranking beside it."""
    write(here, evaluator__init="", evaluator__environments__init="", evaluator__environments__inner__init="")
    write(here, evaluator__environments__maze="1")
    folder = here / "evaluator" / "environments"
    for name in ("maze.txt", "maps/one.txt", "atari.yml", "inner/other.txt", ".hidden"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("#..")
    task = Task(id="t", env="evaluator.environments.maze:Some-v0")
    before = local_code_of(task)

    (folder / "maze.txt").write_text("...")
    after = local_code_of(task)

    assert before is not None
    assert after is not None
    data = ("evaluator.environments/maps/one.txt", "evaluator.environments/maze.txt")
    assert before.parts == ("evaluator.environments.maze", *data)
    assert before.digest != after.digest


def test_data_in_a_folder_without_an_init_counts(here: Path) -> None:
    write(here, plain__env="1", plain__inner__init="")
    for name in ("plain/map.txt", "plain/inner/other.txt"):
        (here / name).write_text("#..")

    assert parts(Task(id="t", env="plain.env:Some-v0")) == ("plain.env", "plain/map.txt")


def test_a_source_that_is_no_python_counts_by_its_bytes(here: Path) -> None:
    write(here, broken="def (")

    assert parts(Task(id="t", env="broken:Some-v0")) == ("broken",)


def test_a_module_that_is_nowhere_or_installed_is_no_code_of_the_hosts() -> None:
    assert local_code_of(Task(id="t", env="nowhere.at_all:Some-v0")) is None
    assert local_code_of(Task(id="t", env="gymnasium.envs.classic_control:Some-v0")) is None
    assert local_code_of(Task(id="t", game="pettingzoo.classic.tictactoe_v3")) is None
    assert local_code_of(Task(id="t", env="../..:Some-v0", game=None, kwargs={"a": "..tests.evaluations:X"})) is None


def test_code_is_never_imported_to_be_looked_up(here: Path) -> None:
    write(here, deep__init="raise SystemExit('imported')", deep__env="raise SystemExit('imported')")

    assert parts(Task(id="t", env="deep.env:Some-v0")) == ("deep", "deep.env")


def test_metrics_and_arguments_name_code_too(here: Path) -> None:
    write(here, counts="1", wrapped="1")
    metrics = (Metric(name="M", kind="counts:share", direction="higher"),)
    task = Task(id="CartPole-v1", kwargs={"inner": [{"maker": "wrapped:make", "note": "no: module"}]}, metrics=metrics)

    assert parts(task) == ("counts", "wrapped")


def test_own_code_is_part_of_the_digest_and_code_before_names_what_is_not(here: Path) -> None:
    write(here, world="A = 1")
    text = "title: T\nseason: s\ntasks:\n  - id: t\n    env: world:Some-v0\n"
    task = parse_challenge(text.encode()).tasks[0]
    plain = Task(id="t", env="world:Some-v0")
    assert task.code is not None
    assert task.digest() != plain.digest()

    vouched = f"{text}    code_before: {task.code}\n".encode()
    assert parse_challenge(vouched).tasks[0].digest() == plain.digest()
    write(here, world="A = 2")
    changed = parse_challenge(vouched).tasks[0].digest()
    assert changed not in (plain.digest(), task.digest())
    assert changed == parse_challenge(text.encode()).tasks[0].digest()


def test_no_document_can_name_the_code() -> None:
    with pytest.raises(LoadError, match="code"):
        parse_challenge(b"title: T\nseason: s\ntasks: [{id: t, code: " + b"0" * 64 + b"}]\n")


def test_code_that_cannot_be_read_is_told_in_one_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, hidden="1")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(LoadError) as raised:
        parse_challenge(b"title: T\nseason: s\ntasks: [{id: t, env: 'hidden:Some-v0'}]\n")
    why = "cannot be read (Permission denied), but a task of challenge.yml is measured by it; make it readable"
    assert raised.value.lines == (f"{here}/hidden.py: {why}",)


def test_other_versions_of_an_extra_are_another_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copytree(ROOT / "evaluator", tmp_path / "evaluator", ignore=shutil.ignore_patterns("*.py", "host", "__pycache__"))
    monkeypatch.setattr(image_files, "ROOT", tmp_path)
    tasks = [Task(id="HalfCheetah-v5", extra="mujoco"), Task(id="CartPole-v1")]
    path = tmp_path / "requirements" / "mujoco.txt"
    path.write_text(path.read_text().replace("\nimageio==", "\nimageio==99."))
    assert [local_code_of(task) for task in tasks] == [None, None]
    path.write_text(path.read_text().replace("\nmujoco==", "\nmujoco==99."))

    assert [parts(task) for task in tasks] == [("mujoco==99.4.0.0",), ()]
    assert local_code_of(Task(id="x", extra="../runtime")) is None


@pytest.mark.parametrize(
    ("imported", "package"),
    [("cv2", "opencv-python-headless"), ("sklearn", "scikit-learn"), ("skimage.draw", "scikit-image"), ("PIL", "pillow")],
)
def test_a_package_that_is_imported_by_another_name_counts(
    here: Path, monkeypatch: pytest.MonkeyPatch, imported: str, package: str
) -> None:
    shutil.copytree(ROOT / "requirements", here / "requirements")
    shutil.copytree(ROOT / "evaluator", here / "evaluator", ignore=shutil.ignore_patterns("*.py", "host", "__pycache__"))
    monkeypatch.setattr(image_files, "ROOT", here)
    lock = here / "requirements" / "zz-own.txt"
    lock.write_text(f"{package}==98.1 \\\n    --hash=sha256:{'0' * 64}\n")
    write(here, sees=f"import {imported}")

    assert f"{package}==98.1" in parts(Task(id="t", env="sees:Some-v0"))


def test_a_copied_challenge_keeps_the_code_of_its_tasks(here: Path) -> None:
    write(here, world="A = 1")
    challenge = parse_challenge(b"title: T\nseason: s\ntasks: [{id: t, env: 'world:Some-v0', description: D}]\n")
    task = challenge.tasks[0].model_copy(update={"description": "other"})

    assert task.digest() == challenge.tasks[0].digest() != Task(id="t", env="world:Some-v0").digest()
    assert Challenge(title="U", season="s", tasks=(task,)).tasks[0].code == task.code


@pytest.mark.parametrize(
    "source",
    [
        "import importlib\nimportlib.import_module(name='rewards')\n",
        "from importlib import import_module as load\nload('rewards')\n",
        "import runpy\nrunpy.run_module(mod_name='rewards')\n",
        "from shaping import *\n",
    ],
    ids=["keyword", "alias", "runpy", "star"],
)
def test_a_module_that_is_named_in_plain_text_counts_however_it_is_imported(here: Path, source: str) -> None:
    write(here, mine=source, rewards="SCALE = 1\n", shaping__init="__all__ = ['rewards']\n", shaping__rewards="SCALE = 1\n")
    task = Task(id="t", env="mine:Mine-v0")
    before = local_code_of(task)
    write(here, rewards="SCALE = 2\n", shaping__rewards="SCALE = 2\n")

    assert local_code_of(task) != before
