"""Paths of the site's pages, links between them, and addresses on GitHub."""

from urllib.parse import quote, urlsplit

from evaluator.model.identifiers import safe_path_segment
from evaluator.model.records.duel_record import Duel, pair_segment
from leaderboard.core.entry import EXAMPLES_LOGIN, Entry, Excluded
from leaderboard.core.standings import WithdrawnScore

HOME_PAGE = "index.md"
TASKS_PAGE = "tasks/index.md"
OVERALL_PAGE = "overall.md"
COMPARE = "compare.md"
STATUS = "status.md"
LEDGER = "ledger.md"
TIMELINE = "timeline.md"
ALL_AGENTS = "all-agents.md"
# Where a host's own pages are in the repository.
SITE_PAGES = "site/pages/"
# MkDocs serves these two at the address of their folder.
_INDEX_NAMES = ("index", "readme")
# Paths next to those of tasks.
_RESERVED_SEGMENTS = ("overall", "board")


def _file(name: str) -> str:
    """A page's file name. A reserved name gets a `_` in front, with which no agent or task begins."""
    return f"_{name}.md" if name.casefold() in _INDEX_NAMES else f"{name}.md"


def task_page(task_id: str) -> str:
    """The page of a task."""
    return f"tasks/{_file(safe_path_segment(task_id))}"


def agent_page(login: str, agent: str) -> str:
    """The page of an agent."""
    return f"agents/{login}/{_file(agent)}"


def task_fragment(task_id: str) -> str:
    """The fragment of a task's section; no other heading begins like it."""
    return f"task-{safe_path_segment(task_id)}"


def duel_page(task_id: str, duel: Duel) -> str:
    """The page of a duel. MkDocs only copies it: there are too many to render."""
    # In an address "%" would have to be encoded again.
    pair = pair_segment(*(player.name_as_written for player in duel.players)).replace("%", "~")
    return f"{task_page(task_id).removesuffix('.md')}/duels/{pair}/index.html"


def segment(task_id: str) -> str:
    """A task's part of a path. A reserved name gets a `_` in front, with which no task begins."""
    plain = safe_path_segment(task_id)
    return f"_{plain}" if plain.casefold() in _RESERVED_SEGMENTS else plain


def task_file(task_id: str, name: str) -> str:
    """A document of a task, as a path below the site's root."""
    return f"api/tasks/{safe_path_segment(task_id)}/{name}"


def task_documents(task_id: str) -> str:
    """The folder of a task's documents, as an address below the site's root."""
    return quote(task_file(task_id, ""))


def agent_file(login: str, agent: str) -> str:
    """The document of an agent, as a path below the site's root."""
    return f"api/agents/{login}/{agent}.json"


def agent_address(login: str, agent: str) -> str:
    """An agent's page, as an address below the site's root."""
    return address(agent_page(login, agent))


def task_address(task_id: str) -> str:
    """A task's page, as an address below the site's root."""
    return address(task_page(task_id))


def up(source: str) -> str:
    """The relative path from a page to the site's root."""
    return "../" * address(source).count("/") or "./"


def address(page: str) -> str:
    """A page's address below the site's root, under MkDocs' directory addresses."""
    # One ending only: an agent may be called `x.html`, which is no other name of `x`.
    stem = page.removesuffix(".md" if page.endswith(".md") else ".html")
    folder, _, name = stem.rpartition("/")
    if name == "index":
        return quote(f"{folder}/") if folder else ""
    return quote(f"{stem}/")


def href(source: str, target: str) -> str:
    """A relative link from page to page, so that the site can be served at any address."""
    return "../" * address(source).count("/") + address(target) or "./"


def owner_url(repository: str | None, entry: Entry | Excluded | WithdrawnScore) -> str | None:
    """The owner's profile on the repository's host."""
    if repository is None or entry.login == EXAMPLES_LOGIN:
        return None
    host = urlsplit(repository)
    return f"{host.scheme}://{host.netloc}/{entry.login}"


def folder_url(repository: str | None, entry: Entry) -> str | None:
    """The agent's folder on main."""
    if repository is None or entry.login == EXAMPLES_LOGIN:
        return None
    return f"{repository.rstrip('/')}/tree/main/submissions/{entry.login}/{entry.agent}"


def result_url(repository: str | None, path: str) -> str | None:
    """A result's file on the branch `results`."""
    return None if repository is None else f"{repository.rstrip('/')}/blob/results/{quote(path)}.json"


def source_url(repository: str | None, entry: Entry, commit: str | None) -> str | None:
    """The agent's folder at a commit, or on main if no commit is recorded."""
    here = folder_url(repository, entry)
    return here if here is None or commit is None else here.replace("/tree/main/", f"/tree/{quote(commit)}/", 1)


def terms_url(repository: str | None, terms: str | None) -> str | None:
    """A host's terms as the submit page links them: a web address, a page of the site, or a file on main."""
    if terms is None or terms.startswith(("https://", "http://")):
        return terms
    if terms.startswith(SITE_PAGES) and terms.endswith(".md"):
        return href("submit.md", terms.removeprefix(SITE_PAGES))
    return None if repository is None else f"{repository.rstrip('/')}/blob/main/{quote(terms)}"


def traces_branch_name(season: str) -> str:
    """The branch of a season's traces, in characters that git allows."""
    name = safe_path_segment(season)
    odd = ".." in name or name.endswith((".", ".lock"))
    return "traces-" + (name.replace(".", "%2E") if odd else name)


def commit_url(repository: str | None, commit: str | None) -> str | None:
    """A commit on the repository's host."""
    return None if repository is None or commit is None else f"{repository.rstrip('/')}/commit/{quote(commit)}"
