"""`pullrank recorded`: fetches the branch `results` into results/, and rendered episodes if wanted."""

from pathlib import Path
from typing import Annotated

import typer

from scripts.console import OK, say
from scripts.git.data_branches import export_files, results_commit
from scripts.git.git_repository import Credentials, GitError, GitRepository
from scripts.options import GITHUB_SERVER, ServerAddress
from scripts.pictures.episode_branch import fetch
from scripts.pictures.render_episodes import episodes_folder
from scripts.repository.checkout import open_checkout


def run(
    token: Annotated[str, typer.Option(envvar="GITHUB_TOKEN", help="Token for a private repository.")] = "",
    server: ServerAddress = GITHUB_SERVER,
    episodes: Annotated[bool, typer.Option("--episodes", help="Fetch rendered episodes too.")] = False,
) -> int:
    """Fetch the recorded results into results/; it is no error if there are none yet."""
    checkout = open_checkout(Path.cwd())
    clone = GitRepository(checkout.root, Credentials(server_url=server, token=token) if token else None)
    sha = results_commit(clone)
    count = export_files(clone, sha, checkout.root / "results")
    say(f"{count} results of {sha[:12]} are in results/." if sha else "Nothing is recorded yet.")
    if episodes:
        try:
            count = fetch(clone, checkout.challenge.season, episodes_folder(checkout.root))
            say(f"{count} results have rendered episodes.")
        except GitError as error:  # The site can be built without them.
            say(f"No rendered episodes: {error}")
    return OK
