"""How long a site takes to build and how large it gets: boards of 100, 1,000 and 10,000 agents on 8 tasks, on disk.

Everything from the store to build/site, in a process of its own: read, rank, pages, MkDocs, documents. No replays: they
are rendered once per trace and kept.
"""

import contextlib
import functools
import gzip
import http.server
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Response, sync_playwright

from bench.synthetic_board import write_board
from evaluator.host.deterministic import pinned_variables
from evaluator.host.usage import MIB

ROOT = Path(__file__).parents[1]
SIZES = (100, 1_000, 10_000)
PROBE_SECONDS = 2.0
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def build(place: Path) -> dict[str, float]:
    """Build the site of a board; seconds, greatest memory of all its processes together in MiB, bytes and files.

    As in a fresh clone: an older site is out of the way before and goes afterwards. To delete 200,000 files takes half a
    minute, and for five minutes more ext4 passes over each of their inodes whenever it looks for a free one
    (`recently_deleted` in its fs/ext4/ialloc.c), which makes a new file up to six times as dear.
    """
    older = place.with_name(f"{place.name}-older")
    shutil.rmtree(older, ignore_errors=True)  # of a run that was killed
    if (place / "build").exists():
        (place / "build").rename(older)
    try:
        return _build(place)
    finally:
        shutil.rmtree(older, ignore_errors=True)


def _build(place: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "scripts.cli", "site", "build", "--official"]
    # As from a shell: the bench pins its own arithmetic, and the command says for itself what it needs.
    own = {name: value for name, value in os.environ.items() if name not in pinned_variables()}
    environment = {**own, "PYTHONPATH": str(ROOT), "PULLRANK_SITE_URL": "https://board.example/"}
    before = _yardstick()
    begun, peak = time.perf_counter(), 0
    done = subprocess.Popen(command, cwd=place, env=environment, stdout=subprocess.DEVNULL)
    while done.poll() is None:
        # A look goes through all pages of memory, which costs what is measured; so there are few of them.
        peak = max(peak, sum(map(_memory, _family(done.pid))))
        with contextlib.suppress(subprocess.TimeoutExpired):
            done.wait(PROBE_SECONDS)
    if done.returncode:
        raise RuntimeError(f"the site was not built ({done.returncode})")
    seconds, after = time.perf_counter() - begun, _yardstick()
    sizes = [path.stat().st_size for path in (place / "build" / "site").rglob("*") if path.is_file()]
    return {
        "seconds": seconds, "seconds in loops of the yardstick": seconds * 2 / (before + after),
        "MiB of memory": peak / MIB, "MiB of site": sum(sizes) / MIB, "files": float(len(sizes)),
    }  # fmt: skip


def _yardstick() -> float:
    """Seconds of a loop in plain Python, before and after: a shared machine may be three times as slow as an hour ago."""
    begun = time.perf_counter()
    whole = 0
    for number in range(10_000_000):
        whole += number
    return time.perf_counter() - begun


def _family(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            pids = children.read_text().split()
        except OSError:
            continue
        for child in pids:
            yield from _family(int(child))


def _memory(pid: int) -> int:
    """A process's share of memory: what it shares with others counts in parts."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


def page_figures(site: Path) -> dict[str, float]:
    """What a task's page loads before anybody touches it, gzipped file by file; and how long its table takes to sort."""
    with _served(site) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        loaded: list[Response] = []
        page.on("response", lambda response: loaded.append(response))
        page.goto(f"{address}tasks/task-0/", wait_until="networkidle")
        before = sum(len(gzip.compress(response.body(), 6)) for response in list(loaded))
        heads = page.locator("table.pr-board thead button")
        heads.first.click()
        page.wait_for_load_state("networkidle")
        sorted_in = [page.evaluate(_SORT, index) for index in range(heads.count()) for _ in range(3)]
        browser.close()
    times, whole = (sorted(one[part] for one in sorted_in) for part in range(2))
    return {
        "kB gzipped of a task's page": before / 1000,
        "ms to sort": times[len(times) // 2],
        "ms to sort at most": times[-1],
        "ms to sort, rows below the window too": whole[len(whole) // 2],
    }


# From a click on a column's head to the frame with other rows, and until those below the window are there too.
_SORT = """index => new Promise((resolve) => {
  const table = document.querySelector("table.pr-board");
  const begun = performance.now();
  // Asked for before the click, so that the page's own work after the frame comes behind.
  requestAnimationFrame(() => setTimeout(() => {
    const shown = performance.now() - begun;
    const wait = () => table.hasAttribute("aria-busy") ? setTimeout(wait) : resolve([shown, performance.now() - begun]);
    wait();
  }));
  table.querySelectorAll("thead button")[index].click();
})"""


@contextlib.contextmanager
def _served(site: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        """Nothing."""


def run(sizes: tuple[int, ...] = SIZES, keep: Path | None = None) -> dict[str, dict[str, float]]:
    """Figures for boards of growing size, one run each; `keep` holds the boards afterwards."""
    figures: dict[str, float] = {}
    place = keep or Path(tempfile.mkdtemp(prefix="pullrank-site-"))
    try:
        for count in sizes:
            board = place / str(count)
            if not board.exists():
                write_board(board, count)
            figures_of_site = build(board)
            if CHROMIUM:
                figures_of_site |= page_figures(board / "build" / "site")
            for name, value in figures_of_site.items():
                figures[f"site of {count:,} agents × 8 tasks, {name}"] = value
        for small, large in itertools.pairwise(sizes):
            times = [figures[f"site of {n:,} agents × 8 tasks, seconds"] / n for n in (small, large)]
            figures[f"site, time per agent, {large:,} / {small:,}"] = times[1] / times[0]
    finally:
        if keep is None:
            shutil.rmtree(place)
    return {name: {"median": value, "min": value, "max": value} for name, value in figures.items()}


def main() -> None:
    """`python -m bench.site_bench [SIZE …] [--keep FOLDER]`: these sizes only, as JSON."""
    arguments: list[Any] = sys.argv[1:]
    keep = Path(arguments.pop(arguments.index("--keep") + 1)) if "--keep" in arguments else None
    sizes = tuple(int(text) for text in arguments if text.isdigit()) or SIZES
    print(json.dumps({name: figure["median"] for name, figure in run(sizes, keep).items()}, indent=1))


if __name__ == "__main__":
    main()
