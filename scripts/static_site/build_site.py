"""Build the whole static site: pages by MkDocs, agents' pages, documents, cards, the sitemap and robots.txt."""

import hashlib
import html
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from PIL import Image

from leaderboard.api import document_files as documents
from leaderboard.charts.social_cards import SocialCard, draw_position, render_card, social_cards
from leaderboard.core.parallel import Partition, run_in_background
from leaderboard.core.standings import Standings
from leaderboard.core.store import write_atomically
from leaderboard.games.game_drawings import moves_of, position_text
from leaderboard.games.opening_book import has_book
from leaderboard.games.playable_network import NetworkRefused, playable_document
from leaderboard.history import LeaderboardHistory
from leaderboard.pages import agent_page_shell
from leaderboard.pages.agent import agent_page
from leaderboard.pages.episode_replays import posters, typical_episode
from leaderboard.pages.render_pages import render_pages
from leaderboard.site_context import SiteContext, former_entries, reproduced
from leaderboard.text.escape_markdown import escape
from leaderboard.visibility import hidden_tasks
from scripts.console import OUR_FAULT, USAGE, CommandError, say, stderr_console
from scripts.git.git_repository import GitRepository
from scripts.git.pull_numbers import pull_numbers_by_agent
from scripts.pictures.game_frames import rendered_frames
from scripts.pictures.render_episodes import middle_frame, picture_files, poster_files, rendered_replays
from scripts.processes import bounded_process
from scripts.repository.checkout import NO_BOARD, Checkout
from scripts.standings.recorded_standings import rank_recorded, recorded_input
from scripts.static_site import search_index

PAGE_FILE = "index.html"
# The build's job ends after 50 minutes, of which rendering may take 25.
MKDOCS_SECONDS = 1200.0
MKDOCS_BYTES = 1 << 20


def build(checkout: Checkout, *, official: bool) -> Path:
    """Build the site from what is recorded; returns its folder. The old site stays until the new one is complete.

    Raises:
        CommandError: this is no board's clone, or the site cannot be built.
    """
    # MkDocs runs what its settings and the modules beside them say: elsewhere these are of whoever made the folder.
    if checkout.other_challenge is not None:
        raise CommandError(USAGE, NO_BOARD)
    forget_fingerprint(checkout.root)
    standings, context = gather_site_inputs(checkout, official=official)
    with stderr_console().status("Building the site …"):
        return build_in_folder(standings, context, checkout.root)


def gather_site_inputs(checkout: Checkout, *, official: bool) -> tuple[Standings, SiteContext]:
    """All that pages, feeds and documents are built from."""
    now = datetime.now(UTC)
    shown = recorded_input(checkout, official=official, now=now)
    standings = rank_recorded(shown, official=official)
    site_url = os.environ.get("PULLRANK_SITE_URL", "")
    return standings, SiteContext(
        commit=GitRepository(checkout.root).resolve("HEAD"),
        repository=checkout.challenge.repository,
        site_url=f"{site_url.rstrip('/')}/" if site_url else "",
        results=shown.results,
        generated_at=now.strftime("%Y-%m-%d %H:%M UTC"),
        former_entries=former_entries(shown.entries, shown.results, shown.moderation, checkout.challenge.season),
        frames=rendered_frames(standings, checkout.root / "build" / "frames"),
        networks=networks(checkout, standings),
        episodes=rendered_replays(checkout, standings),
        pulls=pull_numbers_by_agent(checkout.root),
        reproduced=reproduced(checkout.results),
        now=now,
        quarantines=shown.moderation.quarantines,
        hidden=hidden_tasks(checkout.challenge, now) if official else (),
    )


def build_in_folder(standings: Standings, context: SiteContext, root: Path) -> Path:
    """Build the site in a folder that has mkdocs.yml and site/; returns the site's folder.

    Two processes share the work. First one writes the documents of the leaderboards, which takes as long as the pages for
    MkDocs and the documents of the agents, which the other one writes; MkDocs runs beside them. Then they write half of the
    agents' pages each.
    """
    site, fresh, from_mkdocs = (root / "build" / name for name in ("site", "site-new", "site-mkdocs"))
    for old in (fresh, from_mkdocs):
        shutil.rmtree(old, ignore_errors=True)
    fresh.mkdir(parents=True)

    def boards() -> list[str]:
        made = chain(card_pictures(standings, context, root / "build"), documents.leaderboard_files(standings, context))
        return _write(fresh, made)

    history = LeaderboardHistory(standings, context.results)
    with run_in_background(boards) as written:
        write_pages(standings, context, history, root)
        with _mkdocs(standings, context, root, from_mkdocs):
            made = chain(
                documents.feed_and_status_files(standings, context, history),
                documents.agent_document_files(standings, context),
            )
            drawn = picture_files(context.episodes, root / "build")
            first_frames = poster_files(posters(standings, context.episodes), root / "build")
            pages = _write(fresh, chain(made, drawn, first_frames))
        pages += [*_folders_with_pages(from_mkdocs, ""), *written()]
    search_index.write(from_mkdocs / search_index.INDEX_FILE, standings)
    _move(from_mkdocs, fresh)
    shell = agent_page_shell.parse_shell((fresh / agent_page_shell.SHELL_ADDRESS / PAGE_FILE).read_text("utf-8"))
    shutil.rmtree(fresh / agent_page_shell.SHELL_ADDRESS.split("/_/")[0])
    pages.remove(agent_page_shell.SHELL_ADDRESS)
    with run_in_background(lambda: _write_agents(shell, standings, context, fresh, Partition(1, 2))) as written:
        pages += _write_agents(shell, standings, context, fresh, Partition(0, 2)) + written()
    for name in ("sitemap.xml", "sitemap.xml.gz"):
        (fresh / name).unlink(missing_ok=True)
    addresses = sorted(map(quote, pages))  # in one order on every machine
    _write(fresh, ((path, text.encode()) for path, text in search_engine_files(context.site_url, addresses)))
    shutil.rmtree(site, ignore_errors=True)
    return fresh.rename(site)


