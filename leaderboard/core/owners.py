"""Who is behind an entry: people (one account whatever its login), teams, and the rules for participants."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from evaluator.model.config.people import CustomField, People
from evaluator.model.config.submission import Submission
from evaluator.model.identifiers import LOGIN
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import PREVIEW_BEACON
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName, Entry

KeyPath = tuple[int | str, ...]
"""The keys of the manifest that lead to a value."""
_MENTION = re.compile(rf"@({LOGIN.pattern})")


@dataclass(frozen=True, kw_only=True)
class Banned:
    """The owner, or an author, was banned by the hosts."""

    login: str
    why: str
    is_owner: bool
    key_path: KeyPath


@dataclass(frozen=True, kw_only=True)
class AuthorWithoutLogin:
    """An author is not written as `@login`, which the rule of one team each needs."""

    author: str
    key_path: KeyPath


@dataclass(frozen=True, kw_only=True)
class TeamTooLarge:
    """There are more people than a team may have."""

    login: str
    size: int
    limit: int
    key_path: KeyPath = ("authors",)


@dataclass(frozen=True, kw_only=True)
class TermsNotAccepted:
    """The manifest does not accept the challenge's terms."""

    terms: str
    key_path: KeyPath = ("terms",)


@dataclass(frozen=True, kw_only=True)
class InvalidAnswer:
    """A custom field has no answer although it needs one, or an answer of the wrong kind."""

    field: CustomField
    is_missing: bool

    @property
    def key_path(self) -> KeyPath:
        """In the manifest."""
        return "meta", self.field.name


@dataclass(frozen=True)
class InAnotherTeam:
    """An author belongs to another team, and everyone may be in one team only."""

    login: str
    key_path: KeyPath = ()


ParticipantFault = Banned | AuthorWithoutLogin | TeamTooLarge | TermsNotAccepted | InvalidAnswer | InAnotherTeam


def mentioned_login(author: str) -> str | None:
    """The login of an author written as `@login`, in lower case; None for a plain name."""
    match = _MENTION.fullmatch(author)
    return match[1].casefold() if match else None


def author_logins(submission: Submission) -> frozenset[str]:
    """The logins among the authors, in lower case."""
    return frozenset(login for author in submission.authors if (login := mentioned_login(author)))


def is_participant(people: People, entry: Entry) -> bool:
    """Whether the rules for participants apply to an entry; they do not to the hosts' own, the examples and baselines."""
    return not (entry.login == EXAMPLES_LOGIN or entry.baseline or people.is_host(entry.login))


def participant_faults(people: People, login: str, submission: Submission) -> Iterator[ParticipantFault]:
    """What breaks the challenge's rules for participants."""
    if ban := people.ban_of(login):
        yield Banned(login=login, why=ban.why, is_owner=True, key_path=())
    for index, author in enumerate(submission.authors):
        other = mentioned_login(author)
        ban = people.ban_of(other) if other and other != login.casefold() else None
        if ban:
            yield Banned(login=ban.login, why=ban.why, is_owner=False, key_path=("authors", index))
        if people.one_team_each and other is None:
            yield AuthorWithoutLogin(author=author, key_path=("authors", index))
    size = len({mentioned_login(author) or author for author in submission.authors} | {login.casefold()})
    if people.team_size is not None and size > people.team_size:
        yield TeamTooLarge(login=login, size=size, limit=people.team_size)
    if people.terms and submission.terms is not True:
        yield TermsNotAccepted(terms=people.terms)
    for field in people.fields:
        answer = submission.meta.get(field.name)
        is_missing = answer is None or answer == ""
        if field.required if is_missing else not _is_answer(field, answer):
            yield InvalidAnswer(field=field, is_missing=is_missing)


def _is_answer(field: CustomField, answer: str | bool | None) -> bool:
    match field.kind:
        case "boolean":
            return isinstance(answer, bool)
        case "text":
            return not isinstance(answer, bool)
        case "choice":
            return answer in field.options


def teams_of(entries: Iterable[Entry]) -> Mapping[str, frozenset[str]]:
    """Each owner's team, by login in lower case: owners who name each other as authors. Naming must be mutual."""
    names: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        names[entry.login.casefold()] |= author_logins(entry.submission)
    team: dict[str, frozenset[str]] = {owner: frozenset([owner]) for owner in names}
    for owner, others in names.items():
        for other in others:
            if owner in names.get(other, ()) and other not in team[owner]:
                joined = team[owner] | team[other]
                team |= dict.fromkeys(joined, joined)
    return team


