"""The reveal of a sealed season: its secret is published, so that everybody can open the results and verify them."""

from datetime import datetime

from evaluator.host.seeds.season_secret import SecretError, read_secret
from scripts.console import USAGE, CommandError
from scripts.git.data_branches import tip_of
from scripts.git.git_repository import GitRepository
from scripts.maintenance.record_season import record_season
from scripts.repository.checkout import Checkout
from scripts.repository.layout import MAIN_BRANCH
from scripts.repository.season_file import RevealedSecret, SeasonEntry


def reveal_season(checkout: Checkout, secret_text: str, target: GitRepository | None, now: datetime) -> int:
    """Publish the secret, which ends the season; returns how many sealed results it opens.

    `secret_text` is the secret in hexadecimal digits, as the host kept it. `target` is the clone to push from; without one
    it is recorded in this clone only.

    Raises:
        CommandError: the season is not sealed or is revealed already, the secret is not its own, or a push fails.
    """
    challenge = checkout.challenge
    if challenge.sealed is None:
        raise CommandError(USAGE, f"season {challenge.season} is not sealed, so there is nothing to reveal")
    if target is None:  # Otherwise the branch decides.
        _refuse_second_reveal(checkout.seasons.of(challenge.season))
    try:
        secret = read_secret(secret_text, challenge.sealed.secret_sha256)
    except SecretError as error:
        raise CommandError(USAGE, str(error)) from error
    commit = tip_of(target, MAIN_BRANCH) if target else GitRepository(checkout.root).resolve("HEAD")
    if not commit:
        raise CommandError(USAGE, "there is no commit of main here; run this in a clone of the leaderboard's repository")
    revealed = RevealedSecret(secret=secret.raw.hex(), at=now.strftime("%Y-%m-%dT%H:%M:%SZ"), commit=commit)

    def change(entry: SeasonEntry) -> SeasonEntry:
        _refuse_second_reveal(entry)
        return entry.model_copy(update={"revealed": revealed})

    record_season(checkout, change, "reveal", target, now)
    return sum(result.sealed is not None for result in checkout.store.read()[0])


def _refuse_second_reveal(entry: SeasonEntry) -> None:
    """Make sure that a season is revealed once: a second time would let in what was merged in between."""
    if entry.revealed:
        raise CommandError(USAGE, f"season {entry.season} was revealed at {entry.revealed.at}")
