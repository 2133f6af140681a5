"""The secret of a sealed season, and what it seals: nothing shows, nothing can be changed, and only it opens."""

import dataclasses
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.loading.submission_folder import read_folder
from evaluator.host.seeds.encryption import decrypt_result, decrypt_trace, encrypt_result
from evaluator.host.seeds.season_secret import SeasonSecret, SecretError, new_secret, read_secret
from evaluator.host.solo.evaluate_agent import EvaluationRequest
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier
from evaluator.model.sealed_fields import HIDDEN_FIELDS

SECRET = SeasonSecret(bytes(range(32)))
OTHER = SeasonSecret(bytes(32))
TRACE = b'{"trace": "plain"}\n'


def result(**fields: Any) -> Result:
    """An ok result of a sealed season, with something in every field that an agent has a say in."""
    blank = {
        "key": "1" * 64, "class": "official", "task": "CartPole-v1", "task_digest": "2" * 64, "login": "alice", "agent": "a",
        "submission_digest": "3" * 64, "season": "1", "beacon": SECRET.beacon, "sandbox": "docker",
        "runtime_digest": "4" * 64,
        "verdict": "ok", "log_tail": "MARK log", "seeds": SECRET.episode_seeds("1", "CartPole-v1", 2),
        "returns": [71234.5, 2.0], "lengths": [71234, 2], "metrics": {"MARK": 1.0}, "limits": {},
        "cost": {"cpu_seconds": 71.234, "wall_seconds": 71.234, "peak_memory_bytes": 71234, "steps": 71236},
        "provenance": {"evaluated_at": "2026-05-01T12:34:56Z"}, "trace_sha256": hashlib.sha256(TRACE).hexdigest(),
        "script": {"claimed": 71234.0, "notices": ["MARK"]},
        "first_attempt": {"verdict": "timeout", "message": "MARK late", "wall_seconds": 71.234},
    }  # fmt: skip
    return Result.with_self_hash({**blank, **fields})


def test_what_is_sealed_opens_to_the_same_bytes() -> None:
    plain = result()
    closed, trace = encrypt_result(plain, TRACE, 12.0, SECRET)

    assert decrypt_result(closed, SECRET).serialised() == plain.serialised()
    assert trace is not None
    assert decrypt_trace(trace, closed, SECRET) == TRACE
    assert closed.self_hash() == closed.self_sha256
    assert decrypt_result(plain, SECRET) is plain


def test_nothing_hidden_shows() -> None:
    closed, trace = encrypt_result(result(), TRACE, 12.0, SECRET)
    shown = {k: v for k, v in closed.document().items() if k != "sealed"}
    text = json.dumps({k: v for k, v in shown.items() if k not in ("trace_sha256", "self_sha256")})

    assert trace is not None
    assert TRACE.strip(b"{}\n") not in trace
    assert not [
        word for word in ("MARK", "7123", "71.2", "34:56", *SECRET.episode_seeds("1", "CartPole-v1", 2)) if word in text
    ]
    assert shown["trace_sha256"] == hashlib.sha256(trace).hexdigest() != result().trace_sha256
    assert (closed.cost.cpu_seconds, closed.provenance.evaluated_at) == (240.0, "2026-05-01T12:00:00Z")


def test_every_field_an_agent_can_write_into_is_hidden() -> None:
    """A new field of results must be thought about: it is named here, or it is hidden."""
    known = {
        "schema", "key", "class", "task", "task_digest", "login", "login_id", "agent", "submission_digest", "season",
        "beacon", "beacon_verified", "sandbox", "runtime_digest", "verdict", "limits", "versions", "image_digest",
        "platform", "sealed", "protocol", "erased_sha256", "gpus", "continued_after", "unfetched",
    }  # fmt: skip

    assert {field.alias or name for name, field in Result.model_fields.items()} - known == set(HIDDEN_FIELDS)


def test_lengths_do_not_tell_what_was_written() -> None:
    noise = "".join(random.Random(1).choices("abcdefgh", k=1500))
    sizes = {
        len(encrypt_result(result(log_tail=tail), TRACE * n, 1.0, SECRET)[0].serialised())
        for tail, n in (("", 1), (noise, 9))
    }

    assert len(sizes) == 1


def test_two_seals_of_one_result_have_nothing_in_common() -> None:
    first, second = (encrypt_result(result(), TRACE, 1.0, SECRET)[0].sealed for _ in range(2))

    assert first
    assert second
    assert first.nonce != second.nonce
    assert first.ciphertext[:40] != second.ciphertext[:40]


