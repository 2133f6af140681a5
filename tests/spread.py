"""How `make test` spreads tests: what shares something stays together, and what takes longest comes first."""

import os

import pytest
from xdist.scheduler import LoadScopeScheduling

TOGETHER = {
    # They share the port of torch's index, and one of them removes the agents' images of all.
    "images": (
        "tests/docker/test_extras.py",
        "tests/docker/test_hostile_images.py",
        "tests/docker/test_hostile_models.py",
        "tests/docker/test_image_agents.py",
        "tests/docker/test_image_page.py",
        "tests/docker/test_templates.py",
    ),
    # They share one browser, and sites that are built once.
    "pages": ("tests/browser/",),
}
# So that nobody waits at the end for one long file. What is not named keeps its order after these.
FIRST = (
    "tests/act/test_story.py",
    "images",
    "pages",
    "tests/workflows/test_story.py",
    "tests/workflows/test_rehearsal.py",
    "tests/workflows/test_story_games.py",
    "tests/hostile/test_attacks.py",
    "tests/hostile/test_players.py",
    "tests/scripts/commands/test_cli.py",
    "tests/docker/",
    "tests/scripts/",
    "tests/docs/",
    "tests/workflows/",
    "tests/test_ci.py",
    "tests/load/",
    "tests/test_installed.py",
    "tests/faults/",
    "tests/evaluator/",
)


def group_of(nodeid: str) -> str:
    """What a test stays together with: one of TOGETHER, or else its file."""
    path = nodeid.partition("::")[0]
    return next((name for name, paths in TOGETHER.items() if path.startswith(paths)), path)


def rank(group: str) -> int:
    """The group's place in FIRST."""
    return next((place for place, start in enumerate(FIRST) if group.startswith(start)), len(FIRST))


def workers() -> int:
    """One for each processor and one more, since much of the time goes by in waiting for containers and the browser."""
    return (os.cpu_count() or 1) + 1


def longest_first(items: list[pytest.Item]) -> None:
    """Put tests in the order in which they are handed out; tests of a group end up side by side."""
    items.sort(key=lambda item: rank(group_of(item.nodeid)))


class Spread(LoadScopeScheduling):
    """Hands out whole groups, in the order of their first tests."""

    def __init__(self, config: pytest.Config, log: object = None) -> None:
        super().__init__(config, log)  # type: ignore[arg-type]
        # The other order is by how many tests a group holds, which says little of how long they take.
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
