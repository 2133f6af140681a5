"""Records accepted results on the data branches; existing records stay, and no result precedes its trace.

A large round is pushed in parts; if it is killed, each part is on both branches or on none.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from evaluator.host.seeds.derived_seeds import episode_seeds
from evaluator.host.seeds.encryption import with_new_provenance as amended_sealed
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.model.canonical_json import parse_strict
from evaluator.model.config.moderation import Moderation
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.parse import parse_duel, parse_record, parse_result
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import may_lie_at
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import quarantine_of
from leaderboard.core.entry import EXAMPLES_LOGIN
from leaderboard.core.parallel import run_in_background
from leaderboard.core.store import RECORD_ENDING, RETRIED_INFIX, TRACE_ENDING, ResultStore, write_atomically
from leaderboard.planning.missing_work import INTERNAL_ERROR_LIMIT
from scripts.console import OUR_FAULT, CommandError, say
from scripts.git.data_branches import (
    BranchCommit,
    DataBranches,
    PushRetries,
    SecretsRefusedError,
    object_name,
    open_branches,
    read_records_with_unchecked_commits,
)
from scripts.github.official.github_commits import GitHubCommit
from scripts.github.official.round_work import OfficialRun, RoundWork, read_moderation_at
from scripts.repository.layout import RESULTS_BRANCH, record_store
from scripts.runs.play_duels import outcome_for_log

REPLACED_FILE = "replaced.json"


AmendedRecord = tuple[Result | Duel, str]
"""A record with GitHub's facts added, and git's name of the object on the results branch that it replaces."""


def amended_records(
    official: OfficialRun, work: RoundWork, results_sha: str, facts: Mapping[str, GitHubCommit], secret: SeasonSecret | None
) -> Iterator[AmendedRecord]:
    """The records of the results branch whose missing facts are known now."""
    ready = {path for path, shas in work.unchecked_commits.items() if all(sha in facts for sha in shas)}
    if not ready:
        return
    for path, record, content in read_records_with_unchecked_commits(official.clone, results_sha):
        if path.removesuffix(RECORD_ENDING) in ready and (secret or not record.is_sealed):
            yield _with_facts(work, record, facts, secret), object_name(content)


def _with_facts(
    work: RoundWork, record: Result | Duel, facts: Mapping[str, GitHubCommit], secret: SeasonSecret | None
) -> Result | Duel:
    signed = all(facts[sha].is_signed_by_github for sha in work.unchecked_commits[record.path()])
    if isinstance(record, Duel):
        players = [
            {**player.model_dump(mode="json"), "login_id": _login_id(work, player, facts)} for player in record.players
        ]
        return Duel.with_self_hash({**record.document(), "players": players, "beacon_verified": signed})
    login_id = _login_id(work, record, facts)
    fields = {"login_id": login_id, "beacon_verified": signed}
    if record.sealed is not None and secret is not None:
        return amended_sealed(record, fields, secret)
    return Result.with_self_hash({**record.document(), **fields})


def _login_id(work: RoundWork, side: Result | PlayerRecord, facts: Mapping[str, GitHubCommit]) -> int | None:
    """The account behind a version; one that left main has only the commit of its seeds to tell it."""
    if side.login == EXAMPLES_LOGIN:
        return None
    commit = work.version_commits.get(side.version) or (side.beacon if isinstance(side, Result) else "")
    return facts[commit].login_id_of(side.login)


def write_amended(records: list[AmendedRecord], accepted: Path) -> list[Path]:
    """Write the records and the names of the objects that they replace to the accepted folder; returns the files."""
    store = record_store(accepted)
    files = [store.write(record) for record, _ in records]
    replaced = {record.path() + RECORD_ENDING: name for record, name in records}
    write_atomically(accepted / REPLACED_FILE, json.dumps(replaced, indent=1, sort_keys=True).encode() + b"\n")
    return files


def read_replaced(accepted: Path) -> dict[str, str]:
    """Path on the results branch to the name of the object that an accepted file replaces."""
    path = accepted / REPLACED_FILE
    object_names = parse_strict(path.read_bytes()) if path.exists() else {}
    assert isinstance(object_names, dict)
    return object_names


# GitHub takes 2 GiB in one push. Smaller ones lose less if the job is killed or others push first. Each reads and writes the
# lists of all folders again, so there are few: 80,000 results without traces are one.
PART_BYTES = 1_000_000_000
PART_FILES = 100_000
# From this many results on, a second process reads half of them.
BACKGROUND_FILES = 1_000
# Lines of a commit's message that name records.
MESSAGE_LINES = 200


@dataclass(frozen=True, kw_only=True)
class PublishedRound:
    """What was recorded."""

    recorded: tuple[Result | Duel, ...]
    known: int = 0
    """Records that another run had recorded before; those stay."""
    amended: int = 0
    """Older records that now have GitHub's facts about their commits."""


