"""preview.json: the results that a preview hands to the trusted side, which must not trust them."""

from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from evaluator.model.base import Frozen
from evaluator.model.identifiers import CommitSha, Digest, FolderName, Line, Login
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier

PREVIEW_SCHEMA = 1
MAX_AGENTS = 4
# Of one agent in one game: its validation, then opponents.
MAX_DUELS = 6
MAX_FAULTS, MAX_SKIPPED, NOTE_CHARACTERS = 50, 100, 1000

Note = Annotated[str, StringConstraints(min_length=1, max_length=NOTE_CHARACTERS)]


class PreviewedAgent(Frozen):
    """One changed folder."""

    login: Login
    agent: FolderName
    submission_digest: Digest | None = None
    """Which version; null where the folder could not be read."""
    name: Line | None = None
    """What its manifest calls it."""
    faults: tuple[Note, ...] = Field(default=(), max_length=MAX_FAULTS)
    """Why it was not played, each with its place."""
    results: tuple[Result, ...] = Field(default=(), max_length=200)
    """One per task that was played, in the challenge's order; without log tails."""
    duels: tuple[Duel, ...] = Field(default=(), max_length=200 * MAX_DUELS)
    """Of each game its validation, then its duels with others; without log tails, and no move is said to have taken time."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        for result in self.results:
            if (result.login, result.agent, result.submission_digest) != (self.login, self.agent, self.submission_digest):
                raise ValueError("a result belongs to another agent than the one it stands under")
            if result.tier is not Tier.PREVIEW or result.log_tail:
                raise ValueError("a preview holds results of class preview, without log tails")
        if len({result.task for result in self.results}) != len(self.results):
            raise ValueError("a task stands twice")
        version = (self.login, self.agent, self.submission_digest or "")
        for duel in self.duels:
            sides = [player.version for player in duel.players]
            if sides.count(version) != 1 + duel.is_validation:
                raise ValueError("a duel belongs to another agent than the one it stands under")
            if duel.tier is not Tier.PREVIEW or any(player.log_tail for player in duel.players):
                raise ValueError("a preview holds duels of class preview, without log tails")
        pairs = [(duel.task, duel.players[0].name, duel.players[1].name) for duel in self.duels]
        if len(set(pairs)) != len(pairs):
            raise ValueError("two players met twice")
        if any([task for task, _, _ in pairs].count(task) > MAX_DUELS for task in {task for task, _, _ in pairs}):
            raise ValueError(f"a preview plays {MAX_DUELS} duels of an agent in a game")
        return self


class Preview(Frozen):
    """One preview run."""

    schema_version: int = Field(default=PREVIEW_SCHEMA, alias="schema", ge=1, le=PREVIEW_SCHEMA)
    head_sha: CommitSha
    """The commit whose folders were played."""
    evaluator_sha: CommitSha
    """The commit of main that played them."""
    agents: tuple[PreviewedAgent, ...] = Field(default=(), max_length=MAX_AGENTS)
    skipped: tuple[Note, ...] = Field(default=(), max_length=MAX_SKIPPED)
    """What was left out, and why."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if len({(agent.login.casefold(), agent.agent) for agent in self.agents}) != len(self.agents):
            raise ValueError("an agent stands twice")
        return self

    def document(self) -> dict[str, Any]:
        """The JSON document of this preview."""
        return self.model_dump(mode="json", by_alias=True)
