"""The actions as they are: pins against recorded facts, our inputs against theirs, and the stand-ins against their rules."""

import io
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.github.world import WorkflowRun, World
from tests.needs import lacking
from tests.workflows.actions import Actions
from tests.workflows.facts import Pin, described, differences, digest, facts, ours
from tests.workflows.files import FILES, NAMES, ROOT, read, steps
from tests.workflows.remote import Remote, git
from tests.workflows.runner import Machine, StepFailedError

USED = [
    (f"{name}/{job}", step["uses"].partition("@")[0], step.get("with") or {}, step.get("id"))
    for name in NAMES
    for job, step in steps(name)
    if "uses" in step
]
OUTPUT = re.compile(r"steps\.([\w-]+)\.outputs\.([\w-]+)")


@pytest.fixture(scope="module")
def folder() -> Path:
    """The actions as folders, each under its name."""
    place = os.environ.get("PULLRANK_ACTIONS")
    return Path(place) if place else lacking("the pinned actions as folders: PULLRANK_ACTIONS names none", "ACT")


def test_every_pin_is_the_one_that_the_facts_are_of() -> None:
    assert len(ours()) == len(facts()) == 7
    assert differences(ours(), facts()) == []


def test_a_pin_without_new_facts_is_named() -> None:
    pin = Pin("actions/checkout", "0" * 40, "v8.0.0")

    (line,) = differences({pin}, facts())
    assert line.startswith(f"actions/checkout@{'0' * 40} # v8.0.0 is pinned, but facts.json is of 3d3c42e5")
    assert len(differences({Pin("actions/cache", "0" * 40, "v5")}, facts())) == 1
    assert len(differences({Pin("actions/checkout", facts()["actions/checkout"]["commit"], "v6")}, facts())) == 1


def test_an_action_uses_no_action_that_we_do_not_pin() -> None:
    nested = {one for known in facts().values() for one in known["uses"]}

    assert nested == {f"actions/upload-artifact@{facts()['actions/upload-artifact']['commit']}"}


@pytest.mark.parametrize(("where", "action", "given", "identity"), USED, ids=[f"{one[0]}-{one[1]}" for one in USED])
def test_an_action_gets_inputs_that_it_has(where: str, action: str, given: dict[str, Any], identity: str | None) -> None:
    known = facts()[action]

    assert set(given) <= set(known["inputs"]), f"{where}: {action} has no such input"
    assert set(known["required"]) <= set(given), f"{where}: {action} needs more"


def test_what_is_asked_of_an_actions_outputs_is_among_them() -> None:
    asked = set()
    for path in FILES:
        of = {
            step["id"]: step["uses"].partition("@")[0]
            for job in read(path)["jobs"].values()
            for step in job.get("steps", [])
            if "uses" in step and "id" in step
        }
        asked |= {(of[one[1]], one[2]) for one in OUTPUT.finditer(path.read_text()) if one[1] in of}

    assert ("actions/deploy-pages", "page_url") in asked
    assert all(name in facts()[action]["outputs"] for action, name in asked)


def test_the_facts_are_of_the_actions_files(folder: Path) -> None:
    for action, known in facts().items():
        content = (folder / action.partition("/")[2] / "action.yml").read_bytes()
        assert digest(content) == known["sha256"], action
        text = content.decode()
        assert described(text) == {name: known[name] for name in described(text)}, action


def test_the_actions_files_say_the_rules(folder: Path) -> None:
    for action, known in facts().items():
        for name, rule in known["rules"].items():
            place = folder / action.partition("/")[2]
            there = {file: at for file, at in rule["places"].items() if (place / file).is_file()}
            for file, at in there.items():
                content = (place / file).read_bytes()
                assert at["text"].encode() in content, f"{action}: {file} does not say the rule {name}"
                # What runs may have been built anew from the sources; the sources are the commit's.
                assert file.startswith("dist/") or digest(content) == at["sha256"], f"{action}: {file}"


def test_every_rule_is_tied_to_a_file_of_the_commit() -> None:
    rules = {(action, name): rule for action, known in facts().items() for name, rule in known["rules"].items()}

    assert {name for _, name in rules} >= {"single-artifact", "subjects", "all-history"}
    assert all(any("sha256" in at for at in rule["places"].values()) for rule in rules.values())


# The stand-ins


@pytest.fixture
def stand_in(tmp_path: Path) -> Actions:
    remote = Remote(tmp_path)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("a\n")
    remote.start(tmp_path / "files")
    world = World()
    world.runs[1] = WorkflowRun(id=1, head_sha="a" * 40)
    return Actions(remote, world, tmp_path)


@pytest.fixture
def machine(tmp_path: Path, stand_in: Actions) -> Machine:
    (tmp_path / "job").mkdir()
    github = {"run_id": 1, "sha": stand_in.remote.tip(), "job": "one"}
    return Machine(workspace=tmp_path / "job", temp=tmp_path, github=github, matrix={})


def put(stand_in: Actions, *names: str) -> None:
    for name in names:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as packed:
            packed.writestr("results/one.json", name)
        stand_in.world.runs[1].artifacts[name] = buffer.getvalue()


