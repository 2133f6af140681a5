"""Participants: hosts, bans, custom fields, prizes and sponsors."""

from typing import Literal, Self

from pydantic import Field, model_validator

from evaluator.model.base import Frozen
from evaluator.model.config.phase import Instant
from evaluator.model.identifiers import Line, Login, LongLine, Url


class CustomField(Frozen):
    """One thing a submission is asked, answered under `meta`."""

    name: Line
    """The key under `meta`."""
    kind: Literal["text", "boolean", "choice"] = "text"
    """What an answer is."""
    options: tuple[Line, ...] = ()
    """For a choice: what there is to choose from."""
    required: bool = False
    description: LongLine | None = None
    """What is asked."""
    shown: bool = True
    """Whether the board shows the answers."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if (self.kind == "choice") != bool(self.options):
            raise ValueError(f"'{self.name}': a choice has options, and nothing else has")
        return self


class Ban(Frozen):
    """One who may not take part."""

    login: Login
    why: LongLine
    """The reason, shown to him and on the board."""


class Prize(Frozen):
    """What a place wins."""

    place: Line
    """Such as "1st"."""
    what: LongLine
    """Such as "a laptop"."""


class Sponsor(Frozen):
    """Who makes it possible."""

    name: Line
    url: Url | None = None
    picture: LongLine | None = None
    """A file below site/assets/."""


class People(Frozen):
    """Who takes part, and what they are asked."""

    hosts: tuple[Login, ...] = ()
    """Logins whose entries are shown without a place."""
    ban: tuple[Ban, ...] = ()
    """Who may not take part, with reasons."""
    team_size: int | None = Field(default=None, ge=1, le=100)
    """Most people an entry may name, its owner included."""
    one_team_each: bool = False
    """Whether a login may stand in the `authors` of one owner's entries only; authors are then written as `@login`."""
    anonymous_until: Instant | None = None
    """Boards show names like "Entry 7f3a" until then. Pull requests are public all the same."""
    terms: LongLine | None = None
    """Terms, as a web address or a file of the repository; submissions then say `terms: true`."""
    fields: tuple[CustomField, ...] = Field(default=(), max_length=20)
    """What submissions are asked beside the usual."""
    prizes: tuple[Prize, ...] = ()
    sponsors: tuple[Sponsor, ...] = ()

    def ban_of(self, login: str) -> Ban | None:
        """Why one may not take part, if so."""
        return next((ban for ban in self.ban if ban.login.casefold() == login.casefold()), None)

    def is_host(self, login: str) -> bool:
        """Whether an entry is the hosts' own."""
        return login.casefold() in {host.casefold() for host in self.hosts}
