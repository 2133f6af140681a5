"""Records about whose commits GitHub could not be asked in their round: written anew with the answer, else unchanged."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluator.host.seeds.encryption import amended as amended_sealed
from evaluator.host.seeds.season_secret import Secret
from evaluator.model.canonical_json import parse_strict
from evaluator.model.records.duel_record import Duel, sealed_duel
from evaluator.model.records.result import Result, sealed
from leaderboard.core.eligibility import LOCAL
from leaderboard.core.store import RESULT, Store, write_atomically
from scripts.bot.commits import CommitFacts
from scripts.bot.wanted import Official, Work
from scripts.git.data_branches import object_name, read_unasked

REPLACED = "replaced.json"


@dataclass(frozen=True, kw_only=True)
class Amended:
    """A record with what GitHub says now."""

    record: Result | Duel
    """What it is to be."""
    replaced: str
    """The object's name of the file on the results branch that it takes the place of."""


def amended(
    official: Official, work: Work, results_sha: str, facts: Mapping[str, CommitFacts], secret: Secret | None
) -> Iterator[Amended]:
    """The records of the results branch that can be filled in now."""
    ready = {path for path, shas in work.unasked.items() if all(sha in facts for sha in shas)}
    if not ready:
        return
    for path, record, content in read_unasked(official.clone, results_sha):
        is_locked = isinstance(record, Result) and record.sealed is not None and secret is None
        if path.removesuffix(RESULT) in ready and not is_locked:
            yield Amended(record=_filled(work, record, facts, secret), replaced=object_name(content))


def _filled(work: Work, record: Result | Duel, facts: Mapping[str, CommitFacts], secret: Secret | None) -> Result | Duel:
    signed = all(facts[sha].verified for sha in work.unasked[record.path()])
    if isinstance(record, Duel):
        players = [
            {**player.model_dump(mode="json"), "login_id": _login_id(work, player.login, player.agent, facts)}
            for player in record.players
        ]
        return sealed_duel({**record.document(), "players": players, "beacon_verified": signed})
    login_id = facts[work.unasked[record.path()][0]].login_id if record.login != LOCAL else None
    fields = {"login_id": login_id, "beacon_verified": signed}
    if record.sealed is not None and secret is not None:
        return amended_sealed(record, fields, secret)
    return sealed({**record.document(), **fields})


def _login_id(work: Work, login: str, agent: str, facts: Mapping[str, CommitFacts]) -> int | None:
    return None if login == LOCAL else facts[work.beacons[login, agent].sha].login_id


def stage(records: list[Amended], accepted: Path) -> list[Path]:
    """Write the records to the folder of accepted files, and beside them what each replaces; returns the files."""
    store = Store(results=accepted / "results", traces=accepted / "traces")
    files = [
        store.write_duel(one.record) if isinstance(one.record, Duel) else store.write(one.record, None) for one in records
    ]
    replaced = {one.record.path() + RESULT: one.replaced for one in records}
    write_atomically(accepted / REPLACED, json.dumps(replaced, indent=1, sort_keys=True).encode() + b"\n")
    return files


def replaced(accepted: Path) -> dict[str, str]:
    """By path on the results branch: the object's name of what an accepted file takes the place of."""
    path = accepted / REPLACED
    found = parse_strict(path.read_bytes()) if path.exists() else {}
    assert isinstance(found, dict)
    return found
