"""The model: canonical JSON, names, digests, and what makes an agent or a task another one."""

import json
import math
from typing import Any

import jsonschema
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from evaluator.host.loading.yaml_loader import LoadError, parse_challenge, parse_submission
from evaluator.host.seeds.derived_seeds import agent_seeds, environment_seed, episode_seeds
from evaluator.model import canonical_json, identifiers
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission import Submission, SubmissionFile, submission_digest
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import duel_path
from evaluator.model.records.parse import parse_result
from evaluator.model.records.trace import TraceLeaf
from evaluator.model.records.verdict import Verdict
from scripts.commands.schemas import SCHEMA_MODELS, schema
from tests.evaluations import ANGLE_RULE, RANDOM_PLAYER, duelled, evaluated


def test_canonical_json_is_that_of_rfc_8785() -> None:
    # The example of RFC 8785, section 3.2.3, without its string.
    value = {"numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27], "literals": [None, True, False], "€": 1, "\r": 2}

    assert canonical_json.canonical(value) == (
        '{"\\r":2,"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"€":1}'.encode()
    )


_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_SCALARS = st.none() | st.booleans() | st.integers() | st.text() | _FLOATS | st.floats(-1e-3, 1e-3) | st.floats(1e14, 1e22)
_JSON = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner))


@given(_JSON)
def test_the_quick_canonical_form_is_that_of_the_reference_implementation(value: Any) -> None:
    try:
        expected = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:
        with pytest.raises(ValueError, match="no canonical JSON form"):
            canonical_json.canonical(value)
    else:
        assert canonical_json.canonical(value) == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, {1: 2}, object()])
def test_what_json_has_no_word_for_is_refused(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        canonical_json.canonical(value)


@pytest.mark.parametrize("text", [b"NaN", b"[Infinity]", b"1e999", b'{"a":1,"a":2}', b"\xff", b"", b"[" * 200_000])
def test_strict_json_refuses_what_is_not_json(text: bytes) -> None:
    with pytest.raises(ValueError):
        canonical_json.parse_strict(text)


def digest(manifest: bytes, **files: bytes) -> str:
    blobs = [SubmissionFile(path=path, executable=False, content=content) for path, content in files.items()]
    return submission_digest(parse_submission(manifest), blobs)


@pytest.mark.parametrize("name", ["..", ".", ".hidden", "-rf", "/"])
def test_a_season_is_named_like_a_folder_of_its_own(name: str) -> None:
    with pytest.raises(LoadError, match=r"challenge.yml:\d+.*begins with a letter or digit"):
        parse_challenge(f"title: T\nseason: '{name}'\ntasks: [{{id: CartPole-v1}}]\n".encode())


def test_rewording_and_entering_another_task_is_the_same_agent() -> None:
    one = digest(b"name: A\nalgorithm: x\n", **{"agent.py": b"1"})
    reworded = digest(b"name: B\nalgorithm: y\ndescription: new\ntasks: [CartPole-v1]\n", **{"agent.py": b"1"})

    assert one == reworded


def test_any_other_byte_mode_or_name_is_another_agent() -> None:
    manifest = parse_submission(b"name: A\nalgorithm: x\n")
    base = [SubmissionFile(path="agent.py", executable=False, content=b"1")]
    others = [
        [SubmissionFile(path="agent.py", executable=False, content=b"2")],
        [SubmissionFile(path="agent.py", executable=True, content=b"1")],
        [SubmissionFile(path="agent2.py", executable=False, content=b"1")],
        [*base, SubmissionFile(path="b", executable=False, content=b"")],
        [],
    ]
    digests = {submission_digest(manifest, blobs) for blobs in (base, *others)}
    adapted = submission_digest(Submission(name="A", algorithm="x", adapter="rl-arena"), base)

    assert len(digests | {adapted}) == 7


def test_the_order_of_files_does_not_matter() -> None:
    manifest = parse_submission(b"name: A\nalgorithm: x\n")
    blobs = [SubmissionFile(path=name, executable=False, content=name.encode()) for name in "cab"]

    assert submission_digest(manifest, blobs) == submission_digest(manifest, sorted(blobs, key=lambda b: b.path))


def test_words_and_anchors_do_not_make_another_task_and_settings_do() -> None:
    task = Task(id="CartPole-v1")
    words = task.model_copy(
        update={"title": "Pole", "description": "…", "bounds": (0.0, 500.0), "score": "iqm", "decimals": 3}
    )

    assert task.digest() == words.digest()
    for change in (
        {"episodes": 99},
        {"clip": False},
        {"kwargs": {"a": 1}},
        {"env": "CartPole-v0"},
        {"max_episode_steps": 7},
    ):
        assert task.digest() != task.model_copy(update=change).digest()


def test_seeds_are_those_of_the_design() -> None:
    seeds = episode_seeds("2026", "preview", "ab" * 32, "CartPole-v1", 2)

    # SHA-256 of the canonical JSON of the name, by an independent tool: printf … | sha256sum | cut -c1-32
    assert seeds == ("b09343c6ad6ef7fc6a8ec0c63cd9ccc2", "95c1dd1fb55daa8f56bb240df7346fbc")
    assert environment_seed(seeds[0], 128) == int(seeds[0], 16)
    assert environment_seed(seeds[0], 31) == int(seeds[0], 16) >> 97
    assert all(0 <= seed < 2**32 for seed in agent_seeds("2026", "preview", "ab" * 32, "CartPole-v1", 50))


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=50))
def test_packed_actions_come_back(values: list[int]) -> None:
    import numpy as np

    leaf = TraceLeaf.of(np.array(values, np.int64))

    assert leaf.array(len(values)).tolist() == values
    with pytest.raises(ValueError):
        leaf.array(len(values) + 1)