def record_accepted(
    official: OfficialRun, season: str, accepted: Path, now: datetime, retries: PushRetries | None = None
) -> PublishedRound:
    """Record what `check` accepted: both branches in one push, again if others pushed first.

    A large round is pushed in parts of results with their traces, each part one commit on either branch.

    Raises:
        CommandError: the remote refuses for another reason, or others push first too often.
    """
    store = record_store(accepted)
    files: list[AcceptedFile] = [*_read_results(list(store.files()))]
    files += [(path, parse_duel(path.read_bytes())) for path in store.duel_files()]
    replaced = read_replaced(accepted)
    fresh: list[NewFile] = []
    moderation = read_moderation_at(official.clone, official.clone.resolve("HEAD") or "")
    with open_branches(official.clone, season) as branches:
        for part in _parts(store, files):
            fresh += _push_part(branches, store, part, (replaced, moderation), now, retries or PushRetries())
    recorded = tuple(accepted_record for _, accepted_record, at in fresh if at not in replaced)
    amended = len(fresh) - len(recorded)
    known = len(files) - len(replaced) - len(recorded)
    return PublishedRound(recorded=recorded, known=known, amended=amended)


AcceptedFile = tuple[Path, Result | Duel]
"""An accepted file and its record."""
NewFile = tuple[Path, Result | Duel, str]
"""An accepted file, its record, and its path on the results branch."""


def _read_results(paths: Sequence[Path]) -> list[tuple[Path, Result]]:
    """The results without episodes; a second process reads half if there are many: to check one takes half a millisecond."""
    if len(paths) < BACKGROUND_FILES:
        return list(zip(paths, map(_read_result, paths), strict=True))
    half = len(paths) // 2
    with run_in_background(lambda: list(map(_read_result, paths[:half]))) as first:
        others = list(map(_read_result, paths[half:]))
        return list(zip(paths, [*first(), *others], strict=True))


def _read_result(path: Path) -> Result:
    return parse_result(path.read_bytes()).model_copy(update={"seeds": (), "returns": (), "lengths": (), "log_tail": ""})


def _parts(store: ResultStore, files: Sequence[AcceptedFile]) -> Iterator[list[AcceptedFile]]:
    """The files in parts of bounded size, each result with its trace; at least one file in each."""
    part: list[AcceptedFile] = []
    size = 0
    for file, record in files:
        trace = store.trace_of(file)
        file_size = file.stat().st_size + (trace.stat().st_size if trace.exists() else 0)
        if part and (size + file_size > PART_BYTES or len(part) == PART_FILES):
            yield part
            part, size = [], 0
        part.append((file, record))
        size += file_size
    if part:
        yield part


