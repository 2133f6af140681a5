"""No agent takes the place of another page or document, whatever its folder is called."""

from collections import Counter
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from evaluator.model.identifiers import NEW_AGENT, new_agent_fault, portable_fault
from leaderboard.charts.social_cards import social_cards
from leaderboard.pages import render_pages
from leaderboard.pages.agent.agent_page import render_agent_pages
from leaderboard.text import urls
from scripts.commands import new
from scripts.console import CommandError
from scripts.git.pull_request_guard import PullAuthor, inspect_pull
from tests.leaderboard.api.leaderboards import CONTEXT, documents
from tests.leaderboard.pages import samples
from tests.scripts.git.test_pull_request_guard import LIMITS
from tests.scripts.github.remotes import agent_files, make_board

ROOT = Path(__file__).parents[2]
AGENTS = [
    "x", "x.html", "x.md", "x.json", "x.svg", "x.atom", "x.png", "x.html.html", "index", "index.html", "readme", "readme.md",
    "404", "404.html", "feed.xml", "feed", "sitemap.xml", "leaderboard", "leaderboard.json", "table.json", "0", "1.json",
    "con", "aux.v1", "x-y", "x_y", "x.y", "x..y",
]  # fmt: skip
LOGINS = ["mallory", "index", "404", "assets", "api", "readme"]


@pytest.fixture(scope="module")
def places() -> list[str]:
    """Every file of the site, for a board on which somebody has agents of all these names."""
    entries = [samples.entry(agent, login) for login in LOGINS for agent in AGENTS]
    rows = [samples.row(entry, samples.POLE, place, 4.0) for place, entry in enumerate(entries[:100], 1)]
    board = samples.board(samples.task_board(samples.POLE, rows, waiting=tuple(entries[100:])))
    board = replace(board, challenge=board.challenge.model_copy(update={"badges": True}))
    files = [*documents(board), *(card.file for card in social_cards(board))]
    files += [path for path, _ in render_agent_pages(board, CONTEXT)]
    for page in render_pages.render_pages(board, CONTEXT):
        files.append(urls.address(page) + "index.html" if page.endswith(".md") else page)
    own = ROOT / "site"
    files += [f"assets/{path.relative_to(own / 'assets')}" for path in (own / "assets").rglob("*") if path.is_file()]
    files += [f"{urls.address(str(path.relative_to(own / 'pages')))}index.html" for path in (own / "pages").rglob("*.md")]
    return [*files, "404.html", "sitemap.xml", "robots.txt", "search/search_index.json"]


@pytest.mark.attack(
    "agent_named_like_a_page", family="pages", outcome="each has a place of its own",
    tries="Names agents index.html, x.html, 404, readme or feed.xml, to take the place of another page or document.",
)  # fmt: skip
def test_no_two_files_of_the_site_have_one_place(places: list[str]) -> None:
    assert len(places) > 1000
    assert [path for path, count in Counter(path.casefold() for path in places).items() if count > 1] == []


@pytest.mark.attack(
    "agent_named_like_a_folder_of_the_site", family="pages", outcome="no file is another's folder",
    tries="Names agents so that the file of one is the folder of another.",
)  # fmt: skip
def test_no_file_of_the_site_is_a_folder_of_another(places: list[str]) -> None:
    folders = {str(parent).casefold() for path in places for parent in PurePosixPath(path).parents}

    assert {path.casefold() for path in places} & folders == set()


@pytest.mark.attack(
    "login_named_like_a_folder_of_the_site", family="pages", outcome="the page lies below agents/",
    tries="Registers the login index, 404, api or assets and enters an agent.",
)  # fmt: skip
def test_pages_of_agents_lie_below_their_owner(places: list[str]) -> None:
    for login in LOGINS:
        for agent in AGENTS:
            assert f"{urls.address(urls.agent_page(login, agent))}index.html" in places
            assert urls.address(urls.agent_page(login, agent)).startswith(f"agents/{login}/")


DEVICES = ["con", "nul", "aux", "prn", "com1", "lpt9", "con.v2", "aux.tar"]


@pytest.mark.attack(
    "agent_named_like_a_device", family="supply", outcome="refused in one line",
    tries="Names a folder con, nul or aux.v1, so that nobody can clone the board on Windows.",
)  # fmt: skip
@pytest.mark.parametrize("name", DEVICES)
def test_a_folder_named_like_a_device_does_not_come_in(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = make_board(tmp_path)
    main = board.head
    paths = inspect_pull(board.repository, main, board.commit(agent_files("alice", name)), PullAuthor(login="alice"), LIMITS)
    monkeypatch.chdir(tmp_path / "clone")
    (tmp_path / "clone" / "challenge.yml").write_text("title: T\nseason: '1'\ntasks: [{id: CartPole-v1}]\n")

    assert {fault.partition(": ")[2] for fault in paths.faults} == {
        f"Windows takes '{name.partition('.')[0]}' for a device, so nobody could clone there; rename it"
    }
    with pytest.raises(CommandError, match="for a device"):
        new.run(Path("submissions/alice") / name)
    assert not NEW_AGENT.fullmatch(name)
    assert new_agent_fault(name) is not None


@pytest.mark.attack(
    "file_that_windows_cannot_hold", family="supply", outcome="refused in one line",
    tries="Commits files whose names Windows takes for devices or shortens.",
)  # fmt: skip
@pytest.mark.parametrize("path", ["AUX.py", "deep/nul", "com7.txt/x", "weights.", "deep./x", "x.."])
def test_a_file_that_windows_cannot_hold_does_not_come_in(path: str, tmp_path: Path) -> None:
    board = make_board(tmp_path)
    main = board.head
    head = board.commit({**agent_files("alice"), f"submissions/alice/a/{path}": b"x\n"})

    (fault,) = inspect_pull(board.repository, main, head, PullAuthor(login="alice"), LIMITS).faults

    assert "Windows" in fault
    assert fault.endswith("; rename it")


@pytest.mark.parametrize("name", ["console", "auxiliary", "com", "com10", "nully.py", "agent.py", "v1.2"])
def test_names_that_only_begin_like_a_device_are_welcome(name: str) -> None:
    assert portable_fault(name) is None
    assert new_agent_fault(name) is None
