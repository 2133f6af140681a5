"""What a board shows at a moment: boards that are hidden until a date are left out, and names are others until a date.

Both are done to what ranking is given, so that tables, pages, feeds and JSON cannot forget them. It is courtesy, no secret:
pull requests and the branch of results are as public as the repository.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.config.moderation import Moderation
from evaluator.model.config.phase import to_utc
from evaluator.model.config.submission import Submission
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.result import Provenance, Result
from leaderboard.core.eligibility import LOCAL
from leaderboard.core.entry import Entry
from leaderboard.core.owners import owner_groups
from leaderboard.core.versions import version_folders

# Of the hash: enough for ten thousand entries without two alike.
DIGITS = 8


@dataclass(frozen=True, kw_only=True)
class VisibleBoard:
    """What a board is made of."""

    challenge: Challenge
    """The rules, with the tasks that are shown."""
    entries: tuple[Entry, ...]
    """The agents on main."""
    results: tuple[Result, ...]
    """Everything recorded of single agents."""
    duels: tuple[Duel, ...]
    """Everything recorded of two players."""
    moderation: Moderation
    """Who is kept off the board, and for whom the hosts vouch."""


def hidden(challenge: Challenge, now: datetime) -> tuple[Task, ...]:
    """The tasks whose boards are not shown yet."""
    phases = ((task, challenge.phase_of(task.id)) for task in challenge.tasks)
    return tuple(task for task, phase in phases if phase and not phase.is_shown(now))


def is_anonymous(challenge: Challenge, now: datetime) -> bool:
    """Whether names are others than they are."""
    until = challenge.people.anonymous_until
    return until is not None and now < to_utc(until)


def anonymous_mark(challenge: Challenge, login: str, agent: str) -> str:
    """The digits that an entry is called by until its name is shown: the same in all versions and on all tasks."""
    text = f"pullrank-anonymous-1 {challenge.season}\n{login.casefold()}\n{agent}"
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def is_known(challenge: Challenge, login: str, agent: str) -> bool:
    """Whether an entry is called by its name all the time: the hosts', the baselines, and who is rated 0."""
    named = {task.anchor.casefold() for task in challenge.games if task.anchor}
    return (
        login == LOCAL
        or challenge.people.is_host(login)
        or challenge.is_baseline(login, agent, example=False)
        or f"{login}/{agent}".casefold() in named
    )


def anonymous_name(challenge: Challenge, name: str, now: datetime) -> str:
    """How `login/agent` is called now, where others read it."""
    login, _, agent = name.partition("/")
    if not agent or not is_anonymous(challenge, now) or is_known(challenge, login, agent):
        return name
    return f"Entry {anonymous_mark(challenge, login, agent)}"


def as_shown(whole: VisibleBoard, now: datetime) -> VisibleBoard:
    """What the board is made of at a moment, the flags of people put on the entries."""
    challenge, gone = whole.challenge, {task.id for task in hidden(whole.challenge, now)}
    if gone:
        tasks = tuple(task for task in challenge.tasks if task.id not in gone)
        challenge = challenge.model_copy(update={"tasks": tasks})
    entries = with_flags(whole).entries
    results = tuple(result for result in whole.results if result.task not in gone) if gone else whole.results
    duels = tuple(duel for duel in whole.duels if duel.task not in gone)
    found = replace(whole, challenge=challenge, entries=entries, results=results, duels=duels)
    return _masked(found) if is_anonymous(challenge, now) else found


def with_flags(whole: VisibleBoard) -> VisibleBoard:
    """The same with what the hosts say of each entry, and nothing hidden."""
    return replace(whole, entries=tuple(flagged(whole.challenge, entry, whole.moderation) for entry in whole.entries))


def flagged(challenge: Challenge, entry: Entry, moderation: Moderation) -> Entry:
    """An entry with what the hosts say of it."""
    vouched = moderation.vouched(entry.login, entry.agent)
    return replace(entry, host=challenge.people.is_host(entry.login), verified=vouched)


