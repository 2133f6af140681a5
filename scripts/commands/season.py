"""`pullrank season seal|reveal|close`: what a host does at the beginning and at the end of a season."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.seeds.season_secret import VARIABLE, SecretError, new_secret, read_secret
from scripts.console import OK, USAGE, CommandError, print_json, say
from scripts.git.git_repository import Credentials, GitRepository
from scripts.repository.checkout import Checkout, open_checkout
from scripts.repository.season_file import Revealed, Seasons
from scripts.seasons.close_season import close_season as close_season
from scripts.seasons.publish_season import keep
from scripts.seasons.publish_season import publish as publish_news

ENVIRONMENT = "season"
run = typer.Typer(help="Seal, reveal and close a season.", no_args_is_help=True)

Push = Annotated[bool, typer.Option("--push", help="Also record it on the branch results of origin.")]
Token = Annotated[str, typer.Option(envvar="GITHUB_TOKEN", help="For --push; may write contents.")]
Server = Annotated[str, typer.Option(envvar="GITHUB_SERVER_URL", help="Where the token may go.")]
GITHUB = "https://github.com"


@run.command()
def seal(
    decimals: Annotated[int, typer.Option(help="Digits of scores until the reveal; negative: before the point.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print secret and hash as JSON.")] = False,
) -> int:
    """Make the secret of a sealed season and say what goes where; nothing is written."""
    challenge = open_checkout(Path.cwd()).challenge
    if challenge.sealed:
        raise CommandError(USAGE, f"season {challenge.season} is sealed already; a secret cannot change in a season")
    if challenge.games:
        raise CommandError(
            USAGE, f"'{challenge.games[0].id}' is a game, and games cannot be sealed; give it a board of its own"
        )
    secret = new_secret()
    if as_json:
        print_json({"secret": secret.raw.hex(), "secret_sha256": secret.sha256, "decimals": decimals})
        return OK
    say(f"The secret of season {challenge.season}; whoever has it knows every episode:")
    say(f"  {secret.raw.hex()}")
    say("1. Keep a copy where only you can read it: without it nobody can ever open the results.")
    say(f"2. On GitHub, Settings, Environments: make '{ENVIRONMENT}', let only the branch main use it, and put the")
    say(f"   secret into it as {VARIABLE}. With the gh command: gh secret set {VARIABLE} --env {ENVIRONMENT}")
    say("3. Write its hash into challenge.yml, and merge that before the first entry:")
    say(f'     seeds: sealed\n     sealed: {{secret_sha256: "{secret.sha256}", decimals: {decimals}}}')
    if challenge.quota is None:
        say("     quota: {per_day: 1, total: 30}   # choose: every evaluation shows a little of the episodes")
    return OK


@run.command()
def reveal(push: Push = False, token: Token = "", server: Server = GITHUB) -> int:
    """Publish the secret, so that everybody can verify; nothing more is played in the season."""
    board, now = open_checkout(Path.cwd()), _now()
    challenge = board.challenge
    if challenge.sealed is None:
        raise CommandError(USAGE, f"season {challenge.season} is not sealed, so there is nothing to reveal")
    if known := board.seasons.of(challenge.season).revealed:
        raise CommandError(USAGE, f"season {challenge.season} was revealed at {known.at}")
    try:
        secret = read_secret(os.environ.pop(VARIABLE, ""), challenge.sealed.secret_sha256)
    except SecretError as error:
        raise CommandError(USAGE, str(error)) from error
    news = Revealed(secret=secret.raw.hex(), at=now.strftime("%Y-%m-%dT%H:%M:%SZ"))
    _tell(board, {"revealed": news}, f"reveal season {challenge.season}", (push, token, server), now)
    count = sum(result.sealed is not None for result in board.store.read()[0])
    say(f"Season {challenge.season} is revealed: 'pullrank verify' opens {count} sealed results and their traces.")
    if not push:
        say("This clone alone knows it; --push puts it on the branch results.")
    return OK


@run.command()
def close(
    by: Annotated[str, typer.Option(help="Who signs for the season: a name, or the organisers.")],
    push: Push = False,
    token: Token = "",
    server: Server = GITHUB,
) -> int:
    """Verify everything, freeze the board under seasons/, write summary and citation, pack the archive."""
    board, now = open_checkout(Path.cwd()), _now()
    season = board.challenge.season
    if not by.strip() or len(by) > 200 or not by.isprintable():
        raise CommandError(USAGE, "--by is one line with a name, at most 200 letters")
    done = close_season(board, by.strip(), now, quiet=False)
    _tell(board, {"closed": done.closing}, f"close season {season}", (push, token, server), now)
    say(f"{done.closing.results} results verified, {done.closing.steps:,} steps replayed; season {season} is closed.")
    say(f"Archive: {done.archive.path.relative_to(board.root)}, SHA-256 {done.archive.sha256}")
    say(f"Commit and push: {' '.join(str(path.relative_to(board.root)) for path in done.written)}")
    say("Then put the archive where it stays, such as a release of this repository.")
    return OK


def _now() -> datetime:
    return datetime.now(UTC)


def _tell(board: Checkout, news: dict[str, object], message: str, where: tuple[bool, str, str], now: datetime) -> None:
    """Record the news; on the branch first, so that a refusal there leaves this clone as it was."""
    season, (push, token, server) = board.challenge.season, where

    def change(seasons: Seasons) -> Seasons:
        return seasons.having(seasons.of(season).model_copy(update=news))

    if push:
        clone = GitRepository(board.root, Credentials(server_url=server, token=token) if token else None)
        publish_news(clone, season, change, message, now)
    keep(board, change)
