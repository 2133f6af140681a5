"""Whole sites, built as `pullrank site build` does and served below a folder, as a project's site lies on GitHub Pages."""

import functools
import html.parser
import http.server
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from scripts.repository.checkout import Checkout, open_checkout
from scripts.static_site.build_site import build_in_folder, gather_site_inputs

URL = "https://board.example/board/"
# Looks at a page, 40 ms apart, that find it waiting for nothing.
QUIET = 3


@dataclass(frozen=True)
class Site:
    """A board, its site, and where that is served."""

    board: Checkout
    folder: Path
    address: str

    @cached_property
    def pages(self) -> dict[str, "Page"]:
        """Every page by its path below the site's root."""
        paths = sorted(self.folder.rglob("*.html"))
        return {str(path.relative_to(self.folder)): Page(path.read_text("utf-8")) for path in paths}

    def text(self, path: str) -> str:
        return (self.folder / path).read_text("utf-8")


class Page(html.parser.HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.ids: set[str] = set()
        self.words = ""
        self._silent = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.tags.append((tag, given))
        self.ids.add(given.get("id", ""))
        self._silent += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words += data


class _Pages(http.server.SimpleHTTPRequestHandler):
    """As GitHub Pages: what is not there is the site's own page 404."""

    def log_message(self, *arguments: object) -> None:
        """Nothing."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        content = (Path(self.directory) / "board" / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def serve(place: Path, fill: Callable[[Path], Checkout]) -> Iterator[Site]:
    """Builds the site of a board that `fill` puts on disk; yields it as long as it is served."""
    board = fill(place / "clone")
    table, context = gather_site_inputs(open_checkout(board.root, is_lean=True), official=True)
    (place / "served").mkdir()
    built = build_in_folder(table, replace(context, site_url=URL, pulls={("alice", "angle-rule"): 41}), board.root)
    folder = built.rename(place / "served" / "board")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Pages, directory=str(place / "served")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Site(board, folder, f"http://127.0.0.1:{server.server_port}/board/")
    server.shutdown()
    server.server_close()


class Tab:
    """One tab for many pages: what it was told, what it asked for, and when a page has come to rest."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.messages: list[str] = []
        self.asked: list[str] = []
        self._waiting: set[Any] = set()
        page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        page.on("requestfinished", lambda request: self._waiting.discard(request))
        page.on("requestfailed", self._failed)

    def visit(self, address: str) -> Any:
        """Open a page, and wait until it has all it asks for."""
        self.page.goto("about:blank")
        self.messages.clear()
        self.asked.clear()
        self._waiting.clear()
        self.page.goto(address, wait_until="load")
        quiet = 0
        while quiet < QUIET:
            self.page.wait_for_timeout(40)
            quiet = 0 if self._waiting else quiet + 1
        # A busy machine may not have come to the scripts yet, and long tables are drawn in two parts.
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        self.page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")
        return self.page

    def elsewhere(self, root: str) -> list[str]:
        """What was asked of others than the site at this address."""
        return [url for url in self.asked if not url.startswith((root, "data:", "blob:", "about:"))]

    def _dialog(self, dialog: Any) -> None:
        self.messages.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        self.asked.append(request.url)
        if request.url.startswith("http"):
            self._waiting.add(request)

    def _failed(self, request: Any) -> None:
        self._waiting.discard(request)
        self.messages.append(f"failed: {request.url} {request.failure}")


def on_disk(address: str) -> str:
    """Where the page of an address lies below the site's root."""
    path = unquote(address.partition("?")[0].partition("#")[0])
    return f"{path}index.html" if path == "" or path.endswith("/") else path


TWO = "agents=alice/angle-rule,bob/greeting"
# One page of each kind; the names are those of tests.
KINDS = {
    "home": "",
    "tasks": "tasks/",
    "overall": "overall/",
    "timeline": "timeline/",
    "agents": "all-agents/?find=alice",
    "task": "tasks/CartPole-v1/",
    "task-state": f"tasks/MountainCar-v0/?sort=-Length&failed=1&pick={TWO.removeprefix('agents=')}",
    "task-failed": "tasks/FrozenLake-v1/?failed=1",
    "task-empty": "tasks/ALE%252FPong-v5/",
    "task-hidden": "tasks/Hidden-v0/",
    "script": "tasks/CartPole-v1-from-scratch/",
    "game": "tasks/connect_four/",
    "agent": "agents/alice/angle-rule/",
    "agent-long": f"agents/{'b' * 39}/{'a' * 40}/",
    "agent-script": "agents/gina/learner/",
    "agent-failed": "agents/dora/failed-0/",
    "departed": "agents/frank/gone/",
    "excluded": "agents/mallory/copycat/",
    "duel": "tasks/connect_four/duels/alice+angle-rule--bob+greeting/",
    "compare": "compare/",
    "compare-state": f"compare/?task=CartPole-v1&{TWO}",
    "submit": "submit/",
    "states": "states/",
    "status": "status/?find=alice",
    "ledger": "ledger/",
    "machines": "machines/",
    "rules": "rules/",
    "ranks": "ranks/",
    "integrity": "integrity/",
    "threats": "threats/",
    "host": "host/settings/",
    "404": "404.html",
}
EMPTY = {
    name: KINDS[name]
    for name in ("home", "agents", "timeline", "tasks", "overall", "task", "script", "game", "compare", "status", "ledger")
}
