"""Who is behind an entry: what people are asked, how many they may be, and in how many teams one may stand."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from evaluator.model.config.participants import CustomField, People
from evaluator.model.config.submission import Submission
from evaluator.model.identifiers import LOGIN
from leaderboard.entry import Entry
from leaderboard.field import LOCAL, Name

# What stands below a fault: the keys of the manifest that lead to it.
Place = tuple[int | str, ...]
_MENTION = re.compile(rf"@({LOGIN.pattern})")


def mentioned(author: str) -> str | None:
    """The login that an author is written with, without capitals; None for a name in words."""
    found = _MENTION.fullmatch(author)
    return found[1].casefold() if found else None


def named(submission: Submission) -> frozenset[str]:
    """The logins among the authors, without capitals."""
    return frozenset(login for author in submission.authors if (login := mentioned(author)))


def is_asked(people: People, entry: Entry) -> bool:
    """Whether an entry has to keep the rules for people: the hosts' own and the baselines are theirs to judge."""
    return not (entry.login == LOCAL or entry.baseline or people.is_host(entry.login))


def faults(people: People, login: str, submission: Submission) -> Iterator[tuple[Place, str]]:
    """What an entry says of its people that the challenge does not take, each with its place in the manifest."""
    if ban := people.ban_of(login):
        yield (), f"{login} may not take part: {ban.why}; ask the hosts"
    for index, author in enumerate(submission.authors):
        other = mentioned(author)
        ban = people.ban_of(other) if other and other != login.casefold() else None
        if ban:
            yield ("authors", index), f"{ban.login} may not take part: {ban.why}; an entry without {ban.login} may"
        if people.one_team_each and other is None:
            yield ("authors", index), f"{author!r} is no login; each may be in one team only, so write '@login'"
    size = len({mentioned(author) or author for author in submission.authors} | {login.casefold()})
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


def teams(entries: Iterable[Entry]) -> Mapping[str, frozenset[str]]:
    """Each owner's team, by login without capitals: all that name each other, whoever names whom alone binds nobody."""
    names: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        names[entry.login.casefold()] |= named(entry.submission)
    team: dict[str, frozenset[str]] = {owner: frozenset([owner]) for owner in names}
    for owner, others in names.items():
        for other in others:
            if owner in names.get(other, ()) and other not in team[owner]:
                joined = team[owner] | team[other]
                team |= dict.fromkeys(joined, joined)
    return team


def taken(entries: Iterable[Entry], arrived: Mapping[Name, datetime], now: datetime) -> dict[Name, str]:
    """Where each may be in one team only: the entries that name somebody of another team, and whom.

    Whoever has entries of his own is in his own team, whoever else names him; of others the earlier entry holds.
    """
    entries = sorted(entries, key=lambda entry: (arrived.get(entry.name, now), entry.name))
    team = teams(entries)
    holder: dict[str, frozenset[str]] = {login: own for own in team.values() for login in own}
    found: dict[Name, str] = {}
    for entry in entries:
        own = team[entry.login.casefold()]
        rest = sorted(named(entry.submission) - own)
        other = next((login for login in rest if login in holder and holder[login] != own), None)
        if other is not None:
            found[entry.name] = f"@{other} is in another team already, and each may be in one only; take the name out"
            continue
        holder |= dict.fromkeys(rest, own)
    return found
