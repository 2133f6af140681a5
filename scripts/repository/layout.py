"""Names of the folders and branches of a board's repository."""

from pathlib import Path

from leaderboard.core.eligibility import LOCAL as LOCAL
from leaderboard.core.store import ResultStore

SUBMISSIONS = "submissions"
"""Holds `<login>/<agent>/`."""
EXAMPLE_AGENTS = "example_agents"
"""Holds `<agent>/`; these agents have the login `LOCAL`."""
RESULTS, TRACES = "results", "traces"
MAIN_BRANCH, RESULTS_BRANCH = "main", "results"

FolderName = tuple[str, str]
"""Login, as its folder is spelled, and agent; for the examples `LOCAL` and agent."""


def folder_of(name: FolderName) -> str:
    """The path of an agent's folder."""
    login, agent = name
    return f"{EXAMPLE_AGENTS}/{agent}" if login == LOCAL else f"{SUBMISSIONS}/{login}/{agent}"


def short_name(folder: str) -> str:
    """`login/agent` of a folder `submissions/login/agent`."""
    return folder.removeprefix(f"{SUBMISSIONS}/")


def record_store(folder: Path) -> ResultStore:
    """The store of a folder that holds results/ and traces/."""
    return ResultStore(results=folder / RESULTS, traces=folder / TRACES)
