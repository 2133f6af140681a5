"""What may be shown at a moment: leaderboards can be hidden, and names replaced, until a date.

Both change the input of ranking, so that tables, pages, feeds and JSON cannot forget them. This keeps no secrets: pull
requests and the branch `results` are as public as the repository.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.moderation import Moderation
from evaluator.model.config.phase import to_utc
from evaluator.model.config.submission import Submission
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import PREVIEW_BEACON, Provenance
from evaluator.model.sealed_fields import secret_hash
from leaderboard.core.eligibility import without_excluded_teams
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName, Entry
from leaderboard.core.owners import owner_groups
from leaderboard.core.standings import FinalDraws
from leaderboard.core.version_folders import version_folders

# Digits of the hash that stand for a name: so many that nobody finds a folder's name which gives a rival's.
ANONYMOUS_DIGITS = 32
# Of these so many are shown.
SHOWN_DIGITS = 8
_REPLACED_LOGIN = re.compile(rf"entry-[0-9a-f]{{{ANONYMOUS_DIGITS}}}")


@dataclass(frozen=True, kw_only=True)
class StandingsInput:
    """What `build_standings` ranks; what is hidden is left out of it beforehand, by `as_shown`."""

    challenge: Challenge
    """With the tasks that are shown."""
    entries: tuple[Entry, ...]
    results: tuple[Result, ...]
    duels: tuple[Duel, ...]
    moderation: Moderation
    tried_records: tuple[Result | Duel, ...] = ()
    """As in `build_standings`."""
    final: FinalDraws | None = None
    """As in `build_standings`."""


def hidden_tasks(challenge: Challenge, now: datetime) -> tuple[Task, ...]:
    """The tasks whose leaderboards are not shown yet."""
    phases = ((task, challenge.phase_of(task.id)) for task in challenge.tasks)
    return tuple(task for task, phase in phases if phase and not phase.is_shown(now))


def is_anonymous(challenge: Challenge, now: datetime) -> bool:
    """Whether names are replaced at a moment."""
    until = challenge.people.anonymous_until
    return until is not None and now < to_utc(until)


def anonymous_mark(challenge: Challenge, login: str, agent: str) -> str:
    """The digits that replace an agent's name until it is shown; the same for all its versions and tasks."""
    text = f"pullrank-anonymous-1 {challenge.season}\n{login.casefold()}\n{agent}"
    return hashlib.sha256(text.encode()).hexdigest()[:ANONYMOUS_DIGITS]


def is_replaced_login(login: str) -> bool:
    """Whether a login stands for a name that is not shown yet; records and former entries do not say it otherwise."""
    return _REPLACED_LOGIN.fullmatch(login) is not None


def is_known(challenge: Challenge, login: str, agent: str) -> bool:
    """Whether an agent's name is always shown: the hosts' own, the baselines, and the player rated 0."""
    named = {task.anchor.casefold() for task in challenge.games if task.anchor}
    return (
        login == EXAMPLES_LOGIN
        or challenge.people.is_host(login)
        or challenge.is_baseline(login, agent, example=False)
        or f"{login}/{agent}".casefold() in named
    )


def anonymous_name(challenge: Challenge, name: str, now: datetime) -> str:
    """How `login/agent` is called at a moment."""
    login, _, agent = name.partition("/")
    if not agent or not is_anonymous(challenge, now) or is_known(challenge, login, agent):
        return name
    return f"Entry {anonymous_mark(challenge, login, agent)[:SHOWN_DIGITS]}"


def as_shown(standings: StandingsInput, now: datetime) -> StandingsInput:
    """What may be shown at a moment."""
    challenge, gone = standings.challenge, {task.id for task in hidden_tasks(standings.challenge, now)}
    if gone:
        tasks = tuple(task for task in challenge.tasks if task.id not in gone)
        challenge = challenge.model_copy(update={"tasks": tasks})
    results = tuple(result for result in standings.results if result.task not in gone) if gone else standings.results
    duels = tuple(duel for duel in standings.duels if duel.task not in gone)
    shown = replace(standings, challenge=challenge, results=results, duels=duels)
    return _masked(shown) if is_anonymous(challenge, now) else shown


def with_host_flags(entries: Iterable[Entry], challenge: Challenge, moderation: Moderation) -> tuple[Entry, ...]:
    """The entries with the hosts' flags: which are the hosts' own, and which they verified."""
    return tuple(
        replace(
            entry,
            host=challenge.people.is_host(entry.login),
            verified=moderation.verified_entry(entry.login, entry.agent, entry.digest),
        )
        for entry in entries
    )


def _masked(standings: StandingsInput) -> StandingsInput:
    challenge = standings.challenge
    names = {entry.spelled_name for entry in standings.entries}
    names |= {AgentName(side.login, side.agent) for side in _sides(standings)}
    mask = {
        name: AgentName(f"entry-{anonymous_mark(challenge, *name)}", "agent")
        for name in sorted(names)
        if not is_known(challenge, *name)
    }
    folders = version_folders(standings.entries)
    spelled = {entry.name: entry.spelled_name for entry in standings.entries}

    def name_of(side: Result | PlayerRecord) -> AgentName:
        return spelled.get(folders.of(side), AgentName(side.login, side.agent))

    def masked(side: Result | PlayerRecord) -> AgentName | None:
        return mask.get(name_of(side))

    # After names are replaced, nobody can tell which agents belong to one login or team.
    groups = owner_groups(without_excluded_teams(standings.entries, standings.moderation), standings.duels)

    def masked_beacon(beacon: str) -> str:
        # A commit tells who brought it to main; the one that ended submissions is everybody's, as is a season's secret.
        final_beacon = standings.final and standings.final.beacon
        is_everybodys = beacon in (PREVIEW_BEACON, final_beacon) or secret_hash(beacon) is not None
        return beacon if is_everybodys else _pseudonym(beacon)

    return replace(
        standings,
        entries=tuple(_entry(entry, mask.get(entry.spelled_name), masked_beacon) for entry in standings.entries),
        results=tuple(_result(result, masked(result), masked_beacon) for result in standings.results),
        duels=tuple(_duel(duel, masked, masked_beacon) for duel in standings.duels if not groups.is_within_one_owner(duel)),
        tried_records=tuple(
            _duel(record, masked, masked_beacon)
            if isinstance(record, Duel)
            else _result(record, masked(record), masked_beacon)
            for record in standings.tried_records
        ),
        moderation=_moderation(
            standings, mask, names - mask.keys(), {(name_of(side), side.submission_digest) for side in _sides(standings)}
        ),
    )


