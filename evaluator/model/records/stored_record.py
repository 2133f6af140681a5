"""What results and duels have in common: where they come from, what they cost, how they are written and hashed."""

import enum
import json
import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from evaluator.model import canonical_json
from evaluator.model.base import Frozen
from evaluator.model.identifiers import Digest, Line
from evaluator.model.measurement_version import MEASUREMENT_VERSION
from evaluator.model.records.verdict import Verdict

# Digits of a key that name a record's file. 48 bits are no accident: but where the beacon is known, as in a sealed season,
# a participant can look for two versions that share them.
FILE_DIGITS = 12
LOG_TAIL_CHARACTERS = 2000
MESSAGE_CHARACTERS = 1000
# The file-name ending of a record that failed on our side.
_RETRIED = re.compile(r"\.try[1-9]$")

Beacon = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,80}$")]


@enum.unique
class Tier(enum.StrEnum):
    """How much a result is worth."""

    OFFICIAL = "official"
    PREVIEW = "preview"
    LOCAL = "local"


@enum.unique
class SandboxKind(enum.StrEnum):
    """What held the agent."""

    DOCKER = "docker"
    GVISOR = "gvisor"
    PROCESS = "process"

    @property
    def is_official(self) -> bool:
        """Whether its results may be official: the process sandbox is no security boundary."""
        return self is not SandboxKind.PROCESS


# Public seeds, for what does not rank.
PREVIEW_BEACON = "preview"


class Cost(Frozen):
    """What the agent used."""

    cpu_seconds: float | None = None
    """Processor seconds of the agent's cgroup; null where it could not be had."""
    wall_seconds: float = 0
    """Seconds from the container's start to its end."""
    peak_memory_bytes: int | None = None
    """Largest memory of the agent's cgroup; null where it could not be had."""
    steps: int = 0
    """Environment steps."""


class Provenance(Frozen):
    """Where a result comes from."""

    commit: str | None = None
    """The commit of the board's repository that was evaluated."""
    run_url: str | None = None
    evaluated_at: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    """When, in UTC."""


# How the message of a try ends that failed because of a registry or web host.
ASKED_AGAIN = "it is asked again later"


def without_retry(message: str) -> str:
    """A message as it is where nobody asks again, which only an official run does."""
    return message.removesuffix(f"; {ASKED_AGAIN}")


class FirstAttempt(Frozen):
    """An attempt that ended before the agent was shown anything, and was followed by the one that counts."""

    verdict: Literal[Verdict.TIMEOUT, Verdict.INTERNAL_ERROR]
    """How it ended: anything else would have counted."""
    message: str = Field(default="", max_length=MESSAGE_CHARACTERS)
    """Why, in one line."""
    wall_seconds: float = Field(ge=0)
    """Seconds that it took."""


class Devices(Frozen):
    """Graphics cards of an evaluation for which challenge.yml wants some."""

    wanted: int = Field(ge=1, le=16)
    """How many the leaderboard wants for each agent."""
    cards: tuple[Line, ...] = Field(default=(), max_length=16)
    """What the agent was handed: each card's model and its driver's version; empty if it played without."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.cards and len(self.cards) != self.wanted:
            raise ValueError("an agent is handed all the cards that are wanted, or none")
        return self


class StoredRecord(Frozen):
    """What a result and a duel have in common: how they are written, hashed and kept readable."""

    schema_version: int = Field(alias="schema", ge=1)
    protocol: int = Field(default=1, ge=1)
    """The number of the rules that it was measured by; 1 in schema 1, which does not name it."""

    @model_validator(mode="after")
    def _is_of_its_schema(self) -> Self:
        if self.schema_version == 1 and self.protocol != 1:
            raise ValueError("schema 1 is of measurement version 1")
        return self

    @model_serializer(mode="wrap")
    def _as_before(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        if self.schema_version == 1:
            del document["protocol"]
        return document

    def document(self) -> dict[str, Any]:
        """The JSON document of this record."""
        return self.model_dump(mode="json", by_alias=True)

    def serialised(self) -> bytes:
        """The file's bytes: one fixed form, so that any change is seen."""
        return json.dumps(self.document(), indent=1, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def with_self_hash(cls, fields: dict[str, Any]) -> Self:
        """Make a record, and fill in its `self_sha256`."""
        draft = cls.model_validate({**fields, "self_sha256": "0" * 64})
        return cls.model_validate({**draft.document(), "self_sha256": draft.self_hash()})

    def self_hash(self) -> str:
        """The correct value of `self_sha256`."""
        return canonical_json.digest({k: v for k, v in self.document().items() if k != "self_sha256"})


class WantedRecord(Frozen):
    """What every record depends on besides who plays: records with the same key need only one run."""

    task_digest: Digest
    runtime_digest: Digest
    """Which measurement version, packages that measure and base image."""
    season: Line
    beacon: str
    """Which unforeseeable value."""
    protocol: int = MEASUREMENT_VERSION
    """The measurement version; today's when left out."""


def may_lie_at(where: str, path: str, verdict: Verdict) -> bool:
    """Whether a record with the path `path` may be stored at `where`, both without the ending.

    A record that failed on our side is stored beside the others, with a number in its name.
    """
    return where == path or (verdict is Verdict.INTERNAL_ERROR and _RETRIED.sub("", where) == path)
