"""Names of the folders, branches and workflows of a board's repository."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from evaluator.model.identifiers import LOGIN
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName
from leaderboard.core.store import ResultStore

SUBMISSIONS = "submissions"
"""Holds `<login>/<agent>/`."""
EXAMPLE_AGENTS = "example_agents"
"""Holds `<agent>/`; these agents have the login `EXAMPLES_LOGIN`."""
TEMPLATE_FOLDER = Path(__file__).parents[1] / "templates"
"""Holds what `pullrank new` writes, a folder for each kind and adapter."""
RESULTS, TRACES = "results", "traces"
MAIN_BRANCH, RESULTS_BRANCH, WEIGHTS_BRANCH = "main", "results", "weights"
REPOSITORY_NAME = re.compile(rf"{LOGIN.pattern}/[A-Za-z0-9._-]{{1,100}}")
OFFICIAL_WORKFLOW, PREVIEW_WORKFLOW = "official.yml", "preview.yml"
VERIFIED_PREVIEW_WORKFLOW = "evaluate.yml"
"""Started by `/evaluate`: main's code plays the commit and reports it."""
OWNERS_PLACEHOLDER = "@pullrank/maintainers"
"""Stands in CODEOWNERS until the host names its owners."""


def folder_of(name: AgentName) -> str:
    """The path of an agent's folder; the login is spelled as the folder is, and is `EXAMPLES_LOGIN` for the examples."""
    login, agent = name
    return f"{EXAMPLE_AGENTS}/{agent}" if login == EXAMPLES_LOGIN else f"{SUBMISSIONS}/{login}/{agent}"


def repository_name(address: str | None) -> str:
    """`owner/name` of a repository's address on GitHub; empty without an address."""
    return urlsplit(address or "").path.strip("/").removesuffix(".git")


def record_store(folder: Path) -> ResultStore:
    """The store of a folder that holds results/ and traces/."""
    return ResultStore(results=folder / RESULTS, traces=folder / TRACES)
