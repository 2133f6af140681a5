"""Who is one before the rules: a person, whatever the login is called, and a team whose members name each other."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from evaluator.model.config.participants import CustomField, People
from evaluator.model.config.submission import Submission
from evaluator.model.identifiers import LOGIN
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.result import Result
from leaderboard.core.eligibility import LOCAL
from leaderboard.core.entry import AgentName, Entry

# What stands below a fault: the keys of the manifest that lead to it.
Place = tuple[int | str, ...]
_MENTION = re.compile(rf"@({LOGIN.pattern})")


def mentioned_logins(author: str) -> str | None:
    """The login that an author is written with, without capitals; None for a name in words."""
    found = _MENTION.fullmatch(author)
    return found[1].casefold() if found else None


def login_name(submission: Submission) -> frozenset[str]:
    """The logins among the authors, without capitals."""
    return frozenset(login for author in submission.authors if (login := mentioned_logins(author)))


def is_asked(people: People, entry: Entry) -> bool:
    """Whether an entry has to keep the rules for people: the hosts' own and the baselines are theirs to judge."""
    return not (entry.login == LOCAL or entry.baseline or people.is_host(entry.login))


def participant_faults(people: People, login: str, submission: Submission) -> Iterator[tuple[Place, str]]:
    """What an entry says of its people that the challenge does not take, each with its place in the manifest."""
    if ban := people.ban_of(login):
        yield (), f"{login} may not take part: {ban.why}; ask the hosts"
    for index, author in enumerate(submission.authors):
        other = mentioned_logins(author)
        ban = people.ban_of(other) if other and other != login.casefold() else None
        if ban:
            yield ("authors", index), f"{ban.login} may not take part: {ban.why}; an entry without {ban.login} may"
        if people.one_team_each and other is None:
            yield ("authors", index), f"{author!r} is no login; each may be in one team only, so write '@login'"
    size = len({mentioned_logins(author) or author for author in submission.authors} | {login.casefold()})
    if people.team_size is not None and size > people.team_size:
        yield ("authors",), f"{size} people, with {login}; a team has {people.team_size} at most"
    if people.terms and submission.terms is not True:
        yield ("terms",), f"the terms are not accepted: read {people.terms} and write 'terms: true'"
    for field in people.fields:
        if fault := _unanswered(field, submission.meta.get(field.name)):
            yield ("meta", field.name), fault


def _unanswered(field: CustomField, answer: str | bool | None) -> str | None:
    """What is wrong with an answer, if anything."""
    about = f" ({field.description})" if field.description else ""
    if answer is None or answer == "":
        return f"'meta' lacks an answer to '{field.name}'{about}; add it" if field.required else None
    match field.kind:
        case "boolean" if not isinstance(answer, bool):
            return f"'{field.name}'{about} is answered with true or false, without quotes"
        case "text" if isinstance(answer, bool):
            return f"'{field.name}'{about} is answered in words; put them in quotes"
        case "choice" if answer not in field.options:
            return f"'{field.name}'{about} is one of {', '.join(field.options)}"
        case _:
            return None


def teams_of(entries: Iterable[Entry]) -> Mapping[str, frozenset[str]]:
    """Each owner's team, by login without capitals: all that name each other, whoever names whom alone binds nobody."""
    names: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        names[entry.login.casefold()] |= login_name(entry.submission)
    team: dict[str, frozenset[str]] = {owner: frozenset([owner]) for owner in names}
    for owner, others in names.items():
        for other in others:
            if owner in names.get(other, ()) and other not in team[owner]:
                joined = team[owner] | team[other]
                team |= dict.fromkeys(joined, joined)
    return team


