"""`pullrank recorded`: what is recorded on the branch `results`, into results/, and rendered episodes."""

from pathlib import Path
from typing import Annotated

import typer

from scripts.console import OK, say
from scripts.git.data_branches import export_results, newest_results
from scripts.git.git_repository import Credentials, GitError, GitRepository
from scripts.repository.checkout import Checkout, open_checkout
from scripts.static_site.episode_branch import fetch
from scripts.static_site.render_episodes import place


def run(
    token: Annotated[str, typer.Option(envvar="GITHUB_TOKEN", help="For a repository that is not public.")] = "",
    server: Annotated[str, typer.Option(envvar="GITHUB_SERVER_URL", help="Where the token may go.")] = "https://github.com",
    episodes: Annotated[bool, typer.Option("--episodes", help="Rendered episodes, too, for the site.")] = False,
) -> int:
    """Fetch the recorded results; before the first one there are none, which is no fault."""
    board = open_checkout(Path.cwd())
    clone = GitRepository(board.root, Credentials(server_url=server, token=token) if token else None)
    sha = newest_results(clone)
    count = export_results(clone, sha, board.root / "results")
    say(f"{count} results of {sha[:12]} are in results/." if sha else "Nothing is recorded yet.")
    if episodes:
        _episodes(board, clone)
    return OK


def _episodes(board: Checkout, clone: GitRepository) -> None:
    """The site can be built without them."""
    try:
        say(f"{fetch(clone, board.challenge.season, place(board.root))} results have rendered episodes.")
    except GitError as error:
        say(f"No rendered episodes: {error}")
