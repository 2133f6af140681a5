"""What becomes of each key of EvalAI's configuration."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field


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