def unpacked(stand_in: Actions, machine: Machine) -> list[str]:
    place = machine.temp / "shards"
    stand_in.table()["actions/download-artifact"](machine, {"pattern": "shard-*", "path": str(place)})
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


def test_a_stand_in_for_every_action_and_no_other() -> None:
    assert set(Actions(None, World(), Path()).table()) == set(facts())  # type: ignore[arg-type]


def test_single_artifact_is_unpacked_straight_into_the_path(stand_in: Actions, machine: Machine) -> None:
    assert "single-artifact" in facts()["actions/download-artifact"]["rules"]
    put(stand_in, "shard-3", "other")

    assert unpacked(stand_in, machine) == ["results/one.json"]


def test_several_artifacts_get_a_folder_each(stand_in: Actions, machine: Machine) -> None:
    put(stand_in, "shard-0", "shard-1", "other")

    assert unpacked(stand_in, machine) == ["shard-0/results/one.json", "shard-1/results/one.json"]


def test_a_pattern_that_matches_nothing_is_no_error(stand_in: Actions, machine: Machine) -> None:
    assert "nothing-matched" in facts()["actions/download-artifact"]["rules"]
    put(stand_in, "other")

    assert unpacked(stand_in, machine) == []


def test_hidden_files_and_folders_are_not_uploaded(stand_in: Actions, machine: Machine) -> None:
    assert facts()["actions/upload-artifact"]["inputs"]["include-hidden-files"] == "false"
    place = machine.workspace / "out"
    for name in ("a.txt", ".b", ".hidden/c.txt", "d/.e/f.txt", "d/g.txt"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(name)
    stand_in.table()["actions/upload-artifact"](machine, {"name": "x", "path": str(place)})

    with zipfile.ZipFile(io.BytesIO(stand_in.world.runs[1].artifacts["x"])) as packed:
        assert sorted(packed.namelist()) == ["a.txt", "d/g.txt"]


def checksums(place: Path, count: int, name: str = "f") -> dict[str, str]:
    place.write_text("".join(f"{number:064x}  {name}{number}\n" for number in range(count)))
    return {"subject-checksums": str(place)}


def test_attest_takes_so_many_subjects_and_no_more(stand_in: Actions, machine: Machine, tmp_path: Path) -> None:
    assert "const MAX_SUBJECT_COUNT = 1024" in str(facts()["actions/attest"]["rules"]["subjects"])
    attest = stand_in.table()["actions/attest"]
    attest(machine, checksums(tmp_path / "m", 1024))
    with pytest.raises(StepFailedError, match="1024"):
        attest(machine, checksums(tmp_path / "m", 1025))
    with pytest.raises(StepFailedError, match="524288 bytes"):
        attest(machine, checksums(tmp_path / "m", 1000, "x" * 500))

    assert len(stand_in.attested) == 1


def test_checkout_of_all_history_brings_every_branch(stand_in: Actions, machine: Machine) -> None:
    assert "all-history" in facts()["actions/checkout"]["rules"]
    git(stand_in.remote.bare, "branch", "results", "main")
    stand_in.table()["actions/checkout"](machine, {"fetch-depth": 0})

    assert git(machine.workspace, "branch", "-r", "--format=%(refname:short)").split() == ["origin/main", "origin/results"]
    assert git(machine.workspace, "rev-parse", "--is-shallow-repository") == "false"


def test_checkout_of_a_great_depth_brings_one_branch_with_its_past(stand_in: Actions, machine: Machine) -> None:
    git(stand_in.remote.bare, "branch", "results", "main")
    stand_in.remote.change_main({"a.txt": "b\n"}, "Change")
    stand_in.table()["actions/checkout"](machine, {"ref": stand_in.remote.tip(), "fetch-depth": 2147483647})

    assert git(machine.workspace, "rev-list", "--count", "HEAD") == "2"
    assert "results" not in git(machine.workspace, "branch", "-a")


def test_checkout_of_one_commit_brings_no_branch_and_no_past(stand_in: Actions, machine: Machine) -> None:
    assert facts()["actions/checkout"]["inputs"]["fetch-depth"] == 1
    stand_in.remote.change_main({"a.txt": "b\n"}, "Change")
    git(stand_in.remote.bare, "branch", "results", "main")
    stand_in.table()["actions/checkout"](machine, {"ref": stand_in.remote.tip()})

    assert git(machine.workspace, "rev-parse", "--is-shallow-repository") == "true"
    assert "results" not in git(machine.workspace, "branch", "-a")
    assert git(machine.workspace, "rev-parse", "HEAD") == stand_in.remote.tip()


def test_our_ci_takes_the_actions_at_the_same_commits() -> None:
    taken = {
        step["with"]["repository"]: (step["with"]["ref"], step["with"]["path"])
        for _, step in steps("act")
        if "repository" in (step.get("with") or {})
    }

    assert taken == {
        action: (known["commit"], f"build/actions/{action.partition('/')[2]}") for action, known in facts().items()
    }
    assert (ROOT / ".gitignore").read_text().splitlines().count("build/") == 1