NEVER_NAMED: Mapping[tuple[str, str], datetime] = {}


def team_conflicts(
    entries: Iterable[Entry],
    arrived: Mapping[AgentName, datetime],
    now: datetime,
    named: Mapping[tuple[str, str], datetime] = NEVER_NAMED,
) -> dict[AgentName, InAnotherTeam]:
    """Where everyone may be in one team only: the entries that name a member of another team.

    An owner of entries belongs to their own team, no matter who names them. Anyone else belongs to the team that has named
    them for longest: by the present version alone, whoever names a rival's member would keep out the rival's next one.

    Args:
        entries: the entries of participants.
        arrived: when each version came to main, by the folder as it is spelled; `now` for those that are missing.
        now: the present moment.
        named: owner and author, in lower case, to when the owner's entries began to name the author; the entry's arrival
            for those that are missing.
    """
    entries = list(entries)
    teams = teams_of(entries)
    team_of: dict[str, frozenset[str]] = {login: team for team in teams.values() for login in team}
    claims = [
        (named.get((entry.name.login, login), arrived.get(entry.spelled_name, now)), entry.name, login)
        for entry in entries
        for login in author_logins(entry.submission)
    ]
    for _, name, login in sorted(claims):
        team_of.setdefault(login, teams[name.login])
    conflicts: dict[AgentName, InAnotherTeam] = {}
    for entry in entries:
        team = teams[entry.name.login]
        taken = next((login for login in sorted(author_logins(entry.submission)) if team_of[login] != team), None)
        if taken is not None:
            conflicts[entry.name] = InAnotherTeam(taken)
    return conflicts


def new_team_faults(people: People, entry: Entry, on_main: Iterable[Entry]) -> Iterator[InAnotherTeam]:
    """Where everyone may be in one team only: whom a new version may not name, though planning would only hold it back.

    Its seeds are known once it is merged: its owner would leave the name out of the luckiest of many that wait, and nobody
    counts the others. A version that stands already may name an owner, who then names it back.
    """
    others = [other for other in on_main if other.name != entry.name and is_participant(people, other)]
    teams, version = teams_of([*others, entry]), (entry.name.login, entry.digest)
    own, stands = teams[entry.name.login], version in {(other.name.login, other.digest) for other in on_main}
    for login in sorted(author_logins(entry.submission)) if people.one_team_each else ():
        naming = {other.name.login for other in others if login in author_logins(other.submission)}
        if (login not in own and not stands) if login in teams else (naming - own and not naming & own):
            yield InAnotherTeam(login)


@dataclass(frozen=True)
class PersonIndex:
    """GitHub's account numbers by login, as far as records name them: a login can change, its number cannot."""

    _number: Mapping[str, int]

    def person_of(self, login: str) -> str:
        """One id for all logins of an account; a login without a recorded number is its own id."""
        folded = login.casefold()
        number = self._number.get(folded)
        return folded if number is None else f"#{number}"

    def person_of_side(self, side: Result | PlayerRecord) -> str:
        """The id of whoever was recorded, by the number in the record itself if it has one."""
        return self.person_of(side.login) if side.login_id is None else f"#{side.login_id}"


def person_index(records: Iterable[Result | Duel]) -> PersonIndex:
    """Index logins by the account of their newest record."""
    newest: dict[str, tuple[str, int]] = {}
    for record in records:
        at = record.provenance.evaluated_at
        for side in record.sides:
            if side.login_id is not None:
                login = side.login.casefold()
                newest[login] = max(newest.get(login, ("", 0)), (at, side.login_id))
    return PersonIndex({login: number for login, (_, number) in newest.items()})


def team_people(entries: Iterable[Entry], persons: PersonIndex) -> Mapping[str, frozenset[str]]:
    """The people of each person's team, by the ids of `persons`; who has two logins joins the teams of both."""
    team: dict[str, frozenset[str]] = {}
    # One set for all of a team, which its members share.
    for logins in set(teams_of(entries).values()):
        people = frozenset(map(persons.person_of, logins))
        people = people.union(*(team[person] for person in people if person in team))
        team |= dict.fromkeys(people, people)
    return team


