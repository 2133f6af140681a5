"""moderation.yml: entries that are excluded, verified, or only a rehearsal, and results in quarantine."""

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from evaluator.model.base import Frozen
from evaluator.model.identifiers import CommitSha, Digest, FolderName, Login, LongLine, Url

_Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\d$")]
_Moment = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]


class Exclusion(Frozen):
    """The exclusion of one entry, or of all entries of a login."""

    login: Login
    agent: FolderName | None = None
    """Which folder; all of them when it and the digest are left out."""
    digest: Digest | None = None
    """Which version, too, in whatever folder of the login: renaming the folder does not end the exclusion."""
    since: _Day
    """The day, in quotes: "2026-05-01"."""
    who: Login
    why: LongLine
    """The reason, shown on the board."""
    link: Url

    def covers(self, login: str, agent: str, digest: str | None = None) -> bool:
        """Whether it is about this entry; logins are compared without case."""
        if self.login.casefold() != login.casefold():
            return False
        if self.digest is not None and self.digest == digest:
            return True
        return self.agent == agent or (self.agent is None and self.digest is None)


class VerifiedEntry(Frozen):
    """One entry, or all entries of a login, that the hosts have checked."""

    login: Login
    agent: FolderName | None = None
    """The folder; all of them when left out. Ignored if `digest` is given."""
    digest: Digest | None = None
    """The version, in any folder. When left out: every version in the folder, also later ones."""
    since: _Day
    who: Login
    why: LongLine
    """What was looked at, shown on the board."""
    link: Url | None = None

    def covers(self, login: str, agent: str, digest: str) -> bool:
        """Whether it is about this entry; logins are compared without case."""
        is_meant = self.agent in (None, agent) if self.digest is None else self.digest == digest
        return is_meant and self.login.casefold() == login.casefold()


class RehearsalEntry(Frozen):
    """One version of an agent that the host entered to try the board, and withdrew. It only labels what is recorded."""

    login: Login
    agent: FolderName
    digest: Digest
    """The version's digest, as its results have it."""
    since: _Day


class Quarantine(Frozen):
    """Results that are hidden because something went wrong while they were measured; `pullrank quarantine` writes it."""

    since: _Moment
    """The evaluation of the first hidden result, in UTC and in quotes: "2026-05-01T12:00:00Z"."""
    until: _Moment
    """When it was declared: what is evaluated later counts."""
    commit: CommitSha
    """The commit since which something was wrong."""
    login: Login | None = None
    """Only results of this owner, and duels with it; all owners when left out."""
    image: Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    """Only results made with this image; all images when left out."""
    replay: bool = True
    """Whether what is hidden is evaluated again."""
    who: Login
    why: LongLine
    """What went wrong, shown on the board."""
    link: Url | None = None

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.until < self.since:
            raise ValueError("a quarantine must not end before it begins")
        return self

    def covers(self, logins: Iterable[str], image: str | None, evaluated: tuple[str, str]) -> bool:
        """Whether it hides a record of these owners, evaluated between two moments; logins are compared without case."""
        return (
            (self.since <= evaluated[1] and evaluated[0] <= self.until)
            and (self.login is None or self.login.casefold() in {login.casefold() for login in logins})
            and self.image in (None, image)
        )

    @property
    def in_words(self) -> str:
        """What is said of a hidden result."""
        return f"in quarantine since {self.until[:10]}" + (", will be replayed" if self.replay else "")


class Erasure(Frozen):
    """A version whose owner asked to be forgotten: it keeps its place under another name; `pullrank erase` writes it."""

    login: Login
    """The name that stands for the owner."""
    agent: FolderName
    """The name that stands for the folder."""
    digest: Digest
    """The version's digest, as its results have it."""
    script: bool = False
    since: _Day


class Moderation(Frozen):
    """What the hosts decided about entries."""

    exclusions: tuple[Exclusion, ...] = Field(default=(), max_length=10000)
    """In the order of the file; the first that covers an entry is shown."""
    verified: tuple[VerifiedEntry, ...] = Field(default=(), max_length=10000)
    rehearsals: tuple[RehearsalEntry, ...] = Field(default=(), max_length=10000)
    """Versions that the hosts entered to try the board; `pullrank rehearse` writes them."""

    erasures: tuple[Erasure, ...] = Field(default=(), max_length=10000)
    quarantines: tuple[Quarantine, ...] = Field(default=(), max_length=1000)

    def exclusion_of(self, login: str, agent: str, digest: str | None = None) -> Exclusion | None:
        """The exclusion of an entry, if there is one; `digest` is its version, where there is one."""
        return next((item for item in self.exclusions if item.covers(login, agent, digest)), None)

    def verified_entry(self, login: str, agent: str, digest: str) -> VerifiedEntry | None:
        """The verification of an entry, if there is one."""
        return next((item for item in self.verified if item.covers(login, agent, digest)), None)

    def rehearsed_digests(self, login: str, agent: str) -> frozenset[str]:
        """The digests of an agent's versions that are rehearsals; logins are compared without case."""
        return frozenset(r.digest for r in self.rehearsals if r.login.casefold() == login.casefold() and r.agent == agent)
