"""GitHub's expression engine, once for all tests here."""

from collections.abc import Iterator

import pytest

from tests.workflows.engine import Expressions


@pytest.fixture(scope="session")
def expressions() -> Iterator[Expressions]:
    """One Node process that answers."""
    node = Expressions()
    yield node
    node.close()