def _push_part(
    branches: DataBranches,
    store: ResultStore,
    part: Sequence[AcceptedFile],
    replacing: tuple[Mapping[str, str], Moderation],
    now: datetime,
    retries: PushRetries,
) -> list[NewFile]:
    """Push one part; returns the new files in it. `replacing`: replaced objects by path, and what is in quarantine."""
    replaced, moderation = replacing
    attempt = 0
    while attempt < retries.tries:
        tips = branches.tips()
        existing = branches.objects(tips.get(RESULTS_BRANCH))
        fresh = _new_files(part, _without_replayed(branches, part, existing, moderation), replaced)
        try:
            if not fresh or branches.push(_build_commits(branches, tips, store, fresh, replaced, now)):
                return fresh
        except SecretsRefusedError as refused:
            part = _without_secrets(part, refused)  # Not counted: it names five records at most, and each time less is left.
            continue
        attempt += 1
        retries.pause(attempt)
    raise CommandError(OUR_FAULT, f"others pushed first {retries.tries} times; nothing is lost, the next run records it")


LEFT_OUT = "left out: GitHub takes a part of it for a secret"
# What becomes of a record that is refused for its actions. The agent chose them; a duel's may be either player's.
_REFUSED: dict[type, dict[str, Any]] = {
    Result: {
        "verdict": Verdict.INVALID, "message": f"its actions are {LEFT_OUT}", "returns": [], "lengths": [], "metrics": {},
        "trace_sha256": None, "script": None, "continued_after": None,
    },
    Duel: {
        "verdict": Verdict.INTERNAL_ERROR, "message": f"moves are {LEFT_OUT}", "matches": [], "moves": None,
        "milliseconds": None,
    },
}  # fmt: skip
_OUR_WORDS = frozenset(fields["message"] for fields in _REFUSED.values())


def _without_secrets(part: Sequence[AcceptedFile], refused: SecretsRefusedError) -> list[AcceptedFile]:
    """The part without the words of those in whose files the remote sees a secret, or of all where it names no file.

    Of a record that is refused without words a failure is left. What is refused even so is left out, such as for the name
    of an agent: nobody else waits for it, and it has no place.

    Raises:
        SecretsRefusedError: nothing can be left out any more.
    """
    places = [path.removesuffix(TRACE_ENDING).removesuffix(RECORD_ENDING) for path in refused.paths]
    named = {file for file, record in part if any(may_lie_at(place, record.path(), record.verdict) for place in places)}
    # Who met somebody in a duel, and wrote nothing there, did not write what is refused.
    owners = {
        side.login
        for file, record in part
        if not named or file in named
        for side in record.sides
        if isinstance(side, Result) or not named or side.log_tail or side.message
    }
    smaller = {
        file: less
        for file, record in part
        if file in named or not owners.isdisjoint(side.login for side in record.sides)
        if (less := _with_less(file, is_named=file in named))
    }
    without = named - smaller.keys()
    if not smaller and not without:
        raise refused
    say(f"GitHub takes something in this push for a secret: {len(smaller)} records are pushed with less in them.")
    for record in (record for file, record in part if file in without):
        say(f"{record.path()}: GitHub takes a name in it for a secret; it is not recorded, and has no place")
    return [(file, smaller.get(file, record)) for file, record in part if file not in without]


def _with_less(file: Path, *, is_named: bool) -> Result | Duel | None:
    """Leave out of a record what a player may have written; returns what is left, or None if it is as before."""
    whole = parse_record(file.read_bytes())
    if whole.is_sealed:
        return None
    less = type(whole).with_self_hash(_without_words(whole.document()))
    if less == whole and is_named and whole.verdict is Verdict.OK:
        # A script's seeds were those from its first counted episode on, which nobody can tell any more.
        seeds = whole.seeds if isinstance(whole, Duel) else _first_seeds(whole)
        less = type(whole).with_self_hash({**whole.document(), **_REFUSED[type(whole)], "seeds": seeds})
    if less == whole:
        return None
    write_atomically(file, less.serialised())
    return _read_result(file) if isinstance(less, Result) else less


def _first_seeds(result: Result) -> tuple[str, ...]:
    return episode_seeds(result.season, result.beacon, result.submission_digest, result.task, len(result.seeds))


