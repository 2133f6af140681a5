"""`pullrank season seal|reveal|final|close|reopen`: starting and ending a season."""

import os
import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.seeds.season_secret import SECRET_VARIABLE, new_secret
from scripts.console import OK, USAGE, CommandError, print_json, say
from scripts.git.git_repository import Credentials, GitRepository
from scripts.github.doctor.repository_checks import SEASON_ENVIRONMENT
from scripts.maintenance.close_season import close_season, closed_season_folder, refuse_open_phases, write_final
from scripts.maintenance.record_season import record_season
from scripts.maintenance.reveal_season import reveal_season
from scripts.options import GITHUB_SERVER, ServerAddress
from scripts.repository.checkout import Checkout, open_board
from scripts.repository.season_file import SeasonClosing, SeasonEntry, secret_fault

run = typer.Typer(help="Seal, reveal, end, close and reopen a season.", no_args_is_help=True)

Push = Annotated[bool, typer.Option("--push", help="Also record it on the branch results of origin.")]
PushToken = Annotated[str, typer.Option(envvar="GITHUB_TOKEN", help="For --push; needs write access to contents.")]


@run.command()
def seal(
    decimals: Annotated[int, typer.Option(help="Decimals of public scores until the reveal; may be negative.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print secret and hash as JSON.")] = False,
) -> int:
    """Make the secret of a sealed season and print what to do with it; nothing is written."""
    checkout = open_board(Path.cwd())
    challenge = checkout.challenge
    if challenge.sealed and not secret_fault(challenge, checkout.seasons, checkout.store.read()[0]):
        raise CommandError(USAGE, f"season {challenge.season} is sealed already; a secret cannot change in a season")
    if challenge.games:
        raise CommandError(
            USAGE, f"'{challenge.games[0].id}' is a game, and games cannot be sealed; give it a leaderboard of its own"
        )
    secret = new_secret()
    if as_json:
        print_json({"secret": secret.raw.hex(), "secret_sha256": secret.sha256, "decimals": decimals})
        return OK
    say(f"The secret of season {challenge.season}; whoever has it knows every episode:")
    say(f"  {secret.raw.hex()}")
    say("1. Keep a copy where only you can read it: without it nobody can ever open the results.")
    say(f"2. On GitHub, Settings, Environments: make '{SEASON_ENVIRONMENT}', let only the branch main use it, and put the")
    command = f"gh secret set {SECRET_VARIABLE} --env {SEASON_ENVIRONMENT}"
    say(f"   secret into it as {SECRET_VARIABLE}. With the gh command: {command}")
    say("3. Write its hash into challenge.yml, and merge that before the first entry:")
    say(f'     seeds: sealed\n     sealed: {{secret_sha256: "{secret.sha256}", decimals: {decimals}}}')
    if challenge.quota is None:
        say("     quota: {per_day: 1, total: 30}   # choose: every evaluation shows a little of the episodes")
    return OK


@run.command()
def reveal(push: Push = False, token: PushToken = "", server: ServerAddress = GITHUB_SERVER) -> int:
    """Publish the secret, so that everybody can verify; ends the season."""
    checkout, now = open_board(Path.cwd()), datetime.now(UTC)
    secret = os.environ.pop(SECRET_VARIABLE, "")
    count = reveal_season(checkout, secret, _target(checkout, push, token, server), now)
    say(f"Season {checkout.challenge.season} is revealed: 'pullrank verify' opens {count} sealed results and their traces.")
    if not push:
        say("It is recorded in this clone only; the same command with --push records it on the branch results.")
    return OK


