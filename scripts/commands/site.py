"""`pullrank site build|serve`: the board as pages."""

import functools
import http.server
from pathlib import Path
from typing import Annotated

import typer

from scripts import site
from scripts.board import open_board
from scripts.console import OK, USAGE, CommandError, say

run = typer.Typer(help="Build the board's site, or show it.", no_args_is_help=True)


@run.command()
def build(official: Annotated[bool, typer.Option(help="Only official results.")] = False) -> int:
    """Build build/site from what is recorded."""
    board = open_board(Path.cwd(), is_lean=True)
    place = site.build(board, official=official)
    say(f"The board is in {place.relative_to(board.root)}; open it with 'pullrank site serve'.")
    return OK


@run.command()
def serve(port: Annotated[int, typer.Option(help="Port on this machine.")] = 8000) -> int:
    """Show build/site in a browser on this machine."""
    place = open_board(Path.cwd()).root / "build" / "site"
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