def _sides(standings: StandingsInput) -> Iterator[Result | PlayerRecord]:
    """Whoever was recorded."""
    yield from standings.results
    yield from (player for duel in standings.duels for player in duel.players)


_NOBODY: dict[str, object] = {"login_id": None, "message": "", "log_tail": ""}


def _entry(entry: Entry, masked: AgentName | None, masked_beacon: Callable[[str], str]) -> Entry:
    if masked is None:
        return entry
    digits = masked[0].removeprefix("entry-")[:SHOWN_DIGITS]
    fields = {"kind": entry.submission.kind, "tasks": entry.submission.tasks}
    submission = Submission(name=f"Entry {digits}", algorithm="not shown yet").model_copy(update=fields)
    version, (login, agent) = _pseudonym(entry.digest), masked
    beacons = {task: frozenset(map(masked_beacon, of_task)) for task, of_task in entry.stay_beacons.items()}
    return replace(
        entry, login=login, agent=agent, digest=version, submission=submission, verified=None, refused={}, anonymous=True,
        stay_beacons=beacons,
    )  # fmt: skip


def _result(result: Result, masked: AgentName | None, masked_beacon: Callable[[str], str]) -> Result:
    if masked is None:
        return result
    nowhere = Provenance(evaluated_at=result.provenance.evaluated_at)
    version = _pseudonym(result.submission_digest)
    fields: dict[str, object] = {
        "login": masked[0], "agent": masked[1], "submission_digest": version, "provenance": nowhere,
        "beacon": masked_beacon(result.beacon),
    }  # fmt: skip
    # A first attempt may name an image, and an image, by its name or digest, a person; a script writes its notices itself.
    script = result.script and result.script.without_words()
    return result.model_copy(update={**fields, **_NOBODY, "first_attempt": None, "image_digest": None, "script": script})


def _duel(duel: Duel, masked: Callable[[PlayerRecord], AgentName | None], masked_beacon: Callable[[str], str]) -> Duel:
    names = [masked(player) for player in duel.players]
    if not any(names):
        return duel
    players = tuple(_player(player, name) for player, name in zip(duel.players, names, strict=True))
    # A match's message may be the agent's own words; the key is part of the record's path, which has the names.
    matches = tuple(match.model_copy(update={"message": ""}) for match in duel.matches)
    nowhere = Provenance(evaluated_at=duel.provenance.evaluated_at)
    fields: dict[str, object] = {
        "players": players, "matches": matches, "key": _pseudonym(duel.key), "message": "", "provenance": nowhere,
        "beacon": masked_beacon(duel.beacon),
    }  # fmt: skip
    return duel.model_copy(update={**fields, "first_attempt": None})


def _player(player: PlayerRecord, masked: AgentName | None) -> PlayerRecord:
    if masked is None:
        return player
    version = _pseudonym(player.submission_digest)
    return player.model_copy(update={"login": masked[0], "agent": masked[1], "submission_digest": version, **_NOBODY})


def _pseudonym(digest: str) -> str:
    """A digest that replaces one that a search in the repository would find; equal ones stay equal."""
    return hashlib.sha256(f"pullrank-anonymous-1 digest\n{digest}".encode()).hexdigest()


def _moderation(
    standings: StandingsInput,
    mask: Mapping[AgentName, AgentName],
    named: Iterable[AgentName],
    recorded: Iterable[tuple[AgentName, str]],
) -> Moderation:
    """The exclusions under the replaced names, without reason and link, which often name somebody.

    Exclusions of agents that have neither an entry nor a record are left out: they have no replaced name. `recorded`: the
    agents with records, each with the digest of a version, which may be excluded though another one stands, or none.
    """
    moderation, replaced = standings.moderation, list[object]()
    digests = {entry.spelled_name: entry.digest for entry in standings.entries}
    waiting = {"why": "named when the names are", "link": ""}
    for (login, agent), (other, folder) in mask.items():
        if exclusion := moderation.exclusion_of(login, agent, digests.get(AgentName(login, agent))):
            hidden = {"login": other, "agent": folder, "digest": None}
            replaced.append(exclusion.model_copy(update={**hidden, **waiting}))
    for name, digest in sorted(recorded):
        if name in mask and digests.get(name) != digest and (exclusion := moderation.exclusion_of(*name, digest)):
            hidden = {"login": mask[name].login, "agent": None, "digest": _pseudonym(digest)}
            replaced.append(exclusion.model_copy(update={**hidden, **waiting}))
    rest = [
        exclusion for exclusion in moderation.exclusions if any(exclusion.covers(*name, digests.get(name)) for name in named)
    ]
    return moderation.model_copy(update={"exclusions": (*replaced, *rest), "verified": (), "quarantines": ()})
