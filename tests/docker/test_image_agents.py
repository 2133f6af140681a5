"""Agents that bring an image: in other languages, through a real registry, into the real containers."""

import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.host.docker import agent_image
from evaluator.host.docker.engine import Engine
from evaluator.host.duels.evaluate_duel import evaluate_duel
from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.host.loading.submission_folder import SubmissionFolder, assemble
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.image_reference import parse_reference
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission import SubmissionFile
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchEnd
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from tests import evaluations
from tests.docker.hub import Hub, need, running, tree_of
from tests.hostile.arena import our_containers, over_standard_streams, play
from tests.needs import node

pytestmark = pytest.mark.docker
LANGUAGES = Path(__file__).parents[2] / "example_agents" / "languages"
CARTPOLE = Task(id="CartPole-v1", episodes=8)
TICTACTOE = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", matches=20)
LIMITS = Limits(memory_mib=256, cpu_seconds=60, start_seconds=60)


def build(engine: Engine, context: Path, target: str, **arguments: str) -> str:
    """Build and push as the page of images says; returns the entry to write."""
    options = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]

    def run(*words: str) -> str:
        return subprocess.run(["docker", *words], check=True, capture_output=True, text=True, env=LEGACY).stdout

    run("build", "--tag", target, *options, str(context))
    run("push", target)
    reference = run("inspect", "--format", "{{index .RepoDigests 0}}", target).strip()
    run("rmi", target)
    return reference


LEGACY = {**os.environ, "DOCKER_BUILDKIT": "0"}


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    need("docker", "gcc")
    with running() as server:
        yield server


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a runner no image comes from the runner itself."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.fixture(scope="module")
def javascript(engine: Engine, hub: Hub) -> Iterator[str]:
    node()
    base = f"pullrank-test-node:{uuid.uuid4().hex[:8]}"
    engine._api.import_image_from_data(tree_of("node"), *base.split(":"))
    entry = build(engine, LANGUAGES / "javascript", f"{hub.address}/alice/js:latest", BASE=base)
    engine.remove_image(base)
    yield entry
    engine.remove_image(agent_image.local_name(parse_reference(entry)))


@pytest.fixture(scope="module")
def compiled(engine: Engine, hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    room = tmp_path_factory.mktemp("c")
    shutil.copytree(LANGUAGES / "c", room, dirs_exist_ok=True)
    subprocess.run(["gcc", "-O2", "-Wall", "-Werror", "-static", "-o", "agent", "agent.c"], cwd=room, check=True)
    entry = build(engine, room, f"{hub.address}/alice/c:latest")
    yield entry
    engine.remove_image(agent_image.local_name(parse_reference(entry)))


def folder_of(entry: str, **limits: int) -> SubmissionFolder:
    """A submission of nothing but submission.yml."""
    manifest = f"name: An image\nalgorithm: rule\nkind: image\nentry: {entry}\n".encode()
    return assemble((SubmissionFile(path="submission.yml", executable=False, content=manifest),), SubmissionLimits(**limits))


def evaluated(entry: str, chosen: SelectedSandbox, limits: Limits = LIMITS, task: Task = CARTPOLE) -> Result:
    return play(evaluations.order(folder_of(entry), task, limits=limits), chosen).result


@pytest.mark.parametrize("language", ["javascript", "compiled"])
@pytest.mark.parametrize("box", ["docker", "gvisor"])
def test_another_language_balances_the_pole(language: str, box: str, request: pytest.FixtureRequest, engine: Engine) -> None:
    entry = request.getfixturevalue(language)

    begun = time.monotonic()
    result = evaluated(entry, request.getfixturevalue(box))

    print(language, box, f"{time.monotonic() - begun:.1f} s", result.cost)
    assert (result.verdict, result.message) == (Verdict.OK, "")
    # Its seeds follow from the image, which is another one each time; an agent that guesses gets 22.
    assert sum(result.returns) / len(result.returns) > 200
    assert result.image_digest == entry.partition("@")[2]
    assert our_containers(engine) == []


def test_the_rule_is_the_same_in_every_language(javascript: str, compiled: str, docker: SelectedSandbox) -> None:
    """Seeds follow from the version, so those of another version are put in their place."""
    agents = (evaluations.folder(evaluations.ANGLE_RULE), folder_of(javascript), folder_of(compiled))
    lengths = [evaluations.on_the_same_seeds(one, CARTPOLE, docker, limits=LIMITS).result.lengths for one in agents]

    assert len(lengths[0]) == CARTPOLE.episodes
    assert lengths[1:] == lengths[:1] * 2


@pytest.mark.parametrize("language", ["javascript", "compiled"])
def test_over_standard_streams(language: str, request: pytest.FixtureRequest, engine: Engine) -> None:
    result = evaluated(request.getfixturevalue(language), over_standard_streams(engine))

    assert (result.verdict, result.message) == (Verdict.OK, "")


def duel(entry: str, other: str, chosen: SelectedSandbox, **changes: object) -> Duel:
    """An image against a source, alice against bob."""
    order = evaluations.duel_order(evaluations.FIRST_LEGAL, other, TICTACTOE, limits=LIMITS, **changes)
    one, two = order.contenders
    order = replace(order, contenders=(replace(one, folder=folder_of(entry)), two))
    return evaluate_duel(order, chosen.kind, chosen.opener, lambda: datetime.now(UTC), lambda done: None)


@pytest.mark.parametrize("box", ["docker", "gvisor"])
def test_javascript_plays_tictactoe_with_its_mask(box: str, javascript: str, request: pytest.FixtureRequest) -> None:
    record = duel(javascript, evaluations.RANDOM_PLAYER, request.getfixturevalue(box))

    assert (record.verdict, record.message, [p.verdict for p in record.players]) == (Verdict.OK, "", [Verdict.OK] * 2)
    assert {match.end for match in record.matches} == {MatchEnd.PLAYED}
    assert record.image_digest not in (None, javascript.partition("@")[2])
    won = [match.winner for match in record.matches]
    assert won.count(0) > 10
    assert won.count(0) > 3 * won.count(1)
    assert verify_duel("d.json", record.serialised(), open_game(TICTACTOE)).status is VerificationStatus.VERIFIED


def test_an_image_plays_itself(javascript: str, docker: SelectedSandbox) -> None:
    order = evaluations.duel_order(evaluations.FIRST_LEGAL, None, TICTACTOE, limits=LIMITS)
    one = replace(order.contenders[0], folder=folder_of(javascript))
    record = evaluate_duel(
        replace(order, contenders=(one, one)), docker.kind, docker.opener, lambda: datetime.now(UTC), lambda d: None
    )

    assert {match.end for match in record.matches} == {MatchEnd.PLAYED}
