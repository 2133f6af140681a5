"""What a sealed season shows of a result before its secret is revealed, and what it keeps back."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from evaluator.model.base import Frozen

_PREFIX = "sealed-"
# Everything that an agent, or an episode, can write more than a few bits into.
HIDDEN = (
    "message", "log_tail", "seeds", "returns", "lengths", "metrics", "cost", "provenance", "trace_sha256", "script",
    "first_attempt", "self_sha256",
)  # fmt: skip
# Times are rounded up to one of these, in seconds: a minute, four, sixteen, and so on.
_LEAST_SECONDS, _STEP = 60, 4


class SealedPart(Frozen):
    """The part of a result that only the season's secret opens, and the score beside it."""

    score: float | None
    """What ranks until the reveal: rounded as challenge.yml says; null unless the verdict is ok."""
    nonce: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{24}$")]
    """Used once for each encryption."""
    ciphertext: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]+={0,2}$")] = Field(max_length=1 << 26)
    """AES-256-GCM over the padded canonical JSON of everything that is hidden, base64."""


def sealed_beacon(secret_sha256: str) -> str:
    """What stands in place of a beacon: the episodes come from the secret of that hash."""
    return _PREFIX + secret_sha256


def secret_hash(beacon: str) -> str | None:
    """The hash of the secret that the episodes come from; None where they come from a public beacon."""
    return beacon.removeprefix(_PREFIX) if beacon.startswith(_PREFIX) else None


def hidden_part(document: dict[str, Any]) -> dict[str, Any]:
    """What is encrypted of a result's document."""
    return {name: document[name] for name in HIDDEN if name in document}


def public_part(document: dict[str, Any], trace_sha256: str | None) -> dict[str, Any]:
    """What is public of a result's document before the reveal, without its own hash and its sealed part."""
    cost, provenance = document["cost"], document["provenance"]
    return {
        **{name: value for name, value in document.items() if name not in HIDDEN},
        "cost": {"cpu_seconds": _coarse(cost["cpu_seconds"]), "wall_seconds": _coarse(cost["wall_seconds"])},
        "provenance": {**provenance, "evaluated_at": _hour(provenance["evaluated_at"])},
        "trace_sha256": trace_sha256,
    }


def rejoined(document: dict[str, Any], hidden: dict[str, Any]) -> dict[str, Any]:
    """The whole document again, from its public part and what was encrypted."""
    return {**{name: value for name, value in document.items() if name not in (*HIDDEN, "sealed")}, **hidden}


def _coarse(seconds: float | None) -> float | None:
    if seconds is None:
        return None
    step = float(_LEAST_SECONDS)
    while step < seconds:
        step *= _STEP
    return step


def _hour(evaluated_at: str) -> str:
    at = datetime.strptime(evaluated_at, "%Y-%m-%dT%H:%M:%SZ")  # noqa: DTZ007  (it says Z, and is written back with it)
    return at.strftime("%Y-%m-%dT%H:00:00Z")
