"""Reads a foreign mapping: every value by its kind, every fault with its place."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@enum.unique
class KeyFate(enum.StrEnum):
    """What became of a key."""

    CARRIED = "carried"
    CHANGED = "changed"
    DROPPED = "dropped"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True)
class KeyNote:
    """One key, or one contradiction."""

    place: str
    """Where it stands in the original, such as `challenge_phases[0].codename`."""
    fate: KeyFate
    words: str
    """Where it is now, or why it is not."""


@dataclass(kw_only=True)
class ConversionReport:
    """Notes in the order in which they were made; a key has one fate, warnings come on top."""

    notes: list[KeyNote] = field(default_factory=list)

    def carried(self, place: str, where: str) -> None:
        """The key is in challenge.yml or in a page."""
        self._add(place, KeyFate.CARRIED, where)

    def changed(self, place: str, how: str) -> None:
        """The key is there in another form."""
        self._add(place, KeyFate.CHANGED, how)

    def dropped(self, place: str, why: str) -> None:
        """The key has no place here."""
        self._add(place, KeyFate.DROPPED, why)

    def warn(self, place: str, what: str) -> None:
        """The original contradicts itself, or the host must decide."""
        self._add(place, KeyFate.WARNING, what)

    def seen(self) -> set[str]:
        """Keys that have a fate."""
        return {note.place for note in self.notes if note.fate is not KeyFate.WARNING}

    def of(self, fate: KeyFate) -> Iterator[KeyNote]:
        """The notes of one fate."""
        return (note for note in self.notes if note.fate is fate)

    def _add(self, place: str, fate: KeyFate, words: str) -> None:
        note = KeyNote(place=place, fate=fate, words=words)
        if note not in self.notes:
            self.notes.append(note)


class ImportFaultError(Exception):
    """The configuration cannot be used; one line says what is wrong, and where."""


class ConfigSection:
    """One mapping of the original."""

    def __init__(self, values: dict[str, Any], place: str, ledger: ConversionReport) -> None:
        self.values = values
        self.place = place
        self.ledger = ledger

    def at(self, key: str) -> str:
        """The place of a key."""
        return f"{self.place}.{key}" if self.place else key

    def carried(self, key: str, where: str) -> None:
        """The key, where it stands there, is in challenge.yml or in a page."""
        if key in self.values:
            self.ledger.carried(self.at(key), where)

    def changed(self, key: str, how: str) -> None:
        """The key, where it stands there, is there in another form."""
        if key in self.values:
            self.ledger.changed(self.at(key), how)

    def dropped(self, key: str, why: str) -> None:
        """The key, where it stands there, has no place here."""
        if key in self.values:
            self.ledger.dropped(self.at(key), why)

    def has(self, key: str) -> bool:
        """Whether the key stands there with a value."""
        return self.values.get(key) is not None

    def text(self, key: str) -> str:
        """A text, one line, empty where there is none; numbers are written out."""
        value = self.values.get(key)
        return " ".join(str(value).split()) if isinstance(value, (str, int, float)) else ""

    def whole(self, key: str) -> int | None:
        """A whole number.

        Raises:
            ImportFaultError: it is none.
        """
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not str(value).strip().lstrip("-").isdecimal():
            raise ImportFaultError(f"{self.at(key)}: {value!r} is not a whole number; correct it and import again")
        return int(value)

    def truth(self, key: str, default: bool) -> bool:
        """A truth value.

        Raises:
            ImportFaultError: it is none.
        """
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ImportFaultError(f"{self.at(key)}: {value!r} is neither True nor False; correct it and import again")
        return value

    def moment(self, key: str) -> str | None:
        """A moment in UTC, as EvalAI means dates without a zone.

        Raises:
            ImportFaultError: it is none.
        """
        value = self.values.get(key)
        if value is None:
            return None
        try:
            at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        except ValueError as error:
            raise ImportFaultError(f"{self.at(key)}: {value!r} is not a date like 2026-03-01 18:00:00; mend it") from error
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        return at.strftime("%Y-%m-%dT%H:%M:%SZ")

    def words(self, key: str) -> list[str]:
        """A list of texts; a single one counts as a list."""
        value = self.values.get(key)
        values = value if isinstance(value, list) else [] if value in (None, "") else [value]
        return [" ".join(str(each).split()) for each in values]

    def inner(self, key: str) -> "ConfigSection":
        """A mapping inside; empty where there is none.

        Raises:
            ImportFaultError: it is something else.
        """
        value = self.values.get(key)
        if value is not None and not isinstance(value, dict):
            raise ImportFaultError(f"{self.at(key)}: must be a mapping of keys to values; correct it and import again")
        return ConfigSection(value or {}, self.at(key), self.ledger)

    def sections(self, key: str) -> list["ConfigSection"]:
        """A list of mappings inside.

        Raises:
            ImportFaultError: it is something else.
        """
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise ImportFaultError(f"{self.at(key)}: must be a list of mappings; correct it and import again")
        return [ConfigSection(each, f"{self.at(key)}[{number}]", self.ledger) for number, each in enumerate(value)]

    def unspoken(self) -> Iterator[str]:
        """Places of keys of this mapping that nothing was said of."""
        seen = self.ledger.seen()
        return (self.at(str(key)) for key in self.values if self.at(str(key)) not in seen)
