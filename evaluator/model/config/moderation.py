"""moderation.yml: entries that are excluded, verified, or only a rehearsal."""

from typing import Annotated

from pydantic import Field, StringConstraints

from evaluator.model.base import Frozen
from evaluator.model.identifiers import AgentName, Digest, Login, LongLine, Url


class Exclusion(Frozen):
    """The exclusion of one entry, or of all entries of a login."""

    login: Login
    """Whose."""
    agent: AgentName | None = None
    """Which folder; all of them when left out."""
    since: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\d$")]
    """The day, in quotes: "2026-05-01"."""
    who: Login
    """The maintainer who decided."""
    why: LongLine
    """The reason, shown on the board."""
    link: Url
    """Where it was discussed."""

    def covers(self, login: str, agent: str) -> bool:
        """Whether it is about this entry; logins are compared without case."""
        return self.login.casefold() == login.casefold() and self.agent in (None, agent)


class VerifiedEntry(Frozen):
    """One entry, or all entries of a login, that the hosts have checked."""

    login: Login
    """Whose."""
    agent: AgentName | None = None
    """Which folder; all of them when left out."""
    since: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\d$")]
    """The day, in quotes: "2026-05-01"."""
    who: Login
    """The maintainer who looked."""
    why: LongLine
    """What was looked at, shown on the board."""
    link: Url | None = None
    """Where it is written down."""

    def covers(self, login: str, agent: str) -> bool:
        """Whether it is about this entry; logins are compared without case."""
        return self.login.casefold() == login.casefold() and self.agent in (None, agent)


class RehearsalEntry(Frozen):
    """One version of an agent that the host entered to try the board, and withdrew. It only labels what is recorded."""

    login: Login
    """Whose."""
    agent: AgentName
    """Which folder."""
    digest: Digest
    """The version's digest, as its results have it."""
    since: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\d$")]
    """The day, in quotes: "2026-05-01"."""


class Moderation(Frozen):
    """What the hosts decided about entries."""

    exclusions: tuple[Exclusion, ...] = Field(default=(), max_length=10000)
    """In the order of the file; the first that covers an entry is shown."""
    verified: tuple[VerifiedEntry, ...] = Field(default=(), max_length=10000)
    """Entries that the hosts vouch for."""
    rehearsals: tuple[RehearsalEntry, ...] = Field(default=(), max_length=10000)
    """Versions that the hosts entered to try the board; `pullrank rehearse` writes them."""

    def of(self, login: str, agent: str) -> Exclusion | None:
        """The exclusion of an entry, if there is one."""
        return next((item for item in self.exclusions if item.covers(login, agent)), None)

    def vouched(self, login: str, agent: str) -> VerifiedEntry | None:
        """The verification of an entry, if there is one."""
        return next((item for item in self.verified if item.covers(login, agent)), None)

    def rehearsed(self, login: str, agent: str) -> frozenset[str]:
        """The digests of an agent's versions that are rehearsals; logins are compared without case."""
        return frozenset(r.digest for r in self.rehearsals if r.login.casefold() == login.casefold() and r.agent == agent)