@dataclass(frozen=True)
class OwnerGroups:
    """Which agents belong to the same account or team: duels between them do not count."""

    persons: PersonIndex
    _team: Mapping[str, frozenset[str]]
    _baselines: frozenset[AgentName]

    def has_owner(self, name: AgentName) -> bool:
        """Whether an agent belongs to a person; the examples and the baselines do not."""
        return name.login != EXAMPLES_LOGIN and name not in self._baselines

    def team_of(self, person: str) -> frozenset[str]:
        """The people that a person stands together with, and the person."""
        return self._team.get(person) or frozenset([person])

    def people_behind(self, name: AgentName) -> frozenset[str]:
        """The people behind an agent; empty where it has no owner."""
        return self.team_of(self.persons.person_of(name.login)) if self.has_owner(name) else frozenset()

    def are_same_owner(self, first: AgentName, second: AgentName) -> bool:
        """Whether two agents belong to one account or team."""
        return not self.people_behind(first).isdisjoint(self.people_behind(second))

    def is_within_one_owner(self, duel: Duel) -> bool:
        """Whether the two agents of a duel belong to one account or team; False for a validation.

        The account numbers in the record count too, since a player may have left.
        """
        first, second = duel.players
        name, other_name = AgentName(*first.name), AgentName(*second.name)
        if name == other_name or not (self.has_owner(name) and self.has_owner(other_name)):
            return False
        return self.persons.person_of_side(first) == self.persons.person_of_side(second) or self.are_same_owner(
            name, other_name
        )


def owner_groups(entries: Iterable[Entry], records: Iterable[Result | Duel]) -> OwnerGroups:
    """Group the entries on main, with the account numbers of the records."""
    entries, persons = list(entries), person_index(records)
    return OwnerGroups(persons, team_people(entries, persons), frozenset(entry.name for entry in entries if entry.baseline))


def superseded_entries(
    groups: OwnerGroups, entries: Iterable[Entry], chosen_by: Callable[[Entry], tuple[Any, ...]]
) -> dict[AgentName, str]:
    """An owner holds one place on a leaderboard: that of its first entry by `chosen_by`, a sort key.

    Examples, baselines and hosts' own entries have no owner here, since they take no place.

    Returns:
        The names of the owner's other entries, each with the one that holds the place in its stead, `login/agent`.
    """
    by_owner: dict[frozenset[str], list[Entry]] = defaultdict(list)
    for entry in entries:
        people = groups.people_behind(entry.name)
        if people and not entry.is_unranked:
            by_owner[people].append(entry)
    several = [(min(owned, key=chosen_by), owned) for owned in by_owner.values() if len(owned) > 1]
    return {entry.name: holder.shown for holder, owned in several for entry in owned if entry is not holder}


class OwnerTry(NamedTuple):
    """One evaluation of a version on seeds of its own."""

    name: AgentName
    person: str
    """The id of its owner's account."""
    digest: str
    beacon: str


class OwnerTries:
    """How many versions, and beacons of each, the people behind an agent had: a new folder or login starts no new count."""

    def __init__(self, groups: OwnerGroups, tries: Iterable[OwnerTry]) -> None:
        """Count what was evaluated on one task."""
        self._groups = groups
        # A version is in one folder of its owner at a time, whatever its name.
        self._tries: dict[AgentName | frozenset[str], set[tuple[str, str, str]]] = defaultdict(set)
        for name, person, digest, beacon in tries:
            key = groups.team_of(person) if groups.has_owner(name) else name
            self._tries[key].add((person, digest, beacon))

    def versions(self, name: AgentName) -> int:
        """The versions of its account or team; for an example or a baseline, those of its own folder."""
        return len({(person, digest) for person, digest, _ in self._of_owner(name)})

    def tries(self, name: AgentName) -> int:
        """The versions, once for each beacon, that its account or team could choose from; 1 for an example or a baseline.

        Previews do not count: they are on seeds of their own, the same for everybody, so their luck says nothing of others.
        """
        if not self._groups.has_owner(name):
            return 1
        return max(1, sum(beacon != PREVIEW_BEACON for *_, beacon in self._of_owner(name)))

    def _of_owner(self, name: AgentName) -> Collection[tuple[str, str, str]]:
        return self._tries.get(self._groups.people_behind(name) or name, ())
