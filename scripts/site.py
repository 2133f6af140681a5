"""Builds the site: hand-written pages and generated ones into build/pages, MkDocs from there into build/site."""

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from leaderboard.anonymity import Shown, as_shown, hidden
from leaderboard.departed import departed
from leaderboard.pages import PageContext, render
from scripts.board import Board
from scripts.commands.rank import compute
from scripts.console import OUR_FAULT, CommandError, people
from scripts.frames import frames


def build(board: Board, *, official: bool) -> Path:
    """Build the site from what is recorded; returns its folder. The old site stays until the new one is whole."""
    pages = board.root / "build" / "pages"
    write_pages(board, pages, official=official)
    with people().status("Building the site …"):
        _run_mkdocs(board)
    return board.root / "build" / "site"


def write_pages(board: Board, pages: Path, *, official: bool) -> None:
    """Everything that MkDocs reads."""
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(board.root / "site" / "pages", pages)
    shutil.copytree(board.root / "site" / "assets", pages / "assets", dirs_exist_ok=True)
    now = datetime.now(UTC)
    found, _ = board.read_all()
    whole = Shown(
        challenge=board.challenge, entries=tuple(f.entry() for f in found), moderation=board.moderation, duels=(),
        results=tuple(board.results_less_unreadable(found)),
    )  # fmt: skip
    seen = as_shown(whole, now) if official else whole
    gone = departed(seen.entries, seen.results, seen.moderation, board.challenge.season)
    table = compute(board, official=official, now=now)
    drawn = frames(table, board.root / "build" / "frames")
    context = PageContext(
        repository=board.challenge.repository,
        site_url=os.environ.get("PULLRANK_SITE_URL", ""),
        results=seen.results,
        generated_at=now.strftime("%Y-%m-%d %H:%M UTC"),
        departed=gone,
        frames=drawn,
        now=now,
        hidden=hidden(board.challenge, now) if official else (),
    )
    for name, text in render(table, context).items():
        path = pages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _run_mkdocs(board: Board) -> None:
    root = board.root
    named = {"PULLRANK_TITLE": board.challenge.title, "PULLRANK_REPOSITORY": board.challenge.repository or ""}
    environment = {**os.environ, **{name: value for name, value in named.items() if value}, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", str(root / "mkdocs.yml")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise CommandError(OUR_FAULT, "MkDocs could not build the site:", *said[-5:])
