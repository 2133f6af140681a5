"""The whole site: MkDocs builds it strictly, it loads nothing from elsewhere, and every link leads somewhere."""

import dataclasses
import html.parser
import json
import os
import re
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from scripts.console import OUR_FAULT, CommandError
from scripts.static_site import build_site
from scripts.static_site.build_site import (
    build_in_folder,
    fingerprint_of,
    forget_fingerprint,
    is_current,
    remember_fingerprint,
)
from tests.leaderboard.pages import samples
from tests.leaderboard.pages.test_render_pages import hostile_board

ROOT = Path(__file__).parents[3]
HOSTILE = "</title></h1><img src=x onerror=alert(1)>|[a](javascript:alert(1)) {{ config }} {: .x} :smile: `\"'"


class Links(html.parser.HTMLParser):
    """What a page loads, where it leads, and what can be led to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.ids: set[str] = set()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append(tag)
        self.ids.add(given.get("id") or "")
        assert "onerror" not in given
        leads = tag == "a" or (tag == "link" and given.get("rel") in ("canonical", "next", "prev"))
        if leads:
            self.leads.append(given.get("href") or "")
        else:
            self.loads.extend(given[name] or "" for name in ("src", "href", "srcset", "data") if name in given)


def build(board, place: Path, context=samples.CONTEXT, *, config="") -> Path:
    """What `pullrank site build` does, in a place of its own; `config`: more lines of mkdocs.yml."""
    shutil.copytree(ROOT / "site", place / "site")
    (place / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text() + config)
    return build_in_folder(board, context, place)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build(samples.crowded(), tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def pages(site):
    return {path: Links(path.read_text()) for path in site.rglob("*.html")}


def test_nothing_is_loaded_from_another_host(pages):
    loaded = {load for page in pages.values() for load in page.loads}

    assert loaded
    assert not [load for load in loaded if urlsplit(load).scheme not in ("", "data") or load.startswith("//")]


def test_no_stylesheet_fetches_from_another_host(site):
    for path in site.rglob("*.css"):
        text = path.read_text()
        assert not re.search(r"@import|url\(\s*['\"]?(?:https?:)?//", text), path


def test_no_page_asks_a_forge_for_its_stars(site):
    assert not any('data-md-component="source"' in path.read_text() for path in site.rglob("*.html"))


def test_every_internal_link_leads_somewhere(site, pages):
    broken = [
        (str(path.relative_to(site)), lead)
        for path, page in pages.items()
        for lead in page.leads
        if not urlsplit(lead).scheme and not resolves(site, path, lead, pages)
    ]

    assert not broken


def resolves(site: Path, path: Path, lead: str, pages) -> bool:
    parts = urlsplit(lead)
    base = site if parts.path.startswith("/") else path.parent
    target = (base / unquote(parts.path).lstrip("/")).resolve()
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].ids


def test_links_to_other_hosts_are_plain_https(pages):
    schemes = {urlsplit(lead).scheme for page in pages.values() for lead in page.leads}

    assert schemes <= {"", "https"}


def test_hostile_text_reaches_neither_the_built_pages_nor_the_search(tmp_path):
    site = build(hostile_board(HOSTILE), tmp_path)
    for path in site.rglob("*.html"):
        text = path.read_text()
        assert "<img src=x" not in text, path
        assert "javascript:alert" not in Links(text).leads, path
    entries = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    # The search writes what stands in its index as text; tests/browser/test_hostile_pages.py tries it.
    assert any("onerror" in entry["title"] for entry in entries)
    assert not [entry for entry in entries if "&lt;" in entry["title"] + entry["text"]]
    assert not [entry for entry in entries if entry["location"].startswith("agents/_shell")]
    titles = [re.findall("<title>(.*?)</title>", path.read_text()) for path in (site / "agents").glob("*/*/*.html")]
    assert [len(matches) for matches in titles] == [1]


@pytest.mark.parametrize("name", ["empty", "failed"])
def test_other_boards_build_too(name, tmp_path):
    assert (build(getattr(samples, name)(), tmp_path) / "index.html").is_file()


def test_the_sitemap_has_every_page_and_the_frame_is_not_published(tmp_path):
    context = dataclasses.replace(samples.CONTEXT, site_url="https://board.example/")
    site = build(samples.one(), tmp_path, context)
    named = re.findall("<loc>https://board.example/(.*?)</loc>", (site / "sitemap.xml").read_text())
    page = (site / "agents" / "alice" / "angle-rule" / "index.html").read_text()

    assert {"", "tasks/", "tasks/CartPole-v1/", "agents/alice/angle-rule/", "rules/"} <= set(named)
    assert all((site / unquote(address) / "index.html").is_file() for address in named)
    assert not [*site.glob("agents/_*"), *site.glob("sitemap.xml.gz")]
    assert "Sitemap: https://board.example/sitemap.xml" in (site / "robots.txt").read_text()
    assert '<link rel="canonical" href="https://board.example/agents/alice/angle-rule/">' in page
    assert '<meta property="og:image" content="https://board.example/cards/' in page
    assert "@@" not in page


def test_without_an_address_nothing_is_said_of_it(site):
    assert not (site / "sitemap.xml").exists()
    assert (site / "robots.txt").read_text() == "User-agent: *\nAllow: /\n"
    assert "og:image" not in (site / "index.html").read_text()


def test_mkdocs_that_does_not_end_is_stopped_and_the_old_site_stays(tmp_path, monkeypatch):
    hook = "import time\n\ndef on_config(config):\n    time.sleep(600)\n"
    (tmp_path / "hang.py").write_text(hook)
    old = tmp_path / "build" / "site" / "index.html"
    old.parent.mkdir(parents=True)
    old.write_text("old")
    monkeypatch.setattr(build_site, "MKDOCS_SECONDS", 0.5)
    with pytest.raises(CommandError) as raised:
        build(samples.one(), tmp_path, config="hooks: [hang.py]\n")

    assert raised.value.code == OUR_FAULT
    assert str(raised.value) == "MkDocs could not build the site in 0.5 seconds; build it on a faster machine"
    assert [path.name for path in old.parent.iterdir()] == ["index.html"]
    assert old.read_text() == "old"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ("no_such_setting: true\n", "Unrecognised configuration name: no_such_setting"),
        ("hooks: [link.py]\n", "contains a link 'missing.md'"),
    ],
)
def test_what_mkdocs_refuses_is_said_and_the_old_site_stays(config, reason, tmp_path):
    old = tmp_path / "build" / "site" / "index.html"
    old.parent.mkdir(parents=True)
    old.write_text("old")
    (tmp_path / "link.py").write_text("def on_page_markdown(markdown, **_):\n    return markdown + '[a](missing.md)'\n")
    with pytest.raises(CommandError) as raised:
        build(samples.one(), tmp_path, config=config)

    assert raised.value.code == OUR_FAULT
    assert str(raised.value).startswith("MkDocs could not build the site:\n")
    assert reason in str(raised.value)
    assert old.read_text() == "old"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("results/a/b.json", "site/pages/index.md", "build/site/index.html", ".venv/lib/x.py", ".git/HEAD"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def mark(root: Path, day: str = "2026-05-01") -> str:
    return fingerprint_of(root, day)


def test_site_stays_current_until_it_is_built_again_or_removed(checkout: Path) -> None:
    assert not is_current(checkout, mark(checkout))
    remember_fingerprint(checkout, mark(checkout))
    assert is_current(checkout, mark(checkout))

    (checkout / "build/site/index.html").unlink()
    assert not is_current(checkout, mark(checkout))
    (checkout / "build/site/index.html").write_text("")
    forget_fingerprint(checkout)
    assert not is_current(checkout, mark(checkout))


@pytest.mark.parametrize("name", ["results/a/b.json", "results/a/new.json", "site/pages/index.md", ".git/HEAD"])
def test_a_changed_file_makes_it_old(checkout: Path, name: str) -> None:
    before = mark(checkout)
    (checkout / name).write_text("other")

    assert mark(checkout) != before


def test_time_of_change_day_and_address_count_and_tools_do_not(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = mark(checkout)
    (checkout / ".venv/lib/x.py").write_text("other")
    (checkout / "build/site/index.html").write_text("other")
    assert mark(checkout) == before

    assert mark(checkout, "2026-05-02") != before
    monkeypatch.setenv("PULLRANK_SITE_URL", "https://example.org")
    assert mark(checkout) != before
    monkeypatch.delenv("PULLRANK_SITE_URL")
    os.utime(checkout / "results/a/b.json", ns=(1, 1))
    assert mark(checkout) != before
