"""What jobs keep to in a sealed season: where its secret may be, that it stays the same, and that times tell nothing."""

import contextlib
import time
from collections.abc import Collection, Iterator

from evaluator.host.seeds.season_secret import SECRET_VARIABLE, SeasonSecret, SecretError, read_secret
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.result import Result
from evaluator.model.sealed_fields import secret_hash
from scripts.console import OUR_FAULT, USAGE, CommandError
from scripts.repository.season_file import SeasonFile, secret_fault

# The times of a job are public, and an agent can be slow on purpose, or have much to be replayed, to signal something: what
# depends on it lasts a full multiple of this.
JOB_SLOT_SECONDS = 600.0


def required_secret(text: str, challenge: Challenge) -> SeasonSecret | None:
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


def refuse_changed_seeds(challenge: Challenge, seasons: SeasonFile, results: Collection[Result]) -> None:
    """Make sure that a season keeps its episodes, since scores on different ones cannot be compared, and has them alone.

    Raises:
        CommandError: results were recorded with another secret, or before the season was sealed or opened, or the secret is
            another season's.
    """
    if seasons.of(challenge.season).revealed is None and (fault := secret_fault(challenge, seasons, results)):
        raise CommandError(OUR_FAULT, fault)
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


@contextlib.contextmanager
def padded_if_sealed(challenge: Challenge) -> Iterator[None]:
    """In a sealed season the block lasts a full multiple of `JOB_SLOT_SECONDS`, also where it fails."""
    begun = time.monotonic()
    try:
        yield
    finally:
        if challenge.sealed:
            time.sleep((begun - time.monotonic()) % JOB_SLOT_SECONDS)