def _write_agents(
    shell: agent_page_shell.PageShell, standings: Standings, context: SiteContext, fresh: Path, share: Partition
) -> list[str]:
    """The pages of the agents of a share; returns their addresses."""
    pages = agent_page.render_agent_pages(standings, context, share)
    return _write(fresh, ((path, shell.page(page).encode()) for path, page in pages))


def _move(source: Path, target: Path) -> None:
    """All files of one folder into another, which may have folders of the same names."""
    for folder, _, names in os.walk(source):
        place = target / Path(folder).relative_to(source)
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            Path(folder, name).rename(place / name)
    shutil.rmtree(source)


def write_pages(standings: Standings, context: SiteContext, history: LeaderboardHistory, root: Path) -> None:
    """Everything that MkDocs reads."""
    pages = root / "build" / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(root / "site" / "pages", pages)
    shutil.copytree(root / "site" / "assets", pages / "assets", dirs_exist_ok=True)
    _write(pages, ((name, text.encode()) for name, text in render_pages(standings, context, history).items()))


def _write(folder: Path, files: Iterable[tuple[str, bytes]]) -> list[str]:
    """Write the files one by one, so that only one is in memory; returns the addresses of the pages among them."""
    pages = []
    for name, content in files:
        path = f"{folder}/{name}"
        try:
            _put(path, content)
        except FileNotFoundError:
            _make_folder(path.rpartition("/")[0])
            _put(path, content)
        if name.endswith(PAGE_FILE):
            pages.append(name.removesuffix(PAGE_FILE))
    return pages


def _make_folder(path: str) -> None:
    """With its parents; another process may make them at the same time."""
    try:
        os.mkdir(path)  # noqa: PTH102  (50,000 times; making a `Path` takes as long as making the folder)
    except FileExistsError:
        pass
    except FileNotFoundError:
        _make_folder(path.rpartition("/")[0])
        _make_folder(path)


def _put(path: str, content: bytes) -> None:
    """Write one file; called 200,000 times on a large site, and `Path.write_bytes` takes twice as long."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        while content:
            content = content[os.write(descriptor, content) :]
    finally:
        os.close(descriptor)


def _folders_with_pages(folder: Path, address: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _folders_with_pages(Path(entry.path), f"{address}{entry.name}/")
            elif entry.name == PAGE_FILE:
                yield address


@contextmanager
def _mkdocs(standings: Standings, context: SiteContext, root: Path, place: Path) -> Iterator[None]:
    """Run MkDocs while the block does something else; afterwards its site is complete."""
    named = {
        # The theme writes the site's name into its pages without escaping.
        "PULLRANK_TITLE": str(escape(standings.challenge.title)), "PULLRANK_SITE_URL": context.site_url,
        "PULLRANK_REPOSITORY": context.repository or standings.challenge.repository or "",
    }  # fmt: skip
    environment = {**os.environ, **{name: value for name, value in named.items() if value}, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(root / "mkdocs.yml")]
    command += ["--site-dir", str(place)]
    with bounded_process(
        command, folder=root, environment=environment, seconds=MKDOCS_SECONDS, at_most=MKDOCS_BYTES
    ) as finish:
        yield
        done = finish()
    if done.is_late:
        raise CommandError(
            OUR_FAULT, f"MkDocs could not build the site in {MKDOCS_SECONDS:g} seconds; build it on a faster machine"
        )
    if done.code != 0:
        printed = (done.errors + done.output).decode("utf-8", "replace").splitlines()
        lines = [line for line in printed if line.strip() and not line.startswith("INFO")]
        lines = lines or [f"it ended with {done.code} and said nothing"]
        raise CommandError(OUR_FAULT, "MkDocs could not build the site:", *lines[-5:])


def card_pictures(standings: Standings, context: SiteContext, built: Path) -> Iterator[tuple[str, bytes]]:
    """Every card: its path below the site's root, and the PNG. Each is drawn when it is asked for."""
    return ((card.file, render_card(card, _picture_beside(card, context, built))) for card in social_cards(standings))


