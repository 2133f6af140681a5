"""How official evaluations are run: on which machines, and with which seeds."""

from typing import Literal

from pydantic import Field

from evaluator.model.base import Frozen
from evaluator.model.names import Digest, LongLine


class Runners(Frozen):
    """Where official evaluations run, and how much of it at once."""

    labels: tuple[LongLine, ...] = Field(default=("ubuntu-24.04",), min_length=1, max_length=10)
    """Labels of the machines: GitHub's own, or a self-hosted runner's."""
    sandbox: Literal["docker", "gvisor"] = "docker"
    """What holds the agents."""
    at_once: int = Field(default=20, ge=1, le=200)
    """Machines that run side by side: 20 on GitHub's Free plan."""
    shard_minutes: int = Field(default=15, ge=1, le=300)
    """Work given to one machine at most; what is left is the next round's."""


class Sealed(Frozen):
    """A season whose seeds come from a secret."""

    secret_sha256: Digest
    """SHA-256 of the secret's bytes, published before the first entry: `pullrank season seal` makes both."""
    decimals: int = Field(default=0, ge=-4, le=6)
    """Digits to which scores are rounded until the reveal; negative ones are before the point."""
