"""Fixtures for all tests: the container engine with the evaluator image, its sandboxes, and GitHub's expression engine."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from evaluator.host.digests.image_files import default_base
from evaluator.host.docker import evaluator_image
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, select_sandbox
from tests import spread
from tests.needs import lacking, without_gvisor
from tests.workflows.engine import Expressions

# How long an example takes depends on the machine.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
# A process in a shell's background ignores Ctrl-C, and so would every command that a test starts and stops.
signal.signal(signal.SIGINT, signal.default_int_handler)


# By folder or file; everything else that is marked says so itself. Slow is what takes more than ten seconds by itself: it
# starts the command, git or an environment again and again.
MARKS = {
    "browser": ("tests/browser/",),
    "slow": (
        "tests/docs/test_blocks.py", "tests/docs/test_examples.py", "tests/evaluator/conformance/", "tests/faults/",
        "tests/load/", "tests/scripts/pictures/",
        "tests/leaderboard/scoring/test_same_on_every_processor.py", "tests/scripts/commands/",
        "tests/scripts/git/test_pull_request_guard.py", "tests/scripts/git/test_tree_diff.py",
        "tests/scripts/github/doctor/",
        "tests/scripts/github/official/", "tests/scripts/import_evalai/", "tests/scripts/rehearsal/", "tests/scripts/runs/",
        "tests/scripts/maintenance/test_close_season.py", "tests/scripts/static_site/", "tests/scripts/verification/",
    ),
}  # fmt: skip


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests of whole folders."""
    for mark, paths in MARKS.items():
        if item.nodeid.startswith(paths):
            item.add_marker(mark)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """The number of workers for `-n auto`."""
    return spread.workers()


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> spread.Spread:
    """The scheduler that hands out tests to several workers."""
    return spread.Spread(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Only where tests are spread: alone they run in the order of the folders."""
    if hasattr(config, "workerinput"):
        spread.longest_first(items)


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The container engine; where there is none the test is skipped, or an error under PULLRANK_REQUIRE_DOCKER=1."""
    try:
        engine = Engine()
        evaluator_image.ensure_evaluator_image(engine, os.environ.get("BASE_IMAGE") or default_base(), lambda line: None)
    except EngineError as error:
        lacking(f"a container engine: {error}", "DOCKER")
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def docker(engine: Engine) -> SelectedSandbox:
    """The docker sandbox."""
    return select_sandbox("docker", os.environ.get("BASE_IMAGE") or default_base(), lambda line: None)


@pytest.fixture(scope="session")
def gvisor(engine: Engine) -> SelectedSandbox:
    """The gvisor sandbox, where runsc is installed."""
    if "runsc" not in engine.runtimes():
        without_gvisor()
    return select_sandbox("gvisor", os.environ.get("BASE_IMAGE") or default_base(), lambda line: None)


@pytest.fixture(scope="session")
def expressions() -> Iterator[Expressions]:
    """GitHub's expression engine: one Node process for all tests of workflows."""
    opened = Expressions()
    yield opened
    opened.close()