@run.command()
def final(
    yes: Annotated[bool, typer.Option("--yes", help="End them even while a phase is open or begins later.")] = False,
) -> int:
    """Write into challenge.yml that submissions have ended; merged, it makes the official run draw once more for all."""
    checkout = open_board(Path.cwd())
    season = checkout.challenge.season
    if not (yes or checkout.challenge.is_final):
        refuse_open_phases(checkout.challenge, datetime.now(UTC))
    write_final(checkout.root / "challenge.yml", checkout.challenge)
    say(f"challenge.yml now says that the submissions of season {season} have ended. Merge it by a pull request:")
    say("1. What is on main then is standing; what is merged later takes no part, and this cannot be taken back.")
    say("2. The official run evaluates every standing version once more, on seeds of the merge; only that ranks.")
    say("3. When it is done: 'pullrank recorded', then 'pullrank season close'.")
    return OK


@run.command()
def close(
    by: Annotated[str, typer.Option(help="Who signs for the season: a person or an organisation.")],
    yes: Annotated[bool, typer.Option("--yes", help="Close it even without an official result.")] = False,
    push: Push = False,
    token: PushToken = "",
    server: ServerAddress = GITHUB_SERVER,
) -> int:
    """Verify everything, freeze the board under seasons/, write summary and citation, pack the archive."""
    checkout, now = open_board(Path.cwd()), datetime.now(UTC)
    season = checkout.challenge.season
    if not by.strip() or len(by) > 200 or not by.isprintable():
        raise CommandError(USAGE, "--by is one line with a name, at most 200 letters")
    target, known = _target(checkout, push, token, server), checkout.seasons.of(season).closed
    if known and target:
        record_season(checkout, partial(_closed_as, known), "close", target, now)
        say(f"Season {season}, closed in this clone by {known.by} at {known.at}, is closed on the branch results, too.")
        return OK
    closing, archive = close_season(checkout, by.strip(), now, even_empty=yes)
    record_season(checkout, partial(_closed_as, closing), "close", target, now)
    say(f"{closing.results} results verified, {closing.steps:,} steps replayed; season {season} is closed.")
    say(f"Archive: {archive.relative_to(checkout.root)}, SHA-256 {closing.archive_sha256}")
    say(f"Commit and push: {closed_season_folder(checkout).relative_to(checkout.root)} CITATION.cff")
    say("Then put the archive where it stays, such as a release of this repository.")
    return OK


@run.command()
def reopen(push: Push = False, token: PushToken = "", server: ServerAddress = GITHUB_SERVER) -> int:
    """Take back that the season was closed: the official run goes on, and its frozen pages are removed."""
    checkout, now = open_board(Path.cwd()), datetime.now(UTC)
    season = checkout.challenge.season
    entry = checkout.seasons.of(season)
    if entry.closed is None:
        raise CommandError(USAGE, f"season {season} is not closed, so there is nothing to reopen")
    target = _target(checkout, push, token, server)
    record_season(checkout, lambda entry: entry.model_copy(update={"closed": None}), "reopen", target, now)
    folder = closed_season_folder(checkout)
    shutil.rmtree(folder, ignore_errors=True)
    say(f"Season {season}, closed at {entry.closed.at}, is open again.")
    say(f"Removed here: {folder.relative_to(checkout.root)}. Commit that.")
    if (checkout.root / "CITATION.cff").exists():
        say("CITATION.cff still cites the close: delete it, or put its content from before back.")
    if entry.revealed:
        say(f"It was revealed at {entry.revealed.at}: its episodes are known, so nothing more is played in it.")
    say("Whoever has the archive or CITATION.cff of the close has what was published then: say that they are void.")
    return OK


def _closed_as(closing: SeasonClosing, entry: SeasonEntry) -> SeasonEntry:
    """The close of this clone, unless the branch has one."""
    if entry.closed:
        raise CommandError(USAGE, f"season {entry.season} was closed at {entry.closed.at}; the next one needs another name")
    return entry.model_copy(update={"closed": closing})


def _target(checkout: Checkout, push: bool, token: str, server: str) -> GitRepository | None:
    """The clone to push from; None if nothing is pushed."""
    credentials = Credentials(server_url=server, token=token) if token else None
    return GitRepository(checkout.root, credentials) if push else None
