"""`pullrank doctor` over the stand-in: what a fresh repository lacks, and that --fix mends exactly that."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.load import parse_challenge
from scripts.bot.client import GitHub
from scripts.bot.season_settings import season_checks
from scripts.bot.settings import CHECKS, Finding, State, look, mend
from scripts.commands import doctor
from scripts.console import CommandError
from tests.github.server import GitHubStandIn
from tests.github.world import NAME, OWNER, World

REPOSITORY = f"{OWNER}/{NAME}"
CHALLENGE = "title: T\nseason: '1'\nrepository: https://github.com/host/board\ntasks: [{id: CartPole-v1}]\n"


@pytest.fixture
def standin() -> Iterator[GitHubStandIn]:
    made = GitHubStandIn(World())
    made.start()
    yield made
    made.stop()
    assert made.violations == []


@pytest.fixture
def github(standin: GitHubStandIn) -> GitHub:
    return GitHub("bot-token", standin.address, REPOSITORY, pace=0)


def states(findings: list[Finding]) -> dict[str, str]:
    return {finding.name: finding.state.value for finding in findings}


class Said:
    """Settings as a table."""

    def __init__(self, **said: Any) -> None:
        self.said = said

    def setting(self, path: str) -> Any:
        return self.said.get(path)

    def settings(self, path: str) -> list[Any]:
        return self.said.get(path) or []

    def change_setting(self, verb: str, path: str, body: dict[str, Any]) -> None:
        raise AssertionError


def test_a_fresh_repository_lacks_all_but_a_choice(github: GitHub) -> None:
    found = states(look(github))

    assert found.pop("Strangers' runs") == "choice"
    assert len(found) == len(CHECKS) - 1
    assert set(found.values()) == {"missing"}


def test_fix_sets_everything_and_a_second_look_is_content(github: GitHub, standin: GitHubStandIn) -> None:
    mended = mend(github, look(github))
    writes = len(standin.writes())

    assert len(mended) == len(CHECKS) - 1
    assert set(states(look(github)).values()) == {"good", "choice"}
    assert mend(github, look(github)) == []
    assert len(standin.writes()) == writes


def test_a_choice_is_told_with_its_price_and_never_made_for_the_host(github: GitHub, standin: GitHubStandIn) -> None:
    finding = next(one for one in look(github) if one.state is State.CHOICE)

    assert "click" in finding.said
    assert finding.changes == ()
    mend(github, look(github))
    assert not [call for call in standin.writes() if "approval" in call]


@pytest.mark.parametrize(
    "policy", ["all_external_contributors", "first_time_contributors", "first_time_contributors_new_to_github"]
)
def test_every_approval_policy_is_explained(policy: str) -> None:
    path = "/actions/permissions/fork-pr-contributor-approval"
    finding = next(one for one in look(Said(**{path: {"approval_policy": policy}})) if one.name == "Strangers' runs")

    assert finding.state is (State.GOOD if policy.startswith("all") else State.CHOICE)
    assert "minutes" in finding.said


def ruleset(**changes: Any) -> Said:
    whole = {
        "id": 1, "enforcement": "active", "target": "branch",
        "conditions": {"ref_name": {"include": ["~ALL"], "exclude": []}},
        "rules": [{"type": "deletion"}, {"type": "non_fast_forward"}, {"type": "pull_request"}],
    } | changes  # fmt: skip
    return Said(**{"/rulesets": [whole], "/rulesets/1": whole})


@pytest.mark.parametrize(
    ("changes", "main"),
    [
        ({}, "good"),
        ({"enforcement": "evaluate"}, "missing"),
        ({"target": "tag"}, "missing"),
        ({"rules": [{"type": "deletion"}]}, "missing"),
        ({"conditions": {"ref_name": {"include": ["~ALL"], "exclude": ["refs/heads/main"]}}}, "missing"),
        ({"conditions": {"ref_name": {"include": ["refs/heads/other"], "exclude": []}}}, "missing"),
    ],
)
def test_somebody_elses_rules_count_if_they_hold(changes: dict[str, Any], main: str) -> None:
    assert states(look(ruleset(**changes)))["Rules for main"] == main


def test_a_branch_that_somebody_allowed_to_deploy_is_left_to_a_person() -> None:
    path = "/environments/github-pages"
    said = {
        path: {"deployment_branch_policy": {"protected_branches": False, "custom_branch_policies": True}},
        f"{path}/deployment-branch-policies": {"branch_policies": [{"name": "main"}, {"name": "other"}]},
    }
    finding = next(one for one in look(Said(**said)) if one.name.startswith("Environment"))

    assert (finding.state, finding.changes) == (State.MISSING, ())


def test_merging_keeps_at_least_one_method() -> None:
    finding = next(one for one in look(Said(**{"": {"allow_rebase_merge": True}})) if one.name == "Merge methods")

    assert finding.changes[0].body == {"allow_rebase_merge": False, "allow_squash_merge": True}


SEALED = b"seeds: sealed\nsealed: {secret_sha256: " + b"ab" * 32 + b", decimals: 0}\nquota: {per_day: 1}\n"
TEAMS = b"phases: [{id: final, name: Final, tasks: [CartPole-v1], teams: [%s]}]\n"
SECRETS = "/environments/season/secrets"


def of_season(github: GitHub, more: bytes) -> dict[str, str]:
    """What the rules ask for besides, and how it stands."""
    asked = season_checks(parse_challenge(CHALLENGE.encode() + more))
    return states([check(github) for check in asked])


def test_an_open_season_without_teams_asks_for_nothing_more(github: GitHub) -> None:
    assert of_season(github, b"") == {}


def test_a_sealed_season_wants_an_environment_with_a_secret_of_that_name(github: GitHub, standin: GitHubStandIn) -> None:
    before = of_season(github, SEALED)
    asked = season_checks(parse_challenge(CHALLENGE.encode() + SEALED))
    mended = mend(github, [check(github) for check in asked])
    protected = of_season(github, SEALED)
    standin.world.settings[SECRETS] = ["PULLRANK_SEASON_SECRET"]

    assert before == {"Environment season": "missing", "Secret of the sealed season": "missing"}
    assert [finding.name for finding in mended] == ["Environment season"]
    assert protected == {"Environment season": "good", "Secret of the sealed season": "missing"}
    assert of_season(github, SEALED) == {"Environment season": "good", "Secret of the sealed season": "good"}


@pytest.mark.parametrize(("teams", "state"), [(b"lab/rl", "missing"), (b"lab, other/rl", "missing"), (b"lab", "choice")])
def test_phases_for_teams_want_a_token_that_sees_them(
    github: GitHub, standin: GitHubStandIn, teams: bytes, state: str
) -> None:
    before = of_season(github, TEAMS % teams)
    standin.world.settings.setdefault("listed", {})["/environments/season"] = {}
    standin.world.settings[SECRETS] = ["PULLRANK_TEAMS_TOKEN"]

    assert before == {"Environment season": "missing", "Token for teams": state}
    assert season_checks(parse_challenge(CHALLENGE.encode() + TEAMS % teams))[-1](github).state is State.GOOD


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "challenge.yml").write_text(CHALLENGE)
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "CODEOWNERS").write_text("* @pullrank/maintainers\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_names_page_click_and_line(
    board: Path, standin: GitHubStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor.run(token="bot-token", api=standin.address) == 1

    told = capsys.readouterr().err
    assert "https://github.com/host/board/settings/pages" in told
    assert "gh api -X POST repos/host/board/pages --input -" in told
    assert "pullrank init --owner host" in told
    assert "'pullrank doctor --fix' sets all of it" in told


def test_the_command_mends_and_is_then_content(
    board: Path, standin: GitHubStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor.run(fix=True, token="bot-token", api=standin.address) == 0
    assert "Nothing is missing." in capsys.readouterr().err


def test_the_command_says_where_the_secret_of_a_sealed_season_goes(
    board: Path, standin: GitHubStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    (board / "challenge.yml").write_bytes(CHALLENGE.encode() + SEALED)

    assert doctor.run(fix=True, token="bot-token", api=standin.address) == 1
    told = capsys.readouterr().err
    assert "✗ Secret of the sealed season: Without PULLRANK_SEASON_SECRET the official run refuses to play" in told
    assert "season › Environment secrets › PULLRANK_SEASON_SECRET" in told


def test_the_command_speaks_json(board: Path, standin: GitHubStandIn, capsys: pytest.CaptureFixture[str]) -> None:
    doctor.run(token="bot-token", api=standin.address, as_json=True)

    assert {one["state"] for one in json.loads(capsys.readouterr().out)} == {"missing", "choice"}


def test_without_a_token_it_says_where_to_get_one(board: Path) -> None:
    with pytest.raises(CommandError, match="gh auth token"):
        doctor.run(token="", api="http://127.0.0.1:9")


def test_without_a_repository_it_asks_for_one(board: Path) -> None:
    (board / "challenge.yml").write_text(CHALLENGE.replace("repository: https://github.com/host/board\n", ""))

    with pytest.raises(CommandError, match="--repository owner/name"):
        doctor.run(token="x", api="http://127.0.0.1:9")