@pytest.mark.parametrize("change", [{"login": "eve"}, {"agent": "b"}, {"key": "9" * 64}, {"season": "2"}, {"task": "x"}])
def test_a_sealed_part_opens_in_its_own_place_only(change: dict[str, str]) -> None:
    closed, _ = encrypt_result(result(), TRACE, 1.0, SECRET)

    with pytest.raises(ValueError, match="cannot be opened"):
        decrypt_result(Result.with_self_hash({**closed.document(), **change}), SECRET)


@pytest.mark.parametrize("change", [{"verdict": "crashed", "trace_sha256": None}, {"runtime_digest": "5" * 64}])
def test_what_is_public_must_be_what_was_sealed(change: dict[str, Any]) -> None:
    closed, _ = encrypt_result(result(), TRACE, 1.0, SECRET)
    document = {**closed.document(), **change}
    if "verdict" in change:
        document["sealed"] = {**document["sealed"], "score": None}

    with pytest.raises(ValueError, match=r"changed|an ok result|half an evaluation"):
        decrypt_result(Result.with_self_hash(document), SECRET)


def test_another_secret_opens_nothing() -> None:
    closed, trace = encrypt_result(result(), TRACE, 1.0, SECRET)

    assert trace is not None
    with pytest.raises(ValueError, match="another secret"):
        decrypt_result(closed, OTHER)
    with pytest.raises(ValueError, match="cannot be opened"):
        decrypt_trace(trace, closed, OTHER)
    with pytest.raises(ValueError, match="only a result of the sealed season"):
        encrypt_result(result(), None, 1.0, OTHER)
    with pytest.raises(ValueError, match="only a result of the sealed season"):
        encrypt_result(closed, None, 1.0, SECRET)


@pytest.mark.parametrize("content", [TRACE, b"{}", b'{"schema":1,"nonce":null,"ciphertext":3}\n', b"not json", b"[]"])
def test_what_is_no_sealed_trace_is_refused(content: bytes) -> None:
    closed, _ = encrypt_result(result(), TRACE, 1.0, SECRET)

    with pytest.raises(ValueError):
        decrypt_trace(content, closed, SECRET)


def test_a_sealed_result_cannot_show_episodes() -> None:
    closed, _ = encrypt_result(result(), TRACE, 1.0, SECRET)

    first = result().document()["first_attempt"]
    fields: list[dict[str, Any]] = [
        {"log_tail": "x"}, {"seeds": ["0" * 32]}, {"metrics": {"x": 1.0}}, {"trace_sha256": None}, {"first_attempt": first},
    ]  # fmt: skip
    for shown in fields:
        with pytest.raises(ValueError, match="sealed result"):
            Result.with_self_hash({**closed.document(), **shown})


def test_the_secret_never_shows() -> None:
    assert "0001" not in repr(SECRET)
    assert new_secret().raw != new_secret().raw
    assert read_secret(f" {SECRET.raw.hex()}\n", SECRET.sha256) == SECRET


def test_nothing_is_played_without_the_secret(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("class Agent: pass\n")
    (tmp_path / "submission.yml").write_text("name: A\nalgorithm: none\n")
    order = EvaluationRequest(
        login="alice", login_id=None, agent="a", folder=read_folder(tmp_path, SubmissionLimits()),
        gym_task=load_gym_task(Task(id="CartPole-v1", episodes=2)), limits=Limits(), season="1", beacon=SECRET.beacon,
        beacon_verified=False, tier=Tier.OFFICIAL, runtime_digest="4" * 64,
    )  # fmt: skip
    for wrong in (order, dataclasses.replace(order, secret=OTHER)):
        with pytest.raises(SecretError, match="not at hand"):
            wrong.specs()
    right = dataclasses.replace(order, secret=SECRET)

    assert right.seeds() == SECRET.episode_seeds("1", "CartPole-v1", 2)
    assert right.script_seed(4, 3) == right.seeds()[1]
    assert right.script_seed(1, 3) not in right.seeds()
    assert [spec.agent_seed for spec in right.specs()] == list(
        SECRET.agent_seeds("1", order.folder.digest, "CartPole-v1", 2)
    )


def test_a_sealed_challenge_needs_a_quota_and_has_no_game() -> None:
    fields = {"title": "T", "season": "1", "seeds": "sealed", "sealed": {"secret_sha256": SECRET.sha256}}
    game = {"id": "ttt", "game": "pettingzoo.classic.tictactoe_v3"}

    assert Challenge.model_validate({**fields, "quota": {"total": 3}, "tasks": [{"id": "t"}]}).sealed_beacon == SECRET.beacon
    with pytest.raises(ValueError, match="need a 'quota'"):
        Challenge.model_validate({**fields, "tasks": [{"id": "t"}]})
    with pytest.raises(ValueError, match="cannot be sealed on a board with a game: the moves of 'ttt'"):
        Challenge.model_validate({**fields, "quota": {"total": 3}, "tasks": [game]})