def taken_team_names(entries: Iterable[Entry], arrived: Mapping[AgentName, datetime], now: datetime) -> dict[AgentName, str]:
    """Where each may be in one team only: the entries that name somebody of another team, and whom.

    Whoever has entries of his own is in his own team, whoever else names him; of others the earlier entry holds.
    """
    entries = sorted(entries, key=lambda entry: (arrived.get(entry.name, now), entry.name))
    team = teams_of(entries)
    holder: dict[str, frozenset[str]] = {login: own for own in team.values() for login in own}
    found: dict[AgentName, str] = {}
    for entry in entries:
        own = team[entry.login.casefold()]
        rest = sorted(login_name(entry.submission) - own)
        other = next((login for login in rest if login in holder and holder[login] != own), None)
        if other is not None:
            found[entry.name] = f"@{other} is in another team already, and each may be in one only; take the name out"
            continue
        holder |= dict.fromkeys(rest, own)
    return found


@dataclass(frozen=True)
class PersonIndex:
    """Logins by GitHub's numbers of their accounts, as far as records name them: a login can be changed, a number cannot."""

    _number: Mapping[str, int]

    def of(self, login: str) -> str:
        """One name for all logins of an account; a login whose number no record names stands for itself."""
        folded = login.casefold()
        number = self._number.get(folded)
        return folded if number is None else f"#{number}"

    def of_side(self, side: Result | PlayerRecord) -> str:
        """The same of who is recorded, by the number that the record itself names."""
        return self.of(side.login) if side.login_id is None else f"#{side.login_id}"


def person_index(records: Iterable[Result | Duel]) -> PersonIndex:
    """Whose account each login was when something of it was recorded last."""
    newest: dict[str, tuple[str, int]] = {}
    for record in records:
        at = record.provenance.evaluated_at
        for side in record.players if isinstance(record, Duel) else (record,):
            if side.login_id is not None:
                login = side.login.casefold()
                newest[login] = max(newest.get(login, ("", 0)), (at, side.login_id))
    return PersonIndex({login: number for login, (_, number) in newest.items()})


@dataclass(frozen=True)
class OwnerGroups:
    """Which two players are of one side, so that what they play against each other says nothing of their strength."""

    _persons: PersonIndex
    _members: Mapping[str, frozenset[str]]
    _aside: frozenset[AgentName]

    def of(self, name: AgentName) -> frozenset[str]:
        """The persons behind a folder; nobody behind the examples and the baselines, which are of no side."""
        if name[0] == LOCAL or name in self._aside:
            return frozenset()
        return self._members.get(name[0]) or frozenset([self._persons.of(name[0])])

    def are_one(self, first: AgentName, second: AgentName) -> bool:
        """Whether two folders are of one account or one team."""
        return not self.of(first).isdisjoint(self.of(second))

    def is_between_own(self, duel: Duel) -> bool:
        """The same of the players of a duel, of which one may have left; a validation is not meant."""
        first, second = duel.players
        name, other_name = AgentName(*first.name), AgentName(*second.name)
        if name == other_name or not (self.of(name) and self.of(other_name)):
            return False
        return self._persons.of_side(first) == self._persons.of_side(second) or self.are_one(name, other_name)


def owner_groups(entries: Iterable[Entry], records: Iterable[Result | Duel]) -> OwnerGroups:
    """Of the entries on main and what is recorded."""
    entries, known = list(entries), person_index(records)
    members = {login: frozenset(map(known.of, team)) for login, team in teams_of(entries).items()}
    return OwnerGroups(known, members, frozenset(entry.name for entry in entries if entry.baseline))


class OwnerAttempts:
    """How many versions the people behind a folder had evaluated: another folder begins no new count."""

    def __init__(self, own: OwnerGroups, versions: Iterable[tuple[AgentName, str]]) -> None:
        """`versions`: each evaluated version by the folder that it belongs to, and its digest."""
        self._sides = own
        self._by_name: dict[AgentName, set[str]] = defaultdict(set)
        self._by_person: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for name, digest in versions:
            self._by_name[name].add(digest)
            for person in own.of(name):
                self._by_person[person].add((name[0], digest))

    def of(self, name: AgentName) -> int:
        """The versions of an account or team; of an example or a baseline those of its own folder."""
        people = self._sides.of(name)
        if not people:
            return len(self._by_name.get(name, ()))
        return len(set[tuple[str, str]]().union(*(self._by_person.get(person, ()) for person in people)))
