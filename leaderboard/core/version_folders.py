"""Which folder a version is in now: a version is in one folder of its login at a time.

The files are the agent, not the folder's name. A renamed folder is not evaluated again or ranked as a new agent: it takes
over the results of its version. A second folder of the same login with the same files does not count.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evaluator.model.records.duel_record import PlayerRecord
from evaluator.model.records.result import Result
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName, Entry


def duplicate_fault(other: str) -> str:
    """The fault of a folder that holds the same version as another folder of its login."""
    return (
        f"is the same agent as {other}, and one version stands in one folder; name all its tasks in one submission.yml "
        "and remove the other folder"
    )


def without_duplicates(entries: Iterable[Entry]) -> tuple[list[Entry], list[tuple[Entry, Entry]]]:
    """Keep one entry for each version of a login: the first by name. Examples, which are the hosts' own, are all kept.

    Returns:
        The entries that count, in the order given, and each other entry with the one that counts in its place.
    """
    entries = list(entries)
    first: dict[tuple[str, str], Entry] = {}
    for entry in sorted(entries, key=lambda entry: (entry.name, entry.login)):
        first.setdefault((entry.name.login, entry.digest), entry)
    unique, duplicates = [], []
    for entry in entries:
        counts = first[entry.name.login, entry.digest]
        if counts is entry or entry.login == EXAMPLES_LOGIN:
            unique.append(entry)
        else:
            duplicates.append((entry, counts))
    return unique, duplicates


@dataclass(frozen=True)
class VersionFolders:
    """The folder that each version is in now, by login in lower case and digest."""

    _folders: Mapping[tuple[str, str], str]

    def of(self, side: Result | PlayerRecord) -> AgentName:
        """The agent a record belongs to: the folder its version is in now, else the one it was recorded with."""
        login = side.login.casefold()
        return AgentName(login, self._folders.get((login, side.submission_digest), side.agent))


AS_RECORDED = VersionFolders({})
"""Every record belongs to the folder it was recorded with."""


def version_folders(entries: Iterable[Entry]) -> VersionFolders:
    """The folders of the entries' versions; examples are left out, so that none takes over another's results."""
    unique, _ = without_duplicates(entries)
    return VersionFolders(
        {(entry.name.login, entry.digest): entry.agent for entry in unique if entry.login != EXAMPLES_LOGIN}
    )
