"""`pullrank recorded`: what is recorded on the branch `results`, into results/."""

from pathlib import Path
from typing import Annotated

import typer

from scripts.board import open_board
from scripts.bot.branches import export_results, newest_results
from scripts.bot.git import Credentials, Repository
from scripts.console import OK, say


def run(
    token: Annotated[str, typer.Option(envvar="GITHUB_TOKEN", help="For a repository that is not public.")] = "",
    server: Annotated[str, typer.Option(envvar="GITHUB_SERVER_URL", help="Where the token may go.")] = "https://github.com",
) -> int:
    """Fetch the recorded results; before the first one there are none, which is no fault."""
    board = open_board(Path.cwd())
    clone = Repository(board.root, Credentials(server_url=server, token=token) if token else None)
    sha = newest_results(clone)
    count = export_results(clone, sha, board.root / "results")
    say(f"{count} results of {sha[:12]} are in results/." if sha else "Nothing is recorded yet.")
    return OK
