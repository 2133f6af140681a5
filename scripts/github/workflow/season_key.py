"""The secret of a sealed season in workflow jobs: read where it is needed, refused where it must not be."""

from collections.abc import Iterable

from evaluator.host.seeds.season_secret import SECRET_VARIABLE, SeasonSecret, SecretError, read_secret
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.result import Result
from evaluator.model.sealed_fields import secret_hash
from scripts.console import OUR_FAULT, USAGE, CommandError

# The end of a job is public, and an agent can be slow on purpose to signal something: jobs end at full multiples of this.
PACE_SECONDS = 600.0


def season_secret(text: str, challenge: Challenge) -> SeasonSecret | None:
    """The secret of a sealed season; None for open seeds.

    Raises:
        CommandError: it is missing, or not the one of the hash.
    """
    if challenge.sealed is None:
        return None
    try:
        return read_secret(text, challenge.sealed.secret_sha256)
    except SecretError as error:
        raise CommandError(OUR_FAULT, str(error)) from error


def refuse_changed_seeds(challenge: Challenge, results: Iterable[Result]) -> None:
    """Make sure that a season keeps its episodes: scores on different episodes cannot be compared.

    Raises:
        CommandError: results were recorded with another secret, or before the season was sealed or opened.
    """
    ours = challenge.sealed and challenge.sealed.secret_sha256
    if any(result.season == challenge.season and secret_hash(result.beacon) != ours for result in results):
        now = "its secret's hash in challenge.yml is another one" if ours else "it was sealed, and challenge.yml says open"
        fault = f"season {challenge.season} has results of other episodes: {now}"
        raise CommandError(OUR_FAULT, f"{fault}; put back what was there, or give the season another name")


def refuse_secret(text: str) -> None:
    """Make sure that the secret is not in a job that runs unmerged code of strangers.

    Raises:
        CommandError: it is set.
    """
    if text.strip():
        raise CommandError(
            USAGE, f"{SECRET_VARIABLE} is set in a preview, which must not know it; give it to the official jobs alone"
        )


def seconds_to_wait(elapsed: float) -> float:
    """Seconds until a job that has run for `elapsed` seconds may end."""
    return -elapsed % PACE_SECONDS
