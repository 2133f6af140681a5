"""Phases and quotas: who may enter what, when and how often."""

import enum
import re
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from evaluator.model.base import Frozen
from evaluator.model.identifiers import Line, Login, TaskId, Text
from evaluator.model.validation_messages import misplaced

_TEAM = re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}(?:/[a-z0-9][a-z0-9._-]{0,99})?")


def _written(value: Any) -> Any:
    """YAML reads an unquoted date as one."""
    return value.isoformat() if isinstance(value, date) else value


def _zoned(text: str) -> str:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("must be a date and time with its zone, such as 2026-03-01T18:00:00+01:00") from error
    if at.tzinfo is None:
        raise ValueError(f"has no time zone; write {at:%Y-%m-%d}T18:00:00Z, or +01:00 in place of Z")
    try:
        at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is beyond the year 9999 in UTC, or before the year 1; leave it out for no limit") from error
    return text


def _team(text: str) -> str:
    if not _TEAM.fullmatch(text):
        raise ValueError("must be an organisation, or 'organisation/team'")
    return text


Instant = Annotated[str, BeforeValidator(_written), StringConstraints(max_length=40), AfterValidator(_zoned)]
"""A moment: ISO 8601 with a time zone."""


def to_utc(instant: str) -> datetime:
    """Convert to UTC."""
    return datetime.fromisoformat(instant).astimezone(UTC)


class Quota(Frozen):
    """How many versions are officially evaluated, in days and months of UTC. Failures of ours do not count."""

    per_day: int | None = Field(default=None, ge=1)
    """Versions a day, from 00:00 UTC."""
    per_month: int | None = Field(default=None, ge=1)
    """Versions a month, from its first day."""
    total: int | None = Field(default=None, ge=1)
    """Versions in the whole season, or phase."""
    of: Literal["person", "team"] = "person"
    """Who shares it: the owner alone, or all that name each other as authors."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        limits = [limit for limit in (self.per_day, self.per_month, self.total) if limit is not None]
        if not limits:
            raise ValueError("a quota says at least one of per_day, per_month and total")
        if limits != sorted(limits):
            raise ValueError("a longer time allows no fewer versions: per_day ≤ per_month ≤ total")
        return self


class PhaseState(enum.StrEnum):
    """Where a phase stands at a moment."""

    OPEN = "open"
    BEGINS_LATER = "begins later"
    ENDED = "ended"
    CLOSED = "closed by the hosts"


class Phase(Frozen):
    """A part of the season with its own tasks."""

    id: TaskId
    """Its name in addresses."""
    name: Line
    """Its name on the board."""
    description: Text = ""
    start: Instant | None = None
    """From when versions count, with time zone; from the beginning when left out."""
    end: Instant | None = None
    """Until when, with time zone; for ever when left out."""
    tasks: tuple[TaskId, ...] = Field(min_length=1)
    """Its tasks. A task belongs to one phase at most; one without a phase is always open."""
    active: bool = True
    """Set to false to close it by hand."""
    public_from: Instant | None = None
    """Its boards are hidden until then; shown from the beginning when left out."""
    allow: tuple[Login, ...] = ()
    """Logins that may enter; everyone when this and `teams` are left out."""
    teams: tuple[Annotated[str, AfterValidator(_team)], ...] = ()
    """Organisations, or `organisation/team`, whose members may enter."""
    quota: Quota | None = None
    """Its own quota, beside the season's."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.start and self.end and not to_utc(self.start) < to_utc(self.end):
            raise misplaced(("end",), f"phase '{self.id}' ends ({self.end}) before it starts ({self.start}); correct one")
        return self

    def state(self, at: datetime) -> PhaseState:
        """Where it stands, if the season's submissions have not ended."""
        if not self.active:
            return PhaseState.CLOSED
        if self.start is not None and at < to_utc(self.start):
            return PhaseState.BEGINS_LATER
        return PhaseState.ENDED if self.is_over(at) else PhaseState.OPEN

    def is_over(self, at: datetime) -> bool:
        """Whether it has ended."""
        return self.end is not None and at >= to_utc(self.end)

    def is_shown(self, at: datetime) -> bool:
        """Whether its boards are shown."""
        return self.public_from is None or at >= to_utc(self.public_from)


def phase_fault(phases: tuple[Phase, ...], task_ids: list[str]) -> tuple[tuple[int | str, ...], str] | None:
    """The first fault of the phases: the path of its key, and a sentence; None if there is none."""
    owner: dict[str, str] = {}
    seen: set[str] = set()
    for index, phase in enumerate(phases):
        if phase.id.casefold() in seen:
            return ("phases", index, "id"), f"the phase id '{phase.id}' stands twice"
        seen.add(phase.id.casefold())
        for number, task_id in enumerate(phase.tasks):
            where = ("phases", index, "tasks", number)
            if task_id not in task_ids:
                return where, f"phase '{phase.id}' names the task '{task_id}', which there is not"
            if task_id in owner:
                both = f"the phases '{owner[task_id]}' and '{phase.id}'"
                return (
                    where,
                    f"the task '{task_id}' is in {both}; leave it in one, and add another task for the other",
                )
            owner[task_id] = phase.id
    return None
