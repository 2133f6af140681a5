"""The quarantines of moderation.yml: what they hide; they are written and removed without touching other lines."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluator.host.loading.yaml_loader import LoadError, parse_moderation
from evaluator.model.config.moderation import Erasure, Moderation, Quarantine
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.eligibility import quarantine_of
from scripts.console import USAGE, CommandError

MODERATION_FILE = "moderation.yml"


@dataclass(frozen=True, kw_only=True)
class HiddenRecord:
    """A record in quarantine."""

    record: Result | Duel
    quarantine: Quarantine

    @property
    def owners(self) -> tuple[str, ...]:
        """The logins of its players."""
        players = self.record.players if isinstance(self.record, Duel) else (self.record,)
        return tuple(dict.fromkeys(player.login for player in players))

    @property
    def name(self) -> str:
        """Which agents on which task."""
        if isinstance(self.record, Duel):
            first, second = (f"{player.login}/{player.agent}" for player in self.record.players)
            return f"{first} against {second} in {self.record.task}"
        return f"{self.record.login}/{self.record.agent} on {self.record.task}"


def hidden_records(records: Iterable[Result | Duel], moderation: Moderation) -> list[HiddenRecord]:
    """The records that are in quarantine, by name."""
    hidden = [
        HiddenRecord(record=record, quarantine=quarantine)
        for record in records
        if (quarantine := quarantine_of(record, moderation))
    ]
    return sorted(hidden, key=lambda one: (one.name, one.record.key))


def with_quarantine(content: bytes, quarantine: Quarantine) -> bytes:
    """moderation.yml with one more quarantine; the rest of the text is unchanged.

    Raises:
        CommandError: the file is faulty, or its list is written in a way that no entry can be added to.
    """
    return with_item(content, "quarantines", quarantine)


def with_item(content: bytes, name: str, item: Quarantine | Erasure) -> bytes:
    """moderation.yml with one more item at the beginning of a list; the rest of the text is unchanged.

    Raises:
        CommandError: the file is faulty, or its list is written in a way that no entry can be added to.
    """
    before = _parsed(content)
    changed = _added(content.decode("utf-8"), name, item).encode()
    if _parsed(changed) != before.model_copy(update={name: (item, *getattr(before, name))}):
        raise CommandError(USAGE, f"{MODERATION_FILE}: its list '{name}' is written in a way that cannot be added to")
    return changed


def without_quarantines(content: bytes, lifted: Sequence[Quarantine]) -> bytes:
    """moderation.yml without some quarantines that `with_quarantine` wrote; the rest of the text is unchanged.

    Raises:
        CommandError: the file is faulty, or they are written in another way.
    """
    before, text = _parsed(content), content.decode("utf-8")
    if any(_item(quarantine) not in text for quarantine in lifted):
        raise CommandError(USAGE, f"{MODERATION_FILE}: the entry was edited by hand; remove it from 'quarantines' yourself")
    for quarantine in lifted:
        text = text.replace(_item(quarantine), "", 1)
    kept = tuple(quarantine for quarantine in before.quarantines if quarantine not in lifted)
    if not kept:
        text = re.sub(r"^quarantines:$", "quarantines: []", text, flags=re.MULTILINE)
    changed = text.encode()
    if _parsed(changed) != before.model_copy(update={"quarantines": kept}):
        raise CommandError(USAGE, f"{MODERATION_FILE}: the entry was edited by hand; remove it from 'quarantines' yourself")
    return changed


def _parsed(content: bytes) -> Moderation:
    try:
        return parse_moderation(content) if content.strip() else Moderation()
    except LoadError as error:
        raise CommandError(USAGE, f"{MODERATION_FILE} cannot be used: {error.lines[0]}; mend it first") from error


def _item(quarantine: Quarantine | Erasure) -> str:
    lines = []
    for name, value in quarantine.model_dump(mode="json", exclude_none=True, exclude_defaults=True).items():
        written = str(value).lower() if isinstance(value, bool) else "'" + str(value).replace("'", "''") + "'"
        lines.append(f"{name}: {written}")
    return "  - " + "\n    ".join(lines) + "\n"


def _added(text: str, name: str, item: Quarantine | Erasure) -> str:
    place = re.search(rf"^{name}:[ \t]*(\[[ \t]*\])?[ \t]*(#.*)?$", text, re.MULTILINE)
    if place is None:
        return f"{text.rstrip()}\n{name}:\n".lstrip("\n") + _item(item)
    return f"{text[: place.start()]}{name}:\n{_item(item)}{text[place.end() :].removeprefix(chr(10))}"
