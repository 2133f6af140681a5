"""`pullrank site build|serve`: the board as pages."""

import functools
import http.server
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.deterministic import run_pinned
from scripts.console import OK, USAGE, CommandError, say
from scripts.repository.checkout import Checkout, open_checkout
from scripts.static_site import build_site

run = typer.Typer(help="Build the board's site, or show it.", no_args_is_help=True)


@run.command()
def build(official: Annotated[bool, typer.Option(help="Only official results.")] = False) -> int:
    """Build build/site from what is recorded."""
    board = open_checkout(Path.cwd(), is_lean=True)
    if hangs_on_processor(board):
        run_pinned(os.environ, ["-m", "scripts.cli", *sys.argv[1:]])
    place = build_site.build(board, official=official)
    say(f"The board is in {place.relative_to(board.root)}; open it with 'pullrank site serve'.")
    return OK


def hangs_on_processor(board: Checkout) -> bool:
    """Whether players are rated, or environments stepped for moving pictures; scores are the same everywhere.

    Where nothing does, the processor's fast ways are free to be taken: resampling is done in a third of the time.
    """
    return bool(board.challenge.games) or board.store.traces.is_dir()


@run.command()
def serve(port: Annotated[int, typer.Option(help="Port on this machine.")] = 8000) -> int:
    """Show build/site in a browser on this machine."""
    place = open_checkout(Path.cwd()).root / "build" / "site"
    if not place.is_dir():
        raise CommandError(USAGE, "there is no build/site yet; run 'pullrank site build' first")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(place))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise CommandError(USAGE, f"port {port} cannot be used ({error.strerror}); try --port {port + 1}") from error
    say(f"The board is at http://127.0.0.1:{server.server_port}/ until you press Ctrl-C.")
    with server:
        server.serve_forever()
    return OK
