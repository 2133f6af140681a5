"""A browser, and a small site that is served to it."""

import functools
import http.server
import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from leaderboard.pages.render_pages import render_pages
from tests.browser import built, disk, whole
from tests.leaderboard.pages import game_samples, samples
from tests.needs import lacking

ROOT = Path(__file__).parents[2]
# In milliseconds: long enough for a machine that is busy elsewhere; what comes at once is not waited for.
PATIENCE = 120_000
expect.set_options(timeout=PATIENCE)
# Nobody's tests need the browser's own calls home.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="package")
def chromium():
    """The system's Chromium, closed after this folder. Without one: a skip, or an error under PULLRANK_REQUIRE_CHROMIUM."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        lacking("Chromium: there is none on this machine", "CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        browser.new_context = _patient(browser.new_context)
        yield browser
        browser.close()


def _patient(new_context):
    def made(**options):
        context = new_context(**options)
        context.set_default_timeout(PATIENCE)
        return context

    return made


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        """Nothing."""


@pytest.fixture(scope="package")
def site(tmp_path_factory):
    """The pages of duels below a folder, as a project's site lies on GitHub Pages; the address of that folder."""
    place = tmp_path_factory.mktemp("browser")
    shutil.copytree(ROOT / "site" / "assets", place / "board" / "assets")
    undrawn, frames = game_samples.undrawn()
    pages = render_pages(game_samples.full(), samples.CONTEXT) | render_pages(
        undrawn, replace(samples.CONTEXT, frames=frames)
    )
    for name, text in pages.items():
        if name.endswith(".html"):
            path = place / "board" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(place)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/board/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="package")
def whole_site(tmp_path_factory):
    """The address of a whole site with a bit of everything."""
    yield from whole.serve(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="package")
def full_site(tmp_path_factory):
    """A whole site of a board on disk, with everything in it."""
    yield from built.serve(tmp_path_factory.mktemp("full"), disk.full)


@pytest.fixture(scope="package")
def hostile_site(tmp_path_factory):
    """One on which everybody writes something hostile wherever they may."""
    yield from built.serve(tmp_path_factory.mktemp("hostile"), disk.hostile)


@pytest.fixture(scope="package")
def tame_site(tmp_path_factory):
    """The hostile board's twin: the same lines, with harmless words."""
    yield from built.serve(tmp_path_factory.mktemp("tame"), lambda place: disk.hostile(place, disk.tame))


@pytest.fixture(scope="package")
def empty_site(tmp_path_factory):
    """One that nobody has entered."""
    yield from built.serve(tmp_path_factory.mktemp("empty"), disk.empty)


@pytest.fixture(scope="package")
def windows(chromium):
    """One context for each set of options: what a context has fetched and compiled once serves every later page in it."""
    made = {}

    def window(**options):
        key = json.dumps(options, sort_keys=True)
        if key not in made:
            made[key] = chromium.new_context(**options)
        return made[key]

    yield window
    for context in made.values():
        context.close()


@pytest.fixture
def visit(windows, site):
    """Opens pages of the site; afterwards nothing may have been said on the console or asked of another host."""
    messages, asked, pages = [], [], []
    kept = {"origin": site.partition("/board/")[0], "storageTypes": "cookies,local_storage,indexeddb"}

    def open_page(path, before="", **options):
        page = windows(**{"viewport": {"width": 1200, "height": 1000}, **options}).new_page()
        pages.append(page)
        # As in a browser that was never here.
        page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        if before:
            page.add_init_script(before)
        page.goto(site + path)
        return page

    yield open_page
    for page in pages:
        page.close()

    assert messages == []
    assert [url for url in asked if not url.startswith((site, "data:", "blob:"))] == []
