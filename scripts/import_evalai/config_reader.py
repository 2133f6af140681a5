"""Typed reading of EvalAI's configuration, and the report on what becomes of each key."""

import enum
import re
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
    """What became of one key, or a warning."""

    place: str
    """The key's path in the original, such as `challenge_phases[0].codename`."""
    fate: KeyFate
    words: str


@dataclass(kw_only=True)
class ConversionReport:
    """Notes in the order they were made."""

    notes: list[KeyNote] = field(default_factory=list)

    def add(self, place: str, fate: KeyFate, words: str) -> None:
        """Note what became of a key; a note that was made already is not made again."""
        note = KeyNote(place=place, fate=fate, words=words)
        if note not in self.notes:
            self.notes.append(note)

    def warn(self, place: str, what: str) -> None:
        """The original contradicts itself, or the host must decide something."""
        self.add(place, KeyFate.WARNING, what)

    def with_fate(self, fate: KeyFate) -> Iterator[KeyNote]:
        """The notes of one fate."""
        return (note for note in self.notes if note.fate is fate)


# No more digits than any count needs: Python refuses to convert thousands.
_INTEGER = re.compile(r"-?[0-9]{1,18}")


class ImportFaultError(Exception):
    """The configuration cannot be used; the message is one line that begins with the place."""


class ConfigSection:
    """A mapping of the original, at `place`, whose values are read by type."""

    def __init__(self, values: dict[str, Any], place: str, report: ConversionReport) -> None:
        self.values = values
        self.place = place
        self.report = report

    def at(self, key: str) -> str:
        """The place of a key."""
        return f"{self.place}.{key}" if self.place else key

    def carried(self, key: str, where: str) -> None:
        """Report the key as carried, if it is present."""
        if key in self.values:
            self.report.add(self.at(key), KeyFate.CARRIED, where)

    def changed(self, key: str, how: str) -> None:
        """Report the key as changed, if it is present."""
        if key in self.values:
            self.report.add(self.at(key), KeyFate.CHANGED, how)

    def dropped(self, key: str, why: str) -> None:
        """Report the key as dropped, if it is present."""
        if key in self.values:
            self.report.add(self.at(key), KeyFate.DROPPED, why)

    def warn(self, key: str, words: str) -> None:
        """Report that the key contradicts others, or that the host must decide something about it."""
        self.report.warn(self.at(key), words)

    def has(self, key: str) -> bool:
        """Whether the key is present with a value."""
        return self.values.get(key) is not None

    def text(self, key: str) -> str:
        """A text or number as one line; empty without a value."""
        value = self.values.get(key)
        return " ".join(str(value).split()) if isinstance(value, (str, int, float)) else ""

    def integer(self, key: str) -> int | None:
        """An integer; None without a value.

        Raises:
            ImportFaultError: the value is something else.
        """
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not _INTEGER.fullmatch(str(value).strip()):
            raise ImportFaultError(f"{self.at(key)}: {_shown(value)} is not a whole number; correct it and import again")
        return int(value)

    def boolean(self, key: str, default: bool) -> bool:
        """A boolean.

        Raises:
            ImportFaultError: the value is something else.
        """
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ImportFaultError(f"{self.at(key)}: {value!r} is neither True nor False; correct it and import again")
        return value

    def timestamp(self, key: str) -> str | None:
        """A time in UTC, such as 2026-03-01T18:00:00Z; None without a value. Times without a zone are UTC, as in EvalAI.

        Raises:
            ImportFaultError: the value is something else.
        """
        value = self.values.get(key)
        if value is None:
            return None
        try:
            at = value if isinstance(value, datetime) else datetime.fromisoformat(_padded(str(value)))
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        except (ValueError, OverflowError) as error:  # The second: a year before the first, in UTC.
            raise ImportFaultError(
                f"{self.at(key)}: {_shown(value)} is not a date like 2026-03-01 18:00:00; correct it and import again"
            ) from error
        return at.strftime("%Y-%m-%dT%H:%M:%SZ")

    def texts(self, key: str) -> list[str]:
        """A list of texts; a single text counts as a list of one."""
        value = self.values.get(key)
        values = value if isinstance(value, list) else [] if value in (None, "") else [value]
        return [" ".join(str(each).split()) for each in values]

    def mapping(self, key: str) -> "ConfigSection":
        """A mapping inside this one; empty without a value.

        Raises:
            ImportFaultError: the value is something else.
        """
        value = self.values.get(key)
        if value is not None and not isinstance(value, dict):
            raise ImportFaultError(f"{self.at(key)}: must be a mapping of keys to values; correct it and import again")
        return ConfigSection(value or {}, self.at(key), self.report)

    def sections(self, key: str) -> list["ConfigSection"]:
        """A list of mappings inside this one; empty without a value.

        Raises:
            ImportFaultError: the value is something else.
        """
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise ImportFaultError(f"{self.at(key)}: must be a list of mappings; correct it and import again")
        return [ConfigSection(each, f"{self.at(key)}[{number}]", self.report) for number, each in enumerate(value)]

    def unreported_keys(self) -> Iterator[str]:
        """Places of keys without a note other than a warning."""
        reported_places = {note.place for note in self.report.notes if note.fate is not KeyFate.WARNING}
        return (self.at(str(key)) for key in self.values if self.at(str(key)) not in reported_places)


def _shown(value: object) -> str:
    return repr(value if len(str(value)) <= 60 else f"{str(value)[:60]}…")


def _padded(date: str) -> str:
    """A date whose numbers have two digits: EvalAI reads 2025-08-1, too."""
    return re.sub(r"(?<!\d)\d(?!\d)", r"0\g<0>", date.strip().partition(".")[0])
