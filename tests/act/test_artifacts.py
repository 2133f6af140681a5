"""The artifact service with the real upload-artifact and download-artifact, and our stand-in for the latter beside them."""

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.act import places
from tests.act.artifacts import ArtifactService
from tests.github.world import WorkflowRun, World
from tests.workflows.actions import Actions
from tests.workflows.runner import Machine

pytestmark = pytest.mark.act
RUN = 7
INPUTS = {
    "upload-artifact": {
        "if-no-files-found": "error", "compression-level": "6", "overwrite": "false", "include-hidden-files": "false",
        "archive": "true", "retention-days": "5",
    },
    "download-artifact": {
        "merge-multiple": "false", "skip-decompress": "false", "digest-mismatch": "error", "repository": "host/board",
        "run-id": str(RUN),
    },
}  # fmt: skip


@pytest.fixture
def service() -> Iterator[ArtifactService]:
    opened = ArtifactService()
    yield opened
    opened.stop()


def token() -> str:
    """As GitHub's: of its parts only the scope is read."""
    parts = ({"alg": "HS256"}, {"scp": f"Actions.Results:{RUN}:{RUN}"})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".x"


def act_on(service: ArtifactService, place: Path, action: str, script: str, **given: str) -> str:
    """Run an action's own code; returns what it printed."""
    inputs = {f"INPUT_{key.upper()}": value for key, value in {**INPUTS[action], **given}.items()}
    environment = {
        **inputs, "PATH": os.environ["PATH"], "HOME": str(place), "RUNNER_TEMP": str(place), "GITHUB_WORKSPACE": str(place),
        "GITHUB_SERVER_URL": "http://github.localhost", "GITHUB_REPOSITORY": "host/board", "GITHUB_RUN_ID": str(RUN),
        "ACTIONS_RUNTIME_TOKEN": token(), "ACTIONS_RESULTS_URL": service.address, "ACTIONS_RUNTIME_URL": service.address,
    }  # fmt: skip
    command = [places.node() / "node", places.action(f"actions/{action}") / "dist" / script]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def upload(service: ArtifactService, place: Path, name: str) -> None:
    source = place / f"from-{name}"
    for file in ("shard.json", "results/a.json", "results/.hidden", ".hidden/b.json"):
        (source / file).parent.mkdir(parents=True, exist_ok=True)
        (source / file).write_text(f"{name} {file}")
    act_on(service, place, "upload-artifact", "upload/index.js", name=name, path=f"{source}/")


def tree(place: Path) -> dict[str, str]:
    return {str(path.relative_to(place)): path.read_text() for path in sorted(place.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("names", [["shard-3"], ["shard-0", "shard-1"], []], ids=["one", "two", "none"])
def test_the_stand_in_unpacks_as_the_action_does(service: ArtifactService, tmp_path: Path, names: list[str]) -> None:
    for name in (*names, "other"):
        upload(service, tmp_path, name)
    act_on(service, tmp_path, "download-artifact", "index.js", pattern="shard-*", path=str(tmp_path / "real"))

    world = World()
    world.runs[RUN] = WorkflowRun(id=RUN, head_sha="a" * 40, artifacts=service.of(RUN))
    stand_in = Actions(None, world, tmp_path)  # type: ignore[arg-type]
    machine = Machine(workspace=tmp_path, temp=tmp_path, github={"run_id": RUN}, matrix={})
    stand_in.table()["actions/download-artifact"](machine, {"pattern": "shard-*", "path": str(tmp_path / "ours")})

    assert tree(tmp_path / "real") == tree(tmp_path / "ours")
    assert len(tree(tmp_path / "real")) == 2 * len(names)


def test_a_name_can_be_taken_once(service: ArtifactService, tmp_path: Path) -> None:
    upload(service, tmp_path, "shard-0")

    with pytest.raises(AssertionError, match=r"409|already exists"):
        upload(service, tmp_path, "shard-0")
    assert list(service.of(RUN)) == ["shard-0"]


def test_an_artifact_is_known_as_soon_as_it_is_whole(tmp_path: Path) -> None:
    """GitHub's API has it while its run goes on: a later job of the run may ask for it there."""
    known: list[tuple[int, str, bytes]] = []
    service = ArtifactService(lambda *one: known.append(one))
    upload(service, tmp_path, "preview")
    service.stop()

    assert known == [(RUN, "preview", service.of(RUN)["preview"])]
