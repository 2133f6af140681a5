"""Fixtures of tests in containers: both kinds of channel, and both container sandboxes."""

import pytest

from evaluator.host.docker.engine import Engine
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from tests.hostile.arena import over_standard_streams


@pytest.fixture(scope="session")
def standard_streams(engine: Engine) -> SelectedSandbox:
    """The docker sandbox whose channel is standard input and output."""
    return over_standard_streams(engine)


@pytest.fixture(params=["docker", "standard_streams"])
def either_channel(request: pytest.FixtureRequest) -> SelectedSandbox:
    """The docker sandbox, over either kind of channel."""
    selected: SelectedSandbox = request.getfixturevalue(request.param)
    return selected


@pytest.fixture(params=["docker", "gvisor"])
def container(request: pytest.FixtureRequest) -> SelectedSandbox:
    """Both container sandboxes."""
    selected: SelectedSandbox = request.getfixturevalue(request.param)
    return selected
