"""A stand-in for GitHub for each test; whatever either side said against GitHub's description fails the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.github.api.client import GitHub
from tests.github.server import GitHubStandIn
from tests.github.world import NAME, OWNER, World
from tests.scripts.github.scenes import Scene, build


@pytest.fixture
def standin() -> Iterator[GitHubStandIn]:
    """GitHub, as far as the bot can tell."""
    made = GitHubStandIn(World())
    made.world.person("alice", 11)
    made.world.person("bob", 22)
    made.world.person("eve", 66)
    made.start()
    yield made
    made.stop()
    assert made.violations == []


@pytest.fixture
def slept() -> list[float]:
    """How long the client would have slept, each time."""
    return []


@pytest.fixture
def github(standin: GitHubStandIn, slept: list[float]) -> GitHub:
    """The real client with the bot's token."""
    return GitHub("bot-token", standin.address, f"{OWNER}/{NAME}", sleep=slept.append, pace=0)


@pytest.fixture
def scene(tmp_path: Path, standin: GitHubStandIn, github: GitHub) -> Scene:
    """A board with real git remotes and one agent on main."""
    return build(tmp_path, standin, github)
