"""The public and the hidden part of a result in a sealed season."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from evaluator.model.base import Frozen

_BEACON_PREFIX = "sealed-"
# Fields into which an agent, or an episode, can write more than a few bits.
HIDDEN_FIELDS = (
    "message", "log_tail", "seeds", "returns", "lengths", "metrics", "cost", "provenance", "trace_sha256", "script",
    "first_attempt", "self_sha256",
)  # fmt: skip
# Times are rounded up to one minute, four, sixteen, and so on, in seconds.
_SHORTEST_SECONDS, _FACTOR = 60, 4


class SealedPart(Frozen):
    """The part of a result that only the season's secret opens, and the score beside it."""

    score: float | None
    """What ranks until the reveal: rounded as challenge.yml says; null unless the verdict is ok and there is a score."""
    nonce: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{24}$")]
    """Used once for each encryption."""
    ciphertext: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]+={0,2}$")] = Field(max_length=1 << 26)
    """AES-256-GCM over the padded canonical JSON of everything that is hidden, base64."""


def sealed_beacon(secret_sha256: str) -> str:
    """The beacon of a sealed season: its episodes come from the secret with this hash."""
    return _BEACON_PREFIX + secret_sha256


def secret_hash(beacon: str) -> str | None:
    """The hash of the secret in a sealed season's beacon; None for a public beacon."""
    return beacon.removeprefix(_BEACON_PREFIX) if beacon.startswith(_BEACON_PREFIX) else None


def hidden_part(document: dict[str, Any]) -> dict[str, Any]:
    """The part of a result's document that is encrypted."""
    return {name: document[name] for name in HIDDEN_FIELDS if name in document}


def public_part(document: dict[str, Any], trace_sha256: str | None) -> dict[str, Any]:
    """The part of a result's document that is public before the reveal, without `self_sha256` and `sealed`."""
    cost, provenance = document["cost"], document["provenance"]
    return {
        **{name: value for name, value in document.items() if name not in HIDDEN_FIELDS},
        "cost": {"cpu_seconds": _rounded_up(cost["cpu_seconds"]), "wall_seconds": _rounded_up(cost["wall_seconds"])},
        "provenance": {**provenance, "evaluated_at": _to_hour(provenance["evaluated_at"])},
        "trace_sha256": trace_sha256,
    }


def rejoined(document: dict[str, Any], hidden: dict[str, Any]) -> dict[str, Any]:
    """The document again, from its public and its decrypted part."""
    return {**{name: value for name, value in document.items() if name not in (*HIDDEN_FIELDS, "sealed")}, **hidden}


def _rounded_up(seconds: float | None) -> float | None:
    if seconds is None:
        return None
    step = float(_SHORTEST_SECONDS)
    while step < seconds:
        step *= _FACTOR
    return step


def _to_hour(evaluated_at: str) -> str:
    at = datetime.strptime(evaluated_at, "%Y-%m-%dT%H:%M:%SZ")  # noqa: DTZ007  (it says Z, and is written back with it)
    return at.strftime("%Y-%m-%dT%H:00:00Z")
