"""Results of revealed seasons, opened with the secrets that were published."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from evaluator.host.seeds.encryption import decrypt_result, encrypt_result
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.solo.verify_result import parse_result
from evaluator.model import canonical_json
from evaluator.model.base import Frozen
from evaluator.model.config.challenge import Challenge
from evaluator.model.identifiers import Digest, Line, LongLine
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash
from leaderboard.core.store import write_atomically
from leaderboard.scoring.intervals import values
from leaderboard.scoring.metrics import is_missing, ranking
from scripts.console import OUR_FAULT, USAGE, CommandError, say

NAME = "season.json"
Moment = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]


class Closing(Frozen):
    """How a season ended."""

    at: Moment
    by: LongLine
    """Who signs for it."""
    results: int = Field(ge=0)
    """Results and duels that were verified."""
    steps: int = Field(ge=0)
    """Environment steps that were replayed for it."""
    files_sha256: Digest
    """SHA-256 of MANIFEST.sha256, the list of hashes of everything in the archive."""
    archive_sha256: Digest


class Revealed(Frozen):
    """A secret, published."""

    secret: Digest
    """The 64 hex digits."""
    at: Moment

    @property
    def key(self) -> SeasonSecret:
        """What opens results and gives seeds."""
        return SeasonSecret(bytes.fromhex(self.secret))


class Season(Frozen):
    """What happened to one season."""

    season: Line
    revealed: Revealed | None = None
    """Its secret, where it was sealed and is revealed."""
    closed: Closing | None = None
    """Its end, once it is closed."""


class Seasons(Frozen):
    """season.json."""

    schema_version: int = Field(default=1, alias="schema", ge=1, le=1)
    seasons: tuple[Season, ...] = Field(default=(), max_length=1000)

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        names = [one.season for one in self.seasons]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"the season {twice!r} stands twice")
        return self

    def of(self, season: str) -> Season:
        """What happened to a season; nothing yet where it is not named."""
        return next((one for one in self.seasons if one.season == season), Season(season=season))

    def having(self, changed: Season) -> Self:
        """The same with one season's news."""
        others = tuple(one for one in self.seasons if one.season != changed.season)
        where = [one.season for one in self.seasons]
        at = where.index(changed.season) if changed.season in where else len(others)
        return self.model_copy(update={"seasons": (*others[:at], changed, *others[at:])})

    def over(self, season: str) -> str | None:
        """Why nothing more is played in a season; None while it runs."""
        found = self.of(season)
        if found.closed:
            return f"season {season} was closed at {found.closed.at}"
        if found.revealed:
            return f"season {season} was revealed at {found.revealed.at}, so its episodes are known"
        return None

    def secret_of(self, season: str, beacon: str) -> SeasonSecret | None:
        """The published secret that a result's episodes come from, if it is published and the right one."""
        revealed = self.of(season).revealed
        if revealed is None or revealed.key.sha256 != secret_hash(beacon):
            return None
        return revealed.key

    def serialised(self) -> bytes:
        """The bytes of season.json."""
        document = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def parse_seasons(content: bytes) -> Seasons:
    """What season.json says.

    Raises:
        CommandError: it is damaged; then nothing goes on, for a closed season must not seem open.
    """
    try:
        return Seasons.model_validate(canonical_json.parse_strict(content))
    except ValueError as error:
        reason = " ".join(str(error).split())[:200]
        raise CommandError(
            USAGE, f"{NAME} on the results branch is damaged ({reason}); put its last version back"
        ) from error


def read_seasons(results: Path) -> Seasons:
    """What is recorded beside the results; nothing happened where there is no file."""
    path = results / NAME
    return parse_seasons(path.read_bytes()) if path.exists() else Seasons()


def write_seasons(results: Path, seasons: Seasons) -> Path:
    """Record it beside the results."""
    path = results / NAME
    write_atomically(path, seasons.serialised())
    return path


def rounded(challenge: Challenge, result: Result) -> float | None:
    """The score that is public until the reveal; None unless the verdict is ok and there is a value."""
    task, rules = challenge.task(result.task), challenge.sealed
    if task is None or rules is None or result.verdict is not Verdict.OK:
        return None
    score = values([result], task, ranking(task))[0]
    # Adding 0 makes -0.0 the zero that everybody writes.
    return None if is_missing(score) else round(score, rules.decimals) + 0.0


def sealed_with(
    challenge: Challenge, secret: SeasonSecret, result: Result, trace: bytes | None
) -> tuple[Result, bytes | None]:
    """A result and its trace as they may leave a machine that knows the secret.

    Raises:
        CommandError: the result is ok and has no score.
    """
    score = rounded(challenge, result)
    if score is None and result.verdict is Verdict.OK:
        raise CommandError(OUR_FAULT, "a metric has no value to rank by; a sealed season needs one that always has")
    return encrypt_result(result, trace, score, secret)


def is_score_right(challenge: Challenge, content: bytes, secret: SeasonSecret) -> bool:
    """Whether the score that a sealed result shows is that of its episodes; one that is not sealed shows none."""
    result = parse_result(content)
    if result.sealed is None:
        return True
    rules = challenge.sealed
    # Of an earlier season the rounding is not known any more.
    if rules is None or rules.secret_sha256 != secret.sha256:
        return True
    return rounded(challenge, decrypt_result(result, secret)) == result.sealed.score


def opened(results: Iterable[Result], seasons: Seasons) -> list[Result]:
    """All results, those of revealed seasons with their episodes; what does not open is named and left out."""
    found = []
    for result in results:
        secret = seasons.secret_of(result.season, result.beacon) if result.sealed else None
        try:
            found.append(_opened(result, secret) if secret else result)
        except ValueError as error:
            say(f"{result.path()}.json: cannot be opened ({' '.join(str(error).split())[:200]}); it is left out")
    return found


def _opened(result: Result, secret: SeasonSecret) -> Result:
    # Cryptography is imported only where a season was revealed.
    from evaluator.host.seeds.encryption import decrypt_result

    return decrypt_result(result, secret)
