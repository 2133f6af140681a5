"""`pullrank site build|serve`: builds the site, or serves it on this machine."""

import functools
import http.server
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.deterministic import run_pinned
from scripts.console import OK, USAGE, CommandError, say
from scripts.options import OfficialOnly
from scripts.repository.checkout import Checkout, open_checkout
from scripts.static_site import build_site

run = typer.Typer(help="Build the site, or serve it on this machine.", no_args_is_help=True)


@run.command()
def build(official: OfficialOnly = False) -> int:
    """Build build/site from the recorded results."""
    checkout = open_checkout(Path.cwd(), is_lean=True)
    if needs_pinning(checkout):
        run_pinned(os.environ, ["-m", "scripts.cli", *sys.argv[1:]])
    folder = build_site.build(checkout, official=official)
    say(f"The board is in {folder.relative_to(checkout.root)}; open it with 'pullrank site serve'.")
    return OK


def needs_pinning(checkout: Checkout) -> bool:
    """Whether the site's numbers depend on the processor: ratings and animated episodes do, scores do not.

    Where nothing does, arithmetic is not pinned, which makes resampling three times as fast.
    """
    return bool(checkout.challenge.games) or checkout.store.traces.is_dir()


@run.command()
def serve(port: Annotated[int, typer.Option(help="Port on this machine.")] = 8000) -> int:
    """Serve build/site on this machine."""
    folder = open_checkout(Path.cwd()).root / "build" / "site"
    if not folder.is_dir():
        raise CommandError(USAGE, "there is no build/site yet; run 'pullrank site build' first")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise CommandError(USAGE, f"port {port} cannot be used ({error.strerror}); try --port {port + 1}") from error
    say(f"The board is at http://127.0.0.1:{server.server_port}/ until you press Ctrl-C.")
    with server:
        server.serve_forever()
    return OK