def _without_words(value: Any) -> Any:
    """A record's document, or a part of it, without texts of players."""
    if isinstance(value, list):
        return [_without_words(each) for each in value]
    if not isinstance(value, dict):
        return value
    texts = {name: value[name] for name in ("message", "log_tail") if isinstance(value.get(name), str)}
    words = {name: LEFT_OUT for name, text in texts.items() if text and text not in _OUR_WORDS}
    rest = {name: _without_words(each) for name, each in value.items()}
    return {**rest, **words, **({"notices": []} if "notices" in value else {})}


def _without_replayed(
    branches: DataBranches, part: Sequence[AcceptedFile], existing: dict[str, str], moderation: Moderation
) -> dict[str, str]:
    """The existing objects without those in quarantine that a new record replaces; the branch's history keeps them."""
    if not any(quarantine.replay for quarantine in moderation.quarantines):
        return existing
    names = ((record.path() + RECORD_ENDING, *_names_of_failures(record)) for _, record in part)
    paths = [path for of_record in names for path in of_record if path in existing]
    replayed = set()
    for path, content in zip(paths, branches.repository.read([existing[path] for path in paths]), strict=True):
        with suppress(ValueError):
            quarantine = quarantine_of(parse_record(content, quick=True), moderation)
            replayed |= {path} if quarantine and quarantine.replay else set()
    return {path: name for path, name in existing.items() if path not in replayed}


def _names_of_failures(record: Result | Duel) -> list[str]:
    """The paths on the results branch of a record that failed on our side."""
    return [f"{record.path()}{RETRIED_INFIX}{number}{RECORD_ENDING}" for number in range(1, INTERNAL_ERROR_LIMIT + 1)]


def _new_files(files: Sequence[AcceptedFile], existing: Mapping[str, str], replaced: Mapping[str, str]) -> list[NewFile]:
    """The files that are not recorded. An internal error never replaces a result: it gets the next free number.

    An amended record is pushed only if its original is still on the branch.
    """
    fresh = []
    for file, record in files:
        path = record.path()
        if path + RECORD_ENDING in replaced:
            if existing.get(path + RECORD_ENDING) == replaced[path + RECORD_ENDING]:
                fresh.append((file, record, path + RECORD_ENDING))
            continue
        if path + RECORD_ENDING in existing:
            continue
        if record.verdict is not Verdict.INTERNAL_ERROR:
            fresh.append((file, record, path + RECORD_ENDING))
            continue
        names = _names_of_failures(record)
        name = object_name(file.read_bytes())
        free = next((at for at in names if at not in existing), None)
        if free and not any(existing.get(at) == name for at in names):
            fresh.append((file, record, free))
    return fresh


def _commit_message(lines: Sequence[str]) -> str:
    """One line for one record; for several their number, and below it the lines."""
    if len(lines) == 1:
        return lines[0]
    more = len(lines) - MESSAGE_LINES
    shown = sorted(lines)[:MESSAGE_LINES] + ([f"and {more} more"] if more > 0 else [])
    return "\n".join([f"record: {len(lines)} results", "", *shown])


def _build_commits(
    branches: DataBranches,
    tips: dict[str, str],
    store: ResultStore,
    fresh: Sequence[NewFile],
    replaced: Mapping[str, str],
    now: datetime,
) -> dict[str, str]:
    """One commit on each branch: every commit writes its tasks' lists of folders again, as long as the board is large."""
    message = _commit_message(
        [f"{'fill in' if path in replaced else 'record'}: {outcome_for_log(record)}" for _, record, path in fresh]
    )
    recorded, traced = [], []
    for file, record, path in fresh:
        recorded.append((path, file))
        if isinstance(record, Result) and record.trace_sha256 and path not in replaced:
            traced.append((path.removesuffix(RECORD_ENDING) + TRACE_ENDING, store.trace_of(file)))
    built = {}
    for branch, files in ((RESULTS_BRANCH, recorded), (branches.traces, traced)):
        if files:
            built[branch] = branches.build(tips.get(branch), BranchCommit(message=message, files=tuple(files)), now)
    return built
