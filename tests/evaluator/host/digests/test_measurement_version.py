"""Records name their measurement version: older ones stay verifiable, newer ones are none of ours to judge."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.host import verification
from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.verification import Verification, VerificationStatus
from evaluator.model.config.task import Task
from evaluator.model.measurement_version import MEASUREMENT_VERSION
from evaluator.model.records.duel_record import Duel, WantedDuel
from evaluator.model.records.parse import parse_duel, parse_result
from evaluator.model.records.result import Result, WantedResult
from tests.evaluations import ANGLE_RULE, FIRST_LEGAL, duelled, evaluated

BEFORE = Path(__file__).parents[3] / "scripts" / "verification" / "schema_1"
POLE = Task(id="CartPole-v1", episodes=2, max_episode_steps=30)
TICTACTOE = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", matches=2)


def result_before() -> tuple[dict[str, Any], bytes]:
    (path,) = (BEFORE / "recorded" / "CartPole-v1").rglob("*.json")
    (trace,) = (BEFORE / "played").rglob("*.trace.json")
    return json.loads(path.read_bytes()), trace.read_bytes()


def duel_before() -> dict[str, Any]:
    (path,) = (BEFORE / "recorded" / "tictactoe").rglob("*.json")
    return dict(json.loads(path.read_bytes()))


def of_result(**changes: Any) -> Verification:
    """What verification says of the old result with other values; its own hash, and its key if none is given, made anew."""
    document, trace = result_before()
    document |= changes
    if "key" not in changes:
        wanted = {name: document.get(name, 1) for name in WantedResult.model_fields}
        document["key"] = WantedResult(**wanted).key()
    text = trace.replace(result_before()[0]["key"].encode(), document["key"].encode())
    made = Result.with_self_hash({**document, "trace_sha256": hashlib.sha256(text).hexdigest()})
    return verify_result("r", made.serialised(), text, load_gym_task(POLE))


def of_duel(**changes: Any) -> Verification:
    """The same of the old duel."""
    document = duel_before() | changes
    if "key" not in changes:
        wanted = {name: document.get(name, 1) for name in WantedDuel.model_fields if name != "submission_digests"}
        digests = tuple(player["submission_digest"] for player in document["players"])
        document["key"] = WantedDuel(submission_digests=digests, **wanted).key()
    return verify_duel("d", Duel.with_self_hash(document).serialised(), open_game(TICTACTOE))


KINDS = pytest.mark.parametrize(("judged", "document"), [(of_result, result_before()[0]), (of_duel, duel_before())])


def test_new_records_name_todays_measurement_version_and_old_ones_none() -> None:
    result = evaluated(ANGLE_RULE, POLE).result.document()
    duel = duelled(FIRST_LEGAL, None, TICTACTOE).document()

    assert list(result)[:2] == list(duel)[:2] == ["schema", "protocol"]
    assert [(one["schema"], one["protocol"]) for one in (result, duel)] == [(2, MEASUREMENT_VERSION)] * 2
    for path in sorted((BEFORE / "recorded").rglob("*.json")):
        content = path.read_bytes()
        parsed = (parse_duel if b'"kind": "duel"' in content else parse_result)(content)
        assert (parsed.schema_version, parsed.protocol, b'"protocol"' in content) == (1, 1, False)


@KINDS
def test_an_old_record_has_todays_key_in_measurement_version_1(judged: Any, document: dict[str, Any]) -> None:
    assert judged(key=document["key"]).status is VerificationStatus.VERIFIED
    assert judged(schema=2, protocol=1, key=document["key"]).status is VerificationStatus.VERIFIED


@KINDS
def test_a_record_is_verified_by_its_own_number_when_the_number_was_raised(
    judged: Any, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "MEASUREMENT_VERSION", MEASUREMENT_VERSION + 1)

    assert judged(key=document["key"]).status is VerificationStatus.VERIFIED
    assert judged(schema=2, protocol=MEASUREMENT_VERSION + 1).status is VerificationStatus.VERIFIED


@KINDS
def test_a_record_of_a_newer_measurement_version_is_stale_here_and_says_why(judged: Any, document: dict[str, Any]) -> None:
    newer = MEASUREMENT_VERSION + 1
    finding = judged(schema=2, protocol=newer)

    assert finding.status is VerificationStatus.STALE
    assert finding.faults == (
        f"recorded under other rules: measurement version {newer} is newer than this evaluator; update it",
    )


@KINDS
def test_another_number_does_not_fit_the_key(judged: Any, document: dict[str, Any]) -> None:
    finding = judged(schema=2, protocol=2, key=document["key"])

    assert finding.status is VerificationStatus.REFUTED
    assert "the key does not fit" in finding.faults[0]


@KINDS
def test_schema_1_is_of_measurement_version_1(judged: Any, document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="schema 1 is of measurement version 1"):
        judged(schema=1, protocol=2)
    # Named where the form has no place for it, the number would be a second form of the same record.
    whole = {**document, "protocol": 1}
    for kind in (parse_result, parse_duel):
        with pytest.raises(ValueError):
            kind(json.dumps(whole, indent=1).encode() + b"\n")
