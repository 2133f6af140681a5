"""Who is one before the rules: a person, whatever the login is called, and a team whose members name each other."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evaluator.model.records.duel_record import Duel, Player
from evaluator.model.records.result import Result
from leaderboard.entry import Entry
from leaderboard.field import LOCAL, Name
from leaderboard.teams import teams


@dataclass(frozen=True)
class Persons:
    """Logins by GitHub's numbers of their accounts, as far as records name them: a login can be changed, a number cannot."""

    _number: Mapping[str, int]

    def of(self, login: str) -> str:
        """One name for all logins of an account; a login whose number no record names stands for itself."""
        folded = login.casefold()
        number = self._number.get(folded)
        return folded if number is None else f"#{number}"

    def of_side(self, side: Result | Player) -> str:
        """The same of who is recorded, by the number that the record itself names."""
        return self.of(side.login) if side.login_id is None else f"#{side.login_id}"


def persons(records: Iterable[Result | Duel]) -> Persons:
    """Whose account each login was when something of it was recorded last."""
    newest: dict[str, tuple[str, int]] = {}
    for record in records:
        at = record.provenance.evaluated_at
        for side in record.players if isinstance(record, Duel) else (record,):
            if side.login_id is not None:
                login = side.login.casefold()
                newest[login] = max(newest.get(login, ("", 0)), (at, side.login_id))
    return Persons({login: number for login, (_, number) in newest.items()})


@dataclass(frozen=True)
class Sides:
    """Which two players are of one side, so that what they play against each other says nothing of their strength."""

    _persons: Persons
    _members: Mapping[str, frozenset[str]]
    _aside: frozenset[Name]

    def of(self, name: Name) -> frozenset[str]:
        """The persons behind a folder; nobody behind the examples and the baselines, which are of no side."""
        if name[0] == LOCAL or name in self._aside:
            return frozenset()
        return self._members.get(name[0]) or frozenset([self._persons.of(name[0])])

    def are_one(self, first: Name, second: Name) -> bool:
        """Whether two folders are of one account or one team."""
        return not self.of(first).isdisjoint(self.of(second))

    def is_between_own(self, duel: Duel) -> bool:
        """The same of the players of a duel, of which one may have left; a validation is not meant."""
        one, other = duel.players
        if one.name == other.name or not (self.of(one.name) and self.of(other.name)):
            return False
        return self._persons.of_side(one) == self._persons.of_side(other) or self.are_one(one.name, other.name)


def sides(entries: Iterable[Entry], records: Iterable[Result | Duel]) -> Sides:
    """Of the entries on main and what is recorded."""
    entries, known = list(entries), persons(records)
    members = {login: frozenset(map(known.of, team)) for login, team in teams(entries).items()}
    return Sides(known, members, frozenset(entry.name for entry in entries if entry.baseline))


class Attempts:
    """How many versions the people behind a folder had evaluated: another folder begins no new count."""

    def __init__(self, own: Sides, versions: Iterable[tuple[Name, str]]) -> None:
        """`versions`: each evaluated version by the folder that it belongs to, and its digest."""
        self._sides = own
        self._by_name: dict[Name, set[str]] = defaultdict(set)
        self._by_person: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for name, digest in versions:
            self._by_name[name].add(digest)
            for person in own.of(name):
                self._by_person[person].add((name[0], digest))

    def of(self, name: Name) -> int:
        """The versions of an account or team; of an example or a baseline those of its own folder."""
        people = self._sides.of(name)
        if not people:
            return len(self._by_name.get(name, ()))
        return len(set[tuple[str, str]]().union(*(self._by_person.get(person, ()) for person in people)))
