"""The actions of the tests refuse and lay out as the real ones do."""

from pathlib import Path
from typing import Any

import pytest

from scripts.github.official.check_shards import HASH_LISTS, write_hash_lists
from tests.github.world import WorkflowRun, World
from tests.workflows.actions import Actions
from tests.workflows.remote import Remote
from tests.workflows.runner import Machine, StepFailedError

RUN = 7


@pytest.fixture
def actions(tmp_path: Path) -> Actions:
    world = World()
    world.runs[RUN] = WorkflowRun(RUN, "a" * 40)
    return Actions(Remote(tmp_path / "remote"), world, tmp_path)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(workspace=tmp_path, temp=tmp_path, github={"run_id": RUN, "job": "attest"}, matrix={})


def uploaded(actions: Actions, machine: Machine, *names: str) -> list[str]:
    """Artifacts of one file each, named as they are; returns their numbers."""
    for name in names:
        place = machine.temp / "from" / name
        place.mkdir(parents=True)
        (place / f"{name}.txt").write_text(name)
    inputs = [{"name": name, "path": str(machine.temp / "from" / name)} for name in names]
    return [actions.upload(machine, one)["artifact-id"] for one in inputs]


def laid_out(actions: Actions, machine: Machine, **inputs: Any) -> list[str]:
    place = machine.temp / "to"
    actions.download(machine, {"path": str(place), **{key.replace("_", "-"): value for key, value in inputs.items()}})
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


def test_the_only_artifact_of_a_pattern_is_unpacked_straight_and_two_get_folders(actions: Actions, machine: Machine) -> None:
    uploaded(actions, machine, "shard-0", "other")
    assert laid_out(actions, machine, pattern="shard*") == ["shard-0.txt"]

    uploaded(actions, machine, "shards")
    assert laid_out(actions, machine, pattern="shard*") == ["shard-0.txt", "shard-0/shard-0.txt", "shards/shards.txt"]


def test_no_artifact_of_a_pattern_is_no_error_and_one_of_a_name_or_number_is(actions: Actions, machine: Machine) -> None:
    assert laid_out(actions, machine, pattern="shard*") == []
    for inputs in ({"name": "shard-0"}, {"artifact_ids": "1"}):
        with pytest.raises(StepFailedError, match="not found"):
            laid_out(actions, machine, **inputs)


def test_by_number_and_merged_there_are_no_folders(actions: Actions, machine: Machine) -> None:
    numbers = uploaded(actions, machine, "a", "b")
    assert laid_out(actions, machine, artifact_ids=numbers[1]) == ["b.txt"]
    assert laid_out(actions, machine, pattern="*", merge_multiple=True) == ["a.txt", "b.txt"]


def test_more_subjects_than_can_be_attested_are_refused_and_our_lists_are_not(actions: Actions, machine: Machine) -> None:
    paths = [machine.temp / "results" / f"{number}.json" for number in range(2050)]
    (machine.temp / "results").mkdir()
    for path in paths:
        path.write_text(path.name)
    assert write_hash_lists(paths, machine.temp) == 3
    lists = sorted((machine.temp / HASH_LISTS).iterdir())
    for path in lists:
        actions.attest(machine, {"subject-checksums": str(path)})
    (machine.temp / "all").write_text("".join(path.read_text() for path in lists))

    assert sum(len(inputs["content"].splitlines()) for _, inputs in actions.attested) == 2050
    with pytest.raises(StepFailedError, match=r"Too many subjects specified \(>1024\)"):
        actions.attest(machine, {"subject-checksums": str(machine.temp / "all")})
    with pytest.raises(StepFailedError, match="Could not find"):
        actions.attest(machine, {"subject-checksums": str(machine.temp / "none")})
