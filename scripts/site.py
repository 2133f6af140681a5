"""Builds the site: pages into build/pages, MkDocs from there, then what is too much for it, into build/site."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from leaderboard import agent_pages, shell, sitemap
from leaderboard.anonymity import Shown, as_shown, hidden
from leaderboard.api import site as documents
from leaderboard.departed import departed
from leaderboard.markdown import escape
from leaderboard.pages import PageContext, render
from leaderboard.reproduced import reproduced
from leaderboard.standings import Standings
from scripts.board import Board
from scripts.bot.pulls import pulls
from scripts.cards import card_pictures
from scripts.commands.rank import compute
from scripts.console import OUR_FAULT, CommandError, people
from scripts.episodes import drawn, pictures
from scripts.frames import frames


def build(board: Board, *, official: bool) -> Path:
    """Build the site from what is recorded; returns its folder. The old site stays until the new one is whole."""
    table, context = gather(board, official=official)
    with people().status("Building the site …"):
        return make(table, context, board.root)


def gather(board: Board, *, official: bool) -> tuple[Standings, PageContext]:
    """All that pages, feeds and documents are made of."""
    now = datetime.now(UTC)
    found, _ = board.read_all()
    whole = Shown(
        challenge=board.challenge, entries=tuple(f.entry() for f in found), moderation=board.moderation, duels=(),
        results=tuple(board.results_less_unreadable(found)),
    )  # fmt: skip
    seen = as_shown(whole, now) if official else whole
    table = compute(board, official=official, now=now)
    site_url = os.environ.get("PULLRANK_SITE_URL", "")
    return table, PageContext(
        repository=board.challenge.repository,
        site_url=f"{site_url.rstrip('/')}/" if site_url else "",
        results=seen.results,
        generated_at=now.strftime("%Y-%m-%d %H:%M UTC"),
        departed=departed(seen.entries, seen.results, seen.moderation, board.challenge.season),
        frames=frames(table, board.root / "build" / "frames"),
        episodes=drawn(board, table),
        pulls=pulls(board.root),
        reproduced=reproduced(whole.results),
        now=now,
        hidden=hidden(board.challenge, now) if official else (),
    )


def make(table: Standings, context: PageContext, root: Path) -> Path:
    """The whole site of a folder that holds mkdocs.yml and site/; returns where it lies."""
    site, fresh = root / "build" / "site", root / "build" / "site-new"
    write_pages(table, context, root)
    shutil.rmtree(fresh, ignore_errors=True)
    _run_mkdocs(table, context, root, fresh)
    frame = shell.cut((fresh / shell.ADDRESS / "index.html").read_text("utf-8"))
    shutil.rmtree(fresh / shell.ADDRESS.split("/_/")[0])
    _write(fresh, ((path, frame.page(page).encode()) for path, page in agent_pages.render(table, context)))
    _write(fresh, documents.files(table, context))
    _write(fresh, pictures(context.episodes, root / "build"))
    _write(fresh, card_pictures(table))
    for name in ("sitemap.xml", "sitemap.xml.gz"):
        (fresh / name).unlink(missing_ok=True)
    _write(fresh, ((path, text.encode()) for path, text in sitemap.files(context.site_url, _addresses(fresh))))
    shutil.rmtree(site, ignore_errors=True)
    return fresh.rename(site)


def write_pages(table: Standings, context: PageContext, root: Path) -> None:
    """Everything that MkDocs reads."""
    pages = root / "build" / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(root / "site" / "pages", pages)
    shutil.copytree(root / "site" / "assets", pages / "assets", dirs_exist_ok=True)
    _write(pages, ((name, text.encode()) for name, text in render(table, context).items()))


def _write(folder: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """One file after the other, so that no more than one is in memory."""
    for name, content in files:
        path = folder / name
        try:
            path.write_bytes(content)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _addresses(site: Path) -> list[str]:
    """Of every page there is, quoted, in one order on every machine."""
    return sorted(quote(address) for address in _folders_with_pages(site, ""))


def _folders_with_pages(folder: Path, address: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _folders_with_pages(Path(entry.path), f"{address}{entry.name}/")
            elif entry.name == "index.html":
                yield address


def _run_mkdocs(table: Standings, context: PageContext, root: Path, place: Path) -> None:
    named = {
        # The theme writes the site's name into its pages as it is.
        "PULLRANK_TITLE": str(escape(table.challenge.title)), "PULLRANK_SITE_URL": context.site_url,
        "PULLRANK_REPOSITORY": context.repository or table.challenge.repository or "",
    }  # fmt: skip
    environment = {**os.environ, **{name: value for name, value in named.items() if value}, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", str(root / "mkdocs.yml")]
    command += ["--site-dir", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise CommandError(OUR_FAULT, "MkDocs could not build the site:", *said[-5:])