@pytest.mark.parametrize("login", ["a", "Alice-1", "x" * 39, "octo_corp", "mona-lisa_octo-corp", "a--b", "a---b"])
def test_logins_are_githubs(login: str) -> None:
    assert identifiers.LOGIN.fullmatch(login)


@pytest.mark.parametrize("login", ["", "-a", "a-", "_a", "a_", "x" * 40, "ä", "a/b", "a+b", "..", "a.b", "a\n", "[bot]"])
def test_other_logins_are_refused(login: str) -> None:
    assert not identifiers.LOGIN.fullmatch(login)


def test_no_two_pairs_of_players_share_the_folder_of_a_duel() -> None:
    """An agent may hold two hyphens, and an old login too."""
    pairs = [("a+x", "b--c+y"), ("a+x--b", "c+y"), ("a--a+x", "b+y"), ("a+x", "b-+y"), ("a---b+x", "c+y")]
    paths = {duel_path("go", one, other, "0" * 64) for one, other in pairs}

    assert len(paths) == len(pairs)
    assert duel_path("go", "a+x--b", "c_d+y", "0" * 64) == "go/a+x--b--c_d+y/000000000000"
    assert "go/a+x--b-%2Dc+y/000000000000" in paths


@pytest.mark.parametrize("agent", ["A", "", ".", "..", "-a", "a b", "a/b", "x" * 41, "a\n", ".git"])
def test_other_agent_names_are_refused(agent: str) -> None:
    assert not identifiers.AGENT.fullmatch(agent)


def test_a_task_id_is_one_segment_of_a_path() -> None:
    assert identifiers.safe_path_segment("ALE/Pong-v5") == "ALE%2FPong-v5"
    assert identifiers.safe_path_segment("a:b c") == "a%3Ab%20c"


def test_every_verdict_has_words() -> None:
    assert len({verdict.plain_words for verdict in Verdict}) == len(Verdict)
    assert [verdict for verdict in Verdict if verdict.is_retryable] == [Verdict.TIMEOUT, Verdict.INTERNAL_ERROR]


@pytest.mark.parametrize(
    "fields",
    [
        {"tasks": []},
        {"tasks": [{"id": "A"}, {"id": "a"}]},
        {"tasks": [{"id": "A", "bounds": [1, 0]}]},
        {"tasks": [{"id": "A", "random": {"score": 1, "source": "x"}, "reference": {"score": 1, "source": "x"}}]},
        {"tasks": [{"id": "../a"}]},
        {"limits": {"memory_mib": 1}},
        {"repository": "http://example.org"},
    ],
)
def test_challenges_that_contradict_themselves_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Challenge.model_validate({"title": "T", "season": "s", "tasks": [{"id": "A"}], **fields})


def test_the_wall_is_ten_times_the_processor_limit() -> None:
    assert Limits(cpu_seconds=7).wall_seconds == 70


@pytest.mark.parametrize("name", SCHEMA_MODELS)
def test_the_published_schema_accepts_what_the_model_writes(name: str) -> None:
    document: object
    if name in ("result", "trace"):
        outcome = evaluated(ANGLE_RULE, Task(id="CartPole-v1", episodes=2))
        document = outcome.result.document() if name == "result" else json.loads(outcome.trace or b"")
        assert parse_result(outcome.result.serialised()) == outcome.result
    elif name == "duel":
        game = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", matches=2)
        document = duelled(RANDOM_PLAYER, RANDOM_PLAYER, game).document()
    else:
        text = {"submission": b"name: A\nalgorithm: b\n", "challenge": b"title: T\nseason: s\ntasks: [{id: A}]\n"}[name]
        model: BaseModel = parse_submission(text) if name == "submission" else parse_challenge(text)
        document = json.loads(model.model_dump_json(exclude_none=True))

    jsonschema.validate(document, json.loads(schema(name)))


@pytest.mark.parametrize("name", ["result", "duel"])
def test_a_records_own_fields_are_described_in_its_schema(name: str) -> None:
    fields = json.loads(schema(name))["properties"]

    assert {"first_attempt", "self_sha256", "message"} <= {field for field, form in fields.items() if "description" in form}
