"""The secret of a sealed season, whose episodes are the same for every entry and unknown before the reveal."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

from evaluator.model import canonical_json
from evaluator.model.sealed_fields import sealed_beacon

SECRET_VARIABLE = "PULLRANK_SEASON_SECRET"
SEALED_EPISODE_LABEL = "pullrank-sealed-1"
SEALED_AGENT_LABEL = "pullrank-sealed-agent-1"
SEALED_TRAINING_LABEL = "pullrank-sealed-training-1"
_HEX = re.compile(r"[0-9a-f]{64}")


class SecretError(Exception):
    """The secret is missing or wrong; the message says what to do."""


@dataclass(frozen=True)
class SeasonSecret:
    """32 random bytes, hidden from logs, messages and tracebacks."""

    raw: bytes = field(repr=False)

    @property
    def sha256(self) -> str:
        """The secret's SHA-256, as in challenge.yml."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def beacon(self) -> str:
        """The beacon of results of this season."""
        return sealed_beacon(self.sha256)

    def episode_seeds(self, season: str, task_id: str, episodes: int, first: int = 0) -> tuple[str, ...]:
        """The environment seed of each episode as 32 hex digits: the same for every entry."""
        return tuple(self._derive([SEALED_EPISODE_LABEL, season, task_id, i]) for i in range(first, first + episodes))

    def script_seed(self, season: str, submission_digest: str, task_id: str, episode: int, counts_from: int) -> str:
        """The environment seed of a script's episode, of which those from the number `counts_from` on count.

        The ones that count are numbered by themselves, as an agent's are: else a version chose which of the season's
        episodes count by how many it begins before. The others are its own, and tell other versions nothing.
        """
        if episode >= counts_from:
            return self.episode_seeds(season, task_id, 1, episode - counts_from)[0]
        return self._derive([SEALED_TRAINING_LABEL, season, submission_digest, task_id, episode])

    def agent_seeds(self, season: str, submission_digest: str, task_id: str, episodes: int) -> tuple[int, ...]:
        """The agent's own seed for each episode; secret too, else an agent could recognise the episode."""
        derived = (self._derive([SEALED_AGENT_LABEL, season, submission_digest, task_id, i]) for i in range(episodes))
        return tuple(int(seed[:8], 16) for seed in derived)

    def _derive(self, name: list[str | int]) -> str:
        return hmac.new(self.raw, canonical_json.canonical(name), hashlib.sha256).hexdigest()[:32]


def new_secret() -> SeasonSecret:
    """A new random secret."""
    return SeasonSecret(secrets.token_bytes(32))


def read_secret(text: str, secret_sha256: str) -> SeasonSecret:
    """Parse the secret from 64 hex digits, and check it against its published hash.

    Raises:
        SecretError: it is missing, malformed, or another one.
    """
    text = text.strip()
    if not text:
        raise SecretError(f"{SECRET_VARIABLE} is not set; a sealed season is played and checked with its secret alone")
    if not _HEX.fullmatch(text):
        raise SecretError(f"{SECRET_VARIABLE} is not 64 hex digits; give it as 'pullrank season seal' printed it")
    secret = SeasonSecret(bytes.fromhex(text))
    if not hmac.compare_digest(secret.sha256, secret_sha256):
        raise SecretError(
            f"{SECRET_VARIABLE} is not the secret whose hash challenge.yml holds; a secret cannot change in a season"
        )
    return secret