def _masked(whole: VisibleBoard) -> VisibleBoard:
    challenge = whole.challenge
    names = {(entry.login, entry.agent) for entry in whole.entries}
    names |= {(result.login, result.agent) for result in whole.results}
    names |= {(player.login, player.agent) for duel in whole.duels for player in duel.players}
    mask = {
        name: (f"entry-{anonymous_mark(challenge, *name)}", "agent")
        for name in sorted(names)
        if not is_known(challenge, *name)
    }
    at, spelled = version_folders(whole.entries), {entry.name: (entry.login, entry.agent) for entry in whole.entries}

    def masked(side: Result | PlayerRecord) -> tuple[str, str] | None:
        return mask.get(spelled.get(at.of(side), (side.login, side.agent)))

    # Under other names nobody can tell any more which of them are one login or one team.
    own = owner_groups(whole.entries, whole.duels)
    return replace(
        whole,
        entries=tuple(_entry(entry, mask.get((entry.login, entry.agent))) for entry in whole.entries),
        results=tuple(_result(result, masked(result)) for result in whole.results),
        duels=tuple(_duel(duel, masked) for duel in whole.duels if not own.is_between_own(duel)),
        moderation=_moderation(whole.moderation, mask, names - mask.keys()),
    )


Mask = dict[tuple[str, str], tuple[str, str]]
_NOBODY: dict[str, object] = {"login_id": None, "message": "", "log_tail": ""}


def _entry(entry: Entry, masked: tuple[str, str] | None) -> Entry:
    if masked is None:
        return entry
    digits = masked[0].removeprefix("entry-")
    kept = {"kind": entry.submission.kind, "tasks": entry.submission.tasks}
    submission = Submission(name=f"Entry {digits}", algorithm="not shown yet").model_copy(update=kept)
    version, (login, agent) = _other(entry.digest), masked
    return replace(
        entry, login=login, agent=agent, digest=version, submission=submission, verified=None, anonymous=True
    )  # fmt: skip


def _result(result: Result, masked: tuple[str, str] | None) -> Result:
    if masked is None:
        return result
    nowhere = Provenance(evaluated_at=result.provenance.evaluated_at)
    version = _other(result.submission_digest)
    fields = {"login": masked[0], "agent": masked[1], "submission_digest": version, "provenance": nowhere}
    # What did not start at once may be an image, and its name a person's.
    return result.model_copy(update={**fields, **_NOBODY, "first_attempt": None})


def _duel(duel: Duel, masked: Callable[[PlayerRecord], tuple[str, str] | None]) -> Duel:
    found = [masked(player) for player in duel.players]
    if not any(found):
        return duel
    players = tuple(_player(player, name) for player, name in zip(duel.players, found, strict=True))
    # What a match says may be the agent's own words; the key is part of the record's path, and that has the names.
    matches = tuple(match.model_copy(update={"message": ""}) for match in duel.matches)
    nowhere = Provenance(evaluated_at=duel.provenance.evaluated_at)
    fields = {"players": players, "matches": matches, "key": _other(duel.key), "message": "", "provenance": nowhere}
    return duel.model_copy(update={**fields, "first_attempt": None})


def _player(player: PlayerRecord, masked: tuple[str, str] | None) -> PlayerRecord:
    if masked is None:
        return player
    version = _other(player.submission_digest)
    return player.model_copy(update={"login": masked[0], "agent": masked[1], "submission_digest": version, **_NOBODY})


def _other(digest: str) -> str:
    """A digest in place of one that a search through the repository would find; equal ones stay equal."""
    return hashlib.sha256(f"pullrank-anonymous-1 digest\n{digest}".encode()).hexdigest()


def _moderation(moderation: Moderation, mask: Mask, known: Iterable[tuple[str, str]]) -> Moderation:
    """The same exclusions by the other names; reason and link wait too, as they often name somebody.

    Those of nobody who is on the board are left out: there is no other name for them.
    """
    found: list[object] = []
    for (login, agent), (other, folder) in mask.items():
        if exclusion := moderation.of(login, agent):
            waiting = {"login": other, "agent": folder, "why": "named when the names are", "link": ""}
            found.append(exclusion.model_copy(update=waiting))
    rest = [one for one in moderation.exclusions if any(one.covers(*name) for name in known)]
    return moderation.model_copy(update={"exclusions": (*found, *rest), "verified": ()})
