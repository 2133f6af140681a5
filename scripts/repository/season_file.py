"""The file season.json, and the results of sealed seasons: encrypted until the secret is revealed, then decrypted.

Every command reads season files, so cryptography, environments and numpy are imported only in the functions that need them.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.model import canonical_json
from evaluator.model.base import Frozen
from evaluator.model.config.challenge import Challenge
from evaluator.model.identifiers import Digest, Line, LongLine
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash
from evaluator.model.validation_messages import error_in_words
from scripts.console import USAGE, CommandError, say

SEASON_FILE = "season.json"
Moment = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]


class SeasonClosing(Frozen):
    """The end of a season."""

    at: Moment
    by: LongLine
    """The name that signs for the season."""
    results: int = Field(ge=0)
    """How many results and duels were verified."""
    steps: int = Field(ge=0)
    """How many environment steps were replayed."""
    files_sha256: Digest
    """SHA-256 of MANIFEST.sha256, the list of hashes of everything in the archive."""
    archive_sha256: Digest


class RevealedSecret(Frozen):
    """The published secret of a sealed season."""

    secret: Digest
    """64 hex digits."""
    at: Moment
    commit: Commit | None = None
    """Where main stood: its agents are those that rank. Earlier versions of pullrank did not record it."""

    @property
    def key(self) -> SeasonSecret:
        """The secret that decrypts results and gives seeds."""
        return SeasonSecret(bytes.fromhex(self.secret))


class SeasonEntry(Frozen):
    """A season that was revealed or closed."""

    season: Line
    revealed: RevealedSecret | None = None
    closed: SeasonClosing | None = None


class SeasonFile(Frozen):
    """The file season.json; seasons are sorted, the oldest first."""

    schema_version: int = Field(default=1, alias="schema", ge=1, le=1)
    seasons: tuple[SeasonEntry, ...] = Field(default=(), max_length=1000)

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        names = [each.season for each in self.seasons]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"the season {twice!r} is listed twice")
        return self

    def of(self, season: str) -> SeasonEntry:
        """The entry of a season; an empty one if it is not listed."""
        return next((each for each in self.seasons if each.season == season), SeasonEntry(season=season))

    def having(self, changed: SeasonEntry) -> Self:
        """A copy with one season's entry replaced or added."""
        by_name = {each.season: each for each in self.seasons} | {changed.season: changed}
        return self.model_copy(update={"seasons": tuple(by_name.values())})

    def over(self, challenge: Challenge, results: Iterable[Result] = ()) -> str | None:
        """Why nothing more is played in the challenge's season; None while it is open. `results`: of all seasons."""
        season = challenge.season
        entry = self.of(season)
        if entry.closed:
            return f"season {season} was closed at {entry.closed.at}"
        if entry.revealed:
            return f"season {season} was revealed at {entry.revealed.at}, so its episodes are known"
        return secret_fault(challenge, self, results)

    def secret_of(self, season: str, beacon: str) -> SeasonSecret | None:
        """The published secret that a result's seeds come from; None if it is not published or another one."""
        revealed = self.of(season).revealed
        if revealed is None or revealed.key.sha256 != secret_hash(beacon):
            return None
        return revealed.key

    def serialised(self) -> bytes:
        """The bytes of season.json."""
        document = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def secret_fault(challenge: Challenge, seasons: SeasonFile, results: Iterable[Result] = ()) -> str | None:
    """What is wrong with a sealed season's secret if it belongs to another season, with whose reveal everybody knows it."""
    if challenge.sealed is None:
        return None
    ours = challenge.sealed.secret_sha256
    revealed = (each.season for each in seasons.seasons if each.revealed and each.revealed.key.sha256 == ours)
    recorded = (result.season for result in results if secret_hash(result.beacon) == ours)
    other = next((season for season in (*revealed, *recorded) if season != challenge.season), None)
    return other and (
        f"season {challenge.season} has the secret of season {other}, whose reveal makes its episodes known; run "
        "'pullrank season seal', and write the new hash into challenge.yml"
    )


def parse_seasons(content: bytes) -> SeasonFile:
    """Parse season.json.

    Raises:
        CommandError: it is damaged; a closed season must not seem open.
    """
    try:
        return SeasonFile.model_validate(canonical_json.parse_strict(content))
    except ValueError as error:
        raise CommandError(
            USAGE, f"{SEASON_FILE} on the results branch is damaged ({error_in_words(error)}); restore its last version"
        ) from error


def read_seasons(results: Path) -> SeasonFile:
    """The season file in results/; empty without one."""
    path = results / SEASON_FILE
    return parse_seasons(path.read_bytes()) if path.exists() else SeasonFile()


def public_score(challenge: Challenge, result: Result) -> float | None:
    """The rounded score that is public until the reveal; None unless the verdict is ok and the score exists."""
    from leaderboard.scoring.intervals import result_value
    from leaderboard.scoring.metrics import is_missing, ranking_metric

    task, rules = challenge.task(result.task), challenge.sealed
    if task is None or rules is None or result.verdict is not Verdict.OK:
        return None
    score = result_value(result, task, ranking_metric(task))
    # Adding 0.0 turns -0.0 into 0.0.
    return None if is_missing(score) else round(score, rules.decimals) + 0.0


def seal_result(
    challenge: Challenge, secret: SeasonSecret | None, result: Result, trace: bytes | None
) -> tuple[Result, bytes | None]:
    """A result and its trace, encrypted with the season's secret; only its rounded score, if it has one, stays readable.

    Unchanged without a secret.
    """
    if secret is None:
        return result, trace
    from evaluator.host.seeds.encryption import encrypt_result

    return encrypt_result(result, trace, public_score(challenge, result), secret)


def is_public_score_correct(challenge: Challenge, content: bytes, secret: SeasonSecret) -> bool:
    """Whether a sealed result's public score is the rounded score of its episodes; true for results that are not sealed."""
    from evaluator.host.seeds.encryption import decrypt_result
    from evaluator.model.records.parse import parse_result

    result = parse_result(content)
    if result.sealed is None:
        return True
    rules = challenge.sealed
    # The rounding of an earlier season is unknown.
    if rules is None or rules.secret_sha256 != secret.sha256:
        return True
    return public_score(challenge, decrypt_result(result, secret)) == result.sealed.score


def decrypt_revealed(results: Iterable[Result], seasons: SeasonFile) -> list[Result]:
    """All results, those of revealed seasons decrypted; results that cannot be decrypted are reported and left out."""
    readable = []
    for result in results:
        secret = seasons.secret_of(result.season, result.beacon) if result.sealed else None
        if secret is None:
            readable.append(result)
            continue
        from evaluator.host.seeds.encryption import decrypt_result

        try:
            readable.append(decrypt_result(result, secret))
        except ValueError as error:
            say(f"{result.path()}.json: cannot be decrypted ({error_in_words(error)}); it is left out")
    return readable
