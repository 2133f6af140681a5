"""What the tests of the agent's side share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_folder() -> Iterator[None]:
    """Loading an agent enters its folder, which in a test is the folder of all that follow."""
    folder = Path.cwd()
    yield
    os.chdir(folder)
