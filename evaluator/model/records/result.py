"""A result of one agent on one task: all measurements, and nothing that can be derived from them."""

from typing import Annotated, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    model_validator,
)

from evaluator.model import canonical_json
from evaluator.model.base import EpisodeReturn, is_none
from evaluator.model.config.limits import Limits
from evaluator.model.identifiers import Digest, FolderName, Line, Login, Seed, TaskId, safe_path_segment
from evaluator.model.records.script_record import ScriptRecord
from evaluator.model.records.stored_record import (
    FILE_DIGITS,
    LOG_TAIL_CHARACTERS,
    MESSAGE_CHARACTERS,
    Beacon,
    Cost,
    Devices,
    FirstAttempt,
    Provenance,
    SandboxKind,
    StoredRecord,
    Tier,
    WantedRecord,
)
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import SealedPart

RESULT_SCHEMA = 2


class Result(StoredRecord):
    """One agent on one task."""

    model_config = ConfigDict(title="Result")

    schema_version: int = Field(default=RESULT_SCHEMA, alias="schema", ge=1, le=RESULT_SCHEMA)
    key: Digest
    """What was wanted: results are found by it, never by path."""
    tier: Tier = Field(alias="class")
    task: TaskId
    task_digest: Digest
    """The task's measured settings, the source of a host's own code among them."""
    login: Login
    login_id: int | None = None
    """GitHub's number for the owner: logins can be registered again."""
    agent: FolderName
    submission_digest: Digest
    season: Line
    beacon: Beacon
    """What nobody could foresee and the seeds come from."""
    beacon_verified: bool | None = False
    """Whether GitHub signed the beacon's commit; null while GitHub was not asked, about it and about the owner's number."""
    sandbox: SandboxKind
    runtime_digest: Digest
    """What measured: the protocol, the packages that measure, the base image, and the agent's extras."""
    verdict: Verdict
    message: str = Field(default="", max_length=MESSAGE_CHARACTERS)
    """What went wrong, in one or a few lines; the agent may have written it."""
    log_tail: str = Field(default="", max_length=LOG_TAIL_CHARACTERS)
    """The end of what the agent printed."""
    seeds: tuple[Seed, ...] = ()
    """The seed of each episode."""
    returns: tuple[EpisodeReturn, ...] = ()
    """Undiscounted sum of rewards of each episode; empty unless the verdict is ok."""
    lengths: tuple[int, ...] = ()
    """Steps of each episode."""
    metrics: dict[str, float] = Field(default_factory=dict)
    """Counts beside the returns, such as actions clipped."""
    limits: Limits
    cost: Cost
    versions: dict[str, str] = Field(default_factory=dict)
    image_digest: str | None = None
    """The evaluator image's id."""
    platform: str = ""
    """Operating system and processor."""
    provenance: Provenance
    trace_sha256: Digest | None = None
    """Hash of the trace file; null without one."""
    script: ScriptRecord | None = Field(default=None, exclude_if=is_none)
    """For a script: all its episodes, and what it says of itself; left out otherwise."""
    sealed: SealedPart | None = Field(default=None, exclude_if=is_none)
    """In a sealed season until it is revealed: all that this result does not show; left out otherwise."""
    first_attempt: FirstAttempt | None = Field(default=None, exclude_if=is_none)
    """The attempt before this one, where there was one; left out otherwise."""
    continued_after: tuple[Annotated[int, Field(ge=1)], ...] | None = Field(
        default=None, min_length=1, max_length=9, exclude_if=is_none
    )
    """If it was interrupted: how many episodes were recorded each time that it went on; left out otherwise."""
    gpus: Devices | None = Field(default=None, exclude_if=is_none)
    """If the leaderboard wants graphics cards: what the agent was handed; left out otherwise."""
    unfetched: Literal[True] | None = Field(default=None, exclude_if=is_none)
    """If its owner's registry or web host failed, and so its image or weights could not be fetched; left out otherwise."""
    erased_sha256: Digest | None = Field(default=None, exclude_if=is_none)
    """The hash that it had before its owner's name was erased, where it was; left out otherwise."""
    self_sha256: Digest
    """Hash over the canonical JSON of all the rest."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.sealed is not None:
            return self._closed(self.sealed)
        if self.verdict is Verdict.OK and not len(self.seeds) == len(self.returns) == len(self.lengths) > 0:
            raise ValueError("an ok result has as many seeds as returns and lengths, and at least one")
        if self.verdict is not Verdict.OK and (self.returns or self.lengths or self.trace_sha256):
            raise ValueError("half an evaluation has no score: only an ok result has returns")
        return self

    @model_validator(mode="after")
    def _continued(self) -> Self:
        counts = self.continued_after or ()
        if counts and (self.script or list(counts) != sorted(counts) or (self.seeds and counts[-1] > len(self.seeds))):
            raise ValueError("an evaluation goes on after ever more of its episodes, and a script's does not")
        return self

    @model_validator(mode="after")
    def _unfetched(self) -> Self:
        if self.unfetched and self.verdict is not Verdict.INTERNAL_ERROR:
            raise ValueError("an evaluation for which something could not be fetched is an internal_error")
        return self

    def _closed(self, part: SealedPart) -> Self:
        shown = (self.seeds, self.returns, self.lengths, self.metrics, self.log_tail, self.script, self.first_attempt)
        if any(shown) or self.continued_after:
            raise ValueError("a sealed result shows no episodes")
        if (self.verdict is Verdict.OK) != bool(self.trace_sha256) or (self.trace_sha256 is None and part.score is not None):
            raise ValueError("a sealed result has a trace if it is ok, and only then a score")
        return self

    def gpus_fault(self, wanted: int) -> str | None:
        """What is wrong with the graphics cards of an official result; one that failed on our side may have had none."""
        handed = len(self.gpus.cards) if self.gpus else 0
        if handed == wanted or self.verdict is Verdict.INTERNAL_ERROR:
            return None
        return f"it was played on {handed} graphics cards, and challenge.yml says {wanted}"

    @property
    def sides(self) -> tuple[Self]:
        """Who played: this agent alone."""
        return (self,)

    @property
    def is_try(self) -> bool:
        """Whether its version counts as tried, and for a quota: not after a failure of ours, but after one of its host."""
        return self.verdict is not Verdict.INTERNAL_ERROR or self.unfetched is True

    @property
    def version(self) -> tuple[str, str, str]:
        """Login, folder and digest of what played, as they were recorded."""
        return self.login, self.agent, self.submission_digest

    @property
    def is_sealed(self) -> bool:
        """Whether its episodes are secret until the reveal; of its time only the hour is public."""
        return self.sealed is not None

    def path(self) -> str:
        """Its path in the store, without the ending."""
        return result_path(self.task, self.login, self.agent, self.key)


def result_path(task_id: str, login: str, agent: str, key: str) -> str:
    """A result's path in the store, without the ending."""
    return f"{safe_path_segment(task_id)}/{login}/{agent}/{key[:FILE_DIGITS]}"


class WantedResult(WantedRecord):
    """All that an evaluation depends on: evaluations with the same key, agent and task need only one run."""

    submission_digest: Digest

    def key(self) -> str:
        """The key of the evaluation, 64 hex digits."""
        return canonical_json.digest(self.model_dump(mode="json"))
