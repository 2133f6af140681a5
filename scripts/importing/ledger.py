"""What became of each key of a foreign configuration."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field


@enum.unique
class Fate(enum.StrEnum):
    """What became of a key."""

    CARRIED = "carried"
    CHANGED = "changed"
    DROPPED = "dropped"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True)
class Note:
    """One key, or one contradiction."""

    place: str
    """Where it stands in the original, such as `challenge_phases[0].codename`."""
    fate: Fate
    """What became of it."""
    words: str
    """Where it is now, or why it is not."""


@dataclass(kw_only=True)
class Ledger:
    """Notes in the order in which they were made; a key has one fate, warnings come on top."""

    notes: list[Note] = field(default_factory=list)

    def carried(self, place: str, where: str) -> None:
        """The key is in challenge.yml or in a page."""
        self._add(place, Fate.CARRIED, where)

    def changed(self, place: str, how: str) -> None:
        """The key is there in another form."""
        self._add(place, Fate.CHANGED, how)

    def dropped(self, place: str, why: str) -> None:
        """The key has no place here."""
        self._add(place, Fate.DROPPED, why)

    def warn(self, place: str, what: str) -> None:
        """The original contradicts itself, or the host must decide."""
        self._add(place, Fate.WARNING, what)

    def seen(self) -> set[str]:
        """Keys that have a fate."""
        return {note.place for note in self.notes if note.fate is not Fate.WARNING}

    def of(self, fate: Fate) -> Iterator[Note]:
        """The notes of one fate."""
        return (note for note in self.notes if note.fate is fate)

    def _add(self, place: str, fate: Fate, words: str) -> None:
        note = Note(place=place, fate=fate, words=words)
        if note not in self.notes:
            self.notes.append(note)
