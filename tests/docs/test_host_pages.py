"""The pages about phases, quotas and people: their examples are loaded and run as they stand there."""

import json
import re
from pathlib import Path

import pytest

from evaluator.host.loading.yaml_loader import parse_challenge, parse_moderation, parse_submission
from evaluator.model.config.moderation import VerifiedEntry
from evaluator.model.config.people import CustomField, People
from evaluator.model.config.phase import Phase, Quota
from leaderboard.core.owners import participant_faults
from tests.scripts.checkouts import ROOT, put, run

LEFT = "class Agent:\n    def act(self, observation):\n        return 0\n"


def page(name: str) -> str:
    return (ROOT / f"site/pages/host/{name}.md").read_text()


def blocks(name: str) -> list[bytes]:
    return [outcome.encode() for outcome in re.findall(r"```yaml\n(.*?)```", page(name), re.DOTALL)]


@pytest.mark.parametrize(
    ("name", "models"),
    [("phases", (Phase,)), ("quotas", (Quota,)), ("people", (People, CustomField))],
    ids=lambda one: str(one),
)
def test_each_example_is_a_challenge_and_each_field_is_named(name: str, models: tuple[type, ...]) -> None:
    assert parse_challenge(blocks(name)[0]).season == "2026"
    assert [field for model in models for field in model.model_fields if f"`{field}`" not in page(name)] == []


def test_the_submission_on_the_page_keeps_the_rules_on_the_page() -> None:
    rules, answer, moderation = blocks("people")

    assert list(participant_faults(parse_challenge(rules).people, "ada", parse_submission(answer))) == []
    (named,) = parse_moderation(moderation).verified
    assert parse_moderation(moderation).verified_entry("ADA", "net", str(named.digest)) == named
    assert [field for field in VerifiedEntry.model_fields if f"{field}:" not in moderation.decode()] == []


@pytest.fixture
def board(tmp_path: Path) -> Path:
    put(tmp_path / "submissions" / "ada" / "net", LEFT, "all")
    return tmp_path


def test_check_says_what_people_lack_with_its_line(board: Path) -> None:
    (board / "challenge.yml").write_bytes(blocks("people")[0])
    manifest = board / "submissions/ada/net/submission.yml"
    manifest.write_text(manifest.read_text() + "authors: [Grace H.]\nterms: false\nmeta: {Affiliation: Lab}\n")

    code, _, err = run(board, "check", "submissions/ada/net")

    assert code != 0
    assert "submission.yml:4: 'Grace H.' is no login" in err
    assert "submission.yml:5: the terms are not accepted" in err


def test_check_and_plan_say_which_phase_is_over_or_not_begun(board: Path) -> None:
    text = blocks("phases")[0].decode()
    (board / "challenge.yml").write_text(
        text.replace("2026-05-31", "2020-05-31").replace("2026-07", "2999-07").replace("2026-06", "2999-06")
    )

    code, _, err = run(board, "check")
    planned = json.loads(run(board, "plan", "--sandbox", "process", "--json")[1])

    assert code == 0
    assert "not on CartPole-v1: too late: phase 'warm-up' ended 2020-05-31 16:00 UTC" in err
    assert "not on Acrobot-v1: too early: phase 'final' begins 2999-06-01 00:00 UTC" in err
    assert {(one["task"], one["held"]) for one in planned} == {("CartPole-v1", True), ("Acrobot-v1", True)}


def test_plan_explains_what_is_left_of_a_quota(board: Path) -> None:
    (board / "challenge.yml").write_bytes(blocks("quotas")[0])

    _, _, err = run(board, "plan", "--sandbox", "process", "--explain")

    assert "ada/net on CartPole-v1: new" in err
    assert "ada: quota: 1 of 1 versions left today, renews " in err
