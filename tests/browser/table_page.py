"""A site with large tables, and what a reader finds on a page with one."""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect

from scripts.static_site.build_site import build_in_folder
from tests.browser.conftest import _Quiet

ROOT = Path(__file__).parents[2]
HILL = "tasks/ALE%252FHill-v0/"


@contextmanager
def served(whole, place: Path) -> Iterator[str]:
    """The whole site below a folder, as a project's site lies on GitHub Pages; the address of that folder."""
    shutil.copytree(ROOT / "site", place / "site")
    shutil.copy(ROOT / "mkdocs.yml", place)
    (place / "served").mkdir()
    shutil.move(build_in_folder(*whole, place), place / "served" / "board")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(place / "served")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/board/"
    server.shutdown()
    server.server_close()


def table(page):
    return page.locator(".pr-table table.pr-board")


def rows(page):
    return table(page).locator("tbody tr")


def names(page) -> list[str]:
    return table(page).locator("tbody .pr-agent").all_inner_texts()


def labels(page) -> list[str]:
    """What the bars say to those who can not see them."""
    return table(page).locator("svg.pr-bar").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")


def status(page):
    return page.locator(".pr-found")


def head(page, label):
    return table(page).get_by_role("button", name=label, exact=True)


def opened(page, label):
    page.locator(".pr-tool").filter(has_text=label).click()


def offered(page, label):
    """Shows a column of the menu."""
    opened(page, "Columns")
    page.locator(".pr-controls .pr-fields").nth(1).get_by_label(label, exact=True).check()


def settled(page):
    """Once the rows below the window are there, too."""
    expect(table(page)).not_to_have_attribute("aria-busy", "true")
