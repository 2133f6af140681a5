"""What the tests of the agent's side share."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _own_folder() -> Iterator[None]:
    """Loading an agent enters its folder, which in a test is the folder of all that follow."""
    folder = os.getcwd()
    yield
    os.chdir(folder)
