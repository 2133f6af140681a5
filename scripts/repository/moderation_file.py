"""Entries of moderation.yml, written and removed without touching other lines, and what its quarantines hide."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluator.host.loading.yaml_loader import LoadError, parse_moderation
from evaluator.model.config.moderation import Erasure, Exclusion, Moderation, Quarantine, RehearsalEntry
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.eligibility import quarantine_of
from scripts.console import USAGE, CommandError

MODERATION_FILE = "moderation.yml"
_Entry = Quarantine | RehearsalEntry | Erasure | Exclusion


@dataclass(frozen=True, kw_only=True)
class HiddenRecord:
    """A record in quarantine."""

    record: Result | Duel
    quarantine: Quarantine

    @property
    def owners(self) -> tuple[str, ...]:
        """The logins of its players."""
        return tuple(dict.fromkeys(side.login for side in self.record.sides))

    @property
    def name(self) -> str:
        """Which agents on which task."""
        names = " against ".join(f"{side.login}/{side.agent}" for side in self.record.sides)
        return f"{names} {'in' if isinstance(self.record, Duel) else 'on'} {self.record.task}"


def hidden_records(records: Iterable[Result | Duel], moderation: Moderation) -> list[HiddenRecord]:
    """The records that are in quarantine, by name."""
    hidden = [
        HiddenRecord(record=record, quarantine=quarantine)
        for record in records
        if (quarantine := quarantine_of(record, moderation))
    ]
    return sorted(hidden, key=lambda hidden_record: (hidden_record.name, hidden_record.record.key))


def with_entry(content: bytes, key: str, entry: _Entry, shown: str = MODERATION_FILE) -> bytes:
    """moderation.yml with one more entry in the list `key`; the rest of the text is unchanged. `shown`: for messages.

    Raises:
        CommandError: the file is faulty, or its list is written in a way that no entry can be added to.
    """
    before = _parsed(content, shown)
    changed = _with_item(content.decode("utf-8"), key, entry).encode()
    if _parsed(changed, shown) != before.model_copy(update={key: (entry, *getattr(before, key))}):
        raise CommandError(USAGE, f"{shown}: its list {key!r} is written in a way that cannot be added to")
    return changed


def with_rehearsal_entry(content: bytes, entry: RehearsalEntry) -> bytes:
    """Main's moderation.yml with one more entry under `rehearsals`, if it has none of this version.

    Raises:
        CommandError: as for `with_entry`.
    """
    shown = f"{MODERATION_FILE} on main"
    is_marked = entry.digest in _parsed(content, shown).rehearsed_digests(entry.login, entry.agent)
    return content if is_marked else with_entry(content, "rehearsals", entry, shown)


def without_quarantines(content: bytes, lifted: Sequence[Quarantine]) -> bytes:
    """moderation.yml without some quarantines that `with_entry` wrote; the rest of the text is unchanged.

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


def with_quarantines_of(content: bytes, login: str, stand_in: str) -> bytes:
    """moderation.yml whose quarantines of a login are of its stand-in; one that was edited by hand gets a copy that is.

    Raises:
        CommandError: as for `with_entry`.
    """
    for quarantine in _parsed(content).quarantines:
        if quarantine.login is not None and quarantine.login.casefold() == login.casefold():
            written, renamed = _item(quarantine).encode(), quarantine.model_copy(update={"login": stand_in})
            if written in content:
                content = content.replace(written, _item(renamed).encode(), 1)
            else:
                content = with_entry(content, "quarantines", renamed)
    return content


def with_exclusions_of(content: bytes, login: str, stand_in: str, agents: Mapping[str, str]) -> bytes:
    """moderation.yml with a copy of each exclusion of a login for its stand-in; the host's own lines are unchanged.

    `agents`: the names that stand for the folders.

    Raises:
        CommandError: as for `with_entry`.
    """
    for exclusion in reversed(_parsed(content).exclusions):  # Each is added before the others, and the first is shown.
        agent = agents.get(exclusion.agent or "")
        is_of_nothing = agent is None and exclusion.agent is not None and exclusion.digest is None
        if exclusion.login.casefold() == login.casefold() and not is_of_nothing:
            renamed = exclusion.model_copy(update={"login": stand_in, "agent": agent})
            content = with_entry(content, "exclusions", renamed)
    return content


def _parsed(content: bytes, shown: str = MODERATION_FILE) -> Moderation:
    try:
        return parse_moderation(content) if content.strip() else Moderation()
    except LoadError as error:
        raise CommandError(USAGE, f"{shown} cannot be used: {error.lines[0]}; mend it first") from error


def _item(entry: _Entry, indent: str = "  ") -> str:
    lines = []
    for name, value in entry.model_dump(mode="json", exclude_none=True, exclude_defaults=True).items():
        written = str(value).lower() if isinstance(value, bool) else "'" + str(value).replace("'", "''") + "'"
        lines.append(f"{name}: {written}")
    return f"{indent}- " + f"\n{indent}  ".join(lines) + "\n"


def _with_item(text: str, key: str, entry: _Entry) -> str:
    place = re.search(rf"^{key}:[ \t]*(\[[ \t]*\])?[ \t]*(#.*)?$", text, re.MULTILINE)
    if place is None:
        return f"{text.rstrip()}\n{key}:\n".lstrip("\n") + _item(entry)
    following = re.match(r"(?:\s*#[^\n]*\n|\s*\n)*([ \t]*)- ", text[place.end() :])
    item = _item(entry, following[1] if following else "  ")
    return f"{text[: place.start()]}{key}:\n{item}{text[place.end() :].removeprefix(chr(10))}"
