"""Where a version stands: in one folder of its login at a time, which takes what was measured of it in another one.

The bytes are the agent, not the name of their folder. So a folder that is renamed is neither evaluated again nor ranked as
somebody new, and a second folder with the same bytes counts for nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evaluator.model.records.duel_record import PlayerRecord
from evaluator.model.records.result import Result
from leaderboard.core.eligibility import LOCAL
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.standings import Standings, entries_of


def twin_fault(other: str) -> str:
    """What to say of a folder whose version stands in another folder of its login."""
    return (
        f"is the same agent as {other}, and one version stands in one folder; name all its tasks in one submission.yml "
        "and remove the other folder"
    )


def without_twins(entries: Iterable[Entry]) -> tuple[list[Entry], list[tuple[Entry, Entry]]]:
    """The entries that count, in the order given, and each that does not with the one that does.

    Of folders of one login that hold the same version the first by name counts. The examples are the hosts' own, and none
    of them is left out.
    """
    entries = list(entries)
    first: dict[tuple[str, str], Entry] = {}
    for entry in sorted(entries, key=lambda entry: (entry.name, entry.login)):
        first.setdefault((entry.name[0], entry.digest), entry)
    kept, twins = [], []
    for entry in entries:
        counts = first[entry.name[0], entry.digest]
        if counts is entry or entry.login == LOCAL:
            kept.append(entry)
        else:
            twins.append((entry, counts))
    return kept, twins


@dataclass(frozen=True)
class VersionFolders:
    """The folder that each version stands in now."""

    _standing: Mapping[tuple[str, str], str]

    def of(self, side: Result | PlayerRecord) -> AgentName:
        """Whose a record is: the folder that its version stands in now, else the one that it was made in."""
        login = side.login.casefold()
        return AgentName(login, self._standing.get((login, side.submission_digest), side.agent))


NOWHERE = VersionFolders({})
"""Every record stays where it was made."""


def version_folders(entries: Iterable[Entry]) -> VersionFolders:
    """Where the versions of the entries stand. Examples stand where they are, so that none takes another's results."""
    kept, _ = without_twins(entries)
    return VersionFolders({(entry.name[0], entry.digest): entry.agent for entry in kept if entry.login != LOCAL})


def version_folders_of(board: Standings) -> VersionFolders:
    """The same of all that is on some board."""
    return version_folders({entry.name: entry for one in board.boards for entry in entries_of(one)}.values())
