"""The secret of a sealed season in the jobs of a workflow: read where it belongs, refused where it does not."""

from collections.abc import Iterable

from evaluator.host.seeds.season_secret import VARIABLE, SeasonSecret, SecretError, read_secret
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.result import Result
from evaluator.model.sealed_fields import secret_hash
from scripts.console import OUR_FAULT, USAGE, CommandError

# When a job ends is public, and an agent can be slow on purpose: jobs end at full multiples of this only.
PACE_SECONDS = 600.0


def season_secret(text: str, challenge: Challenge) -> SeasonSecret | None:
    """The secret of a sealed season; None where seeds are open.

    Raises:
        CommandError: it is missing or another one.
    """
    if challenge.sealed is None:
        return None
    try:
        return read_secret(text, challenge.sealed.secret_sha256)
    except SecretError as error:
        raise CommandError(OUR_FAULT, str(error)) from error


def refuse_changed_seeds(challenge: Challenge, results: Iterable[Result]) -> None:
    """Keep a season to the episodes that it began with: scores on others would stand side by side.

    Raises:
        CommandError: something was recorded with another secret, or before the season was sealed, or opened again.
    """
    ours = challenge.sealed and challenge.sealed.secret_sha256
    if any(result.season == challenge.season and secret_hash(result.beacon) != ours for result in results):
        now = "its secret's hash in challenge.yml is another one" if ours else "it was sealed, and challenge.yml says open"
        fault = f"season {challenge.season} has results of other episodes: {now}"
        raise CommandError(OUR_FAULT, f"{fault}; put back what was there, or give the season another name")


def refuse_secret(text: str) -> None:
    """Keep the secret out of what plays strangers' code before it is merged.

    Raises:
        CommandError: it is here.
    """
    if text.strip():
        raise CommandError(
            USAGE, f"{VARIABLE} is set in a preview, which must not know it; give it to the official jobs alone"
        )


def waiting(elapsed: float) -> float:
    """Seconds until a job that has run so long may end."""
    return -elapsed % PACE_SECONDS