def _picture_beside(card: SocialCard, context: SiteContext, built: Path) -> Image.Image | None:
    """The middle of the leader's typical episode, or the last position of a match; None where neither can be drawn."""
    if card.match:
        task, duel, index = card.match
        text = position_text(task, moves_of(duel)[index])
        return draw_position(text) if text else None
    episode = typical_episode(context.episodes.get(card.episode_of, ()))
    return middle_frame(episode, built) if episode else None


# Addresses in one file (sitemaps.org, "Sitemap file requirements").
SITEMAP_ADDRESSES = 50_000
_XML_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def search_engine_files(site_url: str, addresses: Sequence[str]) -> Iterator[tuple[str, str]]:
    """robots.txt, and the sitemap where the site's own address is known; addresses are quoted, below the site's root."""
    if not site_url:
        yield "robots.txt", "User-agent: *\nAllow: /\n"
        return
    yield "robots.txt", f"User-agent: *\nAllow: /\n\nSitemap: {site_url}sitemap.xml\n"
    starts = range(0, len(addresses), SITEMAP_ADDRESSES)
    parts = [addresses[start : start + SITEMAP_ADDRESSES] for start in starts] or [[]]
    if len(parts) == 1:
        yield "sitemap.xml", _list("urlset", "url", [site_url + address for address in parts[0]])
        return
    for number, part in enumerate(parts, 1):
        yield f"sitemap-{number}.xml", _list("urlset", "url", [site_url + address for address in part])
    named = [f"{site_url}sitemap-{number}.xml" for number in range(1, len(parts) + 1)]
    yield "sitemap.xml", _list("sitemapindex", "sitemap", named)


def _list(root: str, item: str, addresses: Sequence[str]) -> str:
    lines = "".join(f"<{item}><loc>{html.escape(address, quote=False)}</loc></{item}>\n" for address in addresses)
    return f"{_XML_HEAD}<{root} {_NAMESPACE}>\n{lines}</{root}>\n"


_ADAPTER = "onnx"


def networks(checkout: Checkout, standings: Standings) -> Mapping[str, str]:
    """By task the leader's network as a document, where it has one and its manifest names a licence: it may be copied.

    An agent without a name is left out: its numbers would tell whose it is.
    """
    documents = {}
    for board in standings.games:
        if not has_book(board):
            continue
        leader = board.rows[0].entry
        if leader.submission.adapter != _ADAPTER or not leader.submission.license or leader.anonymous:
            continue
        # Read anew: a site is built from a lean checkout, which keeps no files.
        folders = [
            checkout.find(agent.path).folder for agent in checkout.read_all()[0] if agent.folder.digest == leader.digest
        ]
        files = [blob.content for folder in folders for blob in folder.blobs if blob.path == leader.submission.entry]
        try:
            if files:
                documents[board.task.id] = playable_document(files[0])
        except NetworkRefused as error:
            say(f"{leader.shown}: the page of {board.task.id} plays its recorded moves, not its network: {error}")
    return documents


_STAMP = Path("build") / "site-inputs.txt"
_PAGE = Path("build") / "site" / "index.html"
# Neither is made from by hand or recorded; git says in these files what is checked out.
_LEFT_OUT = ("build", "node_modules", "__pycache__")
_GIT_FILES = (".git/HEAD", ".git/logs/HEAD", ".git/packed-refs")


def is_current(root: Path, fingerprint: str) -> bool:
    """Whether the site was built from what has this fingerprint."""
    try:
        return (root / _STAMP).read_text() == fingerprint and (root / _PAGE).exists()
    except OSError:
        return False


def remember_fingerprint(root: Path, fingerprint: str) -> None:
    """Note what the site was built from."""
    write_atomically(root / _STAMP, fingerprint.encode())


def forget_fingerprint(root: Path) -> None:
    """Note that the site is about to be another one."""
    (root / _STAMP).unlink(missing_ok=True)


def fingerprint_of(root: Path, day: str) -> str:
    """A hash over the name, size and time of change of every file of a checkout, the day and the site's address.

    Code of the package is among the files where the checkout is its own; rendered replays are named by their contents.
    """
    digest = hashlib.sha256(f"{day} {os.environ.get('PULLRANK_SITE_URL', '')}".encode())
    for path, status in _files(root):
        digest.update(f"\0{path}\0{status.st_size}\0{status.st_mtime_ns}".encode())
    return digest.hexdigest()


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    for name in _GIT_FILES:
        if (root / name).is_file():
            yield name, (root / name).stat()
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(files):
            path = Path(folder, name)
            yield str(path), path.lstat()
