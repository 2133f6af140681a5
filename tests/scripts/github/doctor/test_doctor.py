"""`pullrank doctor` over the stand-in: what a fresh repository lacks, and that --fix mends exactly that."""

import json
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.loading.yaml_loader import parse_challenge
from scripts.commands import doctor
from scripts.commands.doctor import CHECKS
from scripts.console import CommandError
from scripts.github.api.client import GitHub, GitHubError
from scripts.github.doctor import actions_checks
from scripts.github.doctor.actions_checks import USED_ACTIONS, WORKFLOW_EVENTS, check_reach, check_runners, runner_checks
from scripts.github.doctor.repository_checks import DATA_RULES, MAIN_RULES, check_identity, main_only_policy, season_checks
from scripts.github.doctor.setting_findings import Check, SettingFinding, SettingState, apply_repairs
from tests.github.server import GitHubStandIn
from tests.github.settings import FRESH
from tests.github.world import NAME, OWNER, Fault, World
from tests.workflows.files import NAMES, workflow

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


def states(findings: list[SettingFinding]) -> dict[str, str]:
    return {finding.name: finding.state.value for finding in findings}


class SettingsTable:
    """Settings as a table."""

    def __init__(self, **settings: Any) -> None:
        self.table = settings

    def setting(self, path: str) -> Any:
        return self.table.get(path)

    def settings(self, path: str) -> list[Any]:
        return self.table.get(path) or []

    def change_setting(self, verb: str, path: str, body: dict[str, Any]) -> None:
        raise AssertionError


# What a repository fresh from the template has as it should be, and what only its host can know.
FRESH_GOOD = {
    "Access",
    "Default branch",
    "Visibility and plan",
    "Actions",
    "Allowed actions",
    "Workflows",
    "Workflows of forks",
}
FRESH_CHOICES = {"Strangers' runs", "Actions policies", "Evaluator image"}


def inspect_settings(github: Any, checks: tuple[Check, ...] = CHECKS) -> list[SettingFinding]:
    return [check(github) for check in checks]


def one(github: Any, name: str, checks: tuple[Check, ...] = CHECKS) -> SettingFinding:
    return next(finding for finding in inspect_settings(github, checks) if finding.name == name)


def test_a_fresh_repository_lacks_what_files_cannot_say(github: GitHub) -> None:
    outcome = states(inspect_settings(github))

    assert {name for name, state in outcome.items() if state == "good"} == FRESH_GOOD
    assert {name for name, state in outcome.items() if state == "choice"} == FRESH_CHOICES
    assert {state for name, state in outcome.items() if name not in FRESH_GOOD | FRESH_CHOICES} == {"missing"}
    assert len(outcome) == len(CHECKS)


def test_fix_sets_everything_and_a_second_look_is_content(github: GitHub, standin: GitHubStandIn) -> None:
    repairs = apply_repairs(github, CHECKS)
    writes = len(standin.writes())

    assert len(repairs) == len(CHECKS) - len(FRESH_GOOD | FRESH_CHOICES)
    assert set(repairs.values()) == {""}
    assert set(states(inspect_settings(github)).values()) == {"good", "choice"}
    assert apply_repairs(github, CHECKS) == {}
    assert len(standin.writes()) == writes


def test_a_choice_is_told_with_its_price_and_never_made_for_the_host(github: GitHub, standin: GitHubStandIn) -> None:
    finding = one(github, "Strangers' runs")

    assert finding.state is SettingState.CHOICE
    assert "click" in finding.message
    assert finding.changes == ()
    apply_repairs(github, CHECKS)
    assert not [call for call in standin.writes() if "approval" in call]


def refuse(standin: GitHubStandIn, verb: str, path: str, status: int = 403, times: int = 100) -> None:
    message = "Upgrade to GitHub Pro or make this repository public to enable this feature."
    standin.world.faults.append(Fault(verb, path, status, message=message, times=times))


def test_a_refused_question_ends_no_other(github: GitHub, standin: GitHubStandIn) -> None:
    refuse(standin, "GET", "/rulesets")
    outcome = {finding.name: finding for finding in inspect_settings(github)}

    assert len(outcome) == len(CHECKS)
    assert {name for name, one in outcome.items() if one.state is SettingState.UNKNOWN} == {
        "Rules for main",
        "Rules for results",
    }
    assert "Upgrade to GitHub Pro" in outcome["Rules for main"].message
    assert outcome["Private reports"].state is SettingState.MISSING


def test_what_can_be_set_is_set_beside_what_cannot(github: GitHub, standin: GitHubStandIn) -> None:
    refuse(standin, "GET", "/rulesets")
    refuse(standin, "POST", "/pages")
    repairs = apply_repairs(github, CHECKS)

    assert "Upgrade to GitHub Pro" in repairs.pop("Pages")
    assert set(repairs.values()) == {""}
    left = {name for name, state in states(inspect_settings(github)).items() if state not in ("good", "choice")}
    assert left == {"Pages", "Rules for main", "Rules for results"}


def test_a_token_that_is_none_is_said_once(standin: GitHubStandIn) -> None:
    with pytest.raises(CommandError, match="401"):
        inspect_settings(GitHub("wrong", standin.address, REPOSITORY, pace=0), CHECKS)

    assert len(standin.made()) == 1


def test_actions_that_are_off_are_switched_on(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.settings["/actions/permissions"] = {"enabled": False}

    assert one(github, "Actions").state is SettingState.MISSING
    apply_repairs(github, CHECKS)
    assert one(github, "Actions").state is SettingState.GOOD
    assert one(github, "Pinned actions").state is SettingState.GOOD


SELECTED = "/actions/permissions/selected-actions"


@pytest.mark.parametrize(
    ("policy", "listed", "left_out"),
    [
        ("all", {}, []),
        ("selected", {"github_owned_allowed": True}, []),
        ("selected", {"patterns_allowed": ["actions/*"]}, []),
        ("selected", {"patterns_allowed": ["Actions/*@*", "other/thing@v1"]}, []),
        ("selected", {"patterns_allowed": ["actions/*", "!actions/attest@*"]}, ["actions/attest"]),
        ("selected", {"patterns_allowed": [f"{name}@*" for name in USED_ACTIONS[1:]]}, ["actions/attest"]),
        ("selected", {"patterns_allowed": ["actions/checkout@v4"]}, list(USED_ACTIONS)),
        ("selected", {}, list(USED_ACTIONS)),
        ("local_only", {}, list(USED_ACTIONS)),
    ],
)
def test_an_allow_list_names_what_it_leaves_out_and_is_widened(
    github: GitHub, standin: GitHubStandIn, policy: str, listed: dict[str, Any], left_out: list[str]
) -> None:
    permissions = {"enabled": True, "allowed_actions": policy, "sha_pinning_required": True}
    standin.world.settings |= {"/actions/permissions": permissions, SELECTED: dict(listed)}
    finding = one(github, "Allowed actions")

    assert finding.state is (SettingState.MISSING if left_out else SettingState.GOOD)
    assert [name for name in USED_ACTIONS if name in finding.message] == left_out
    apply_repairs(github, CHECKS)
    assert one(github, "Allowed actions").state is SettingState.GOOD
    assert standin.world.settings[SELECTED].get("patterns_allowed") == listed.get("patterns_allowed")


def test_what_quiet_months_switched_off_is_switched_on_and_a_persons_decision_stays(
    github: GitHub, standin: GitHubStandIn
) -> None:
    off = {"official.yml": "disabled_inactivity", "image.yml": "disabled_manually", "report.yml": None}
    standin.world.settings["workflows"] = dict(off)
    finding = one(github, "Workflows")

    assert finding.state is SettingState.MISSING
    assert "official (GitHub switched it off after 60 days without a commit)" in finding.message
    assert "image (somebody switched it off)" in finding.message
    assert "report (its file is not on the default branch)" in finding.message
    apply_repairs(github, CHECKS)
    assert standin.world.settings["workflows"] == {**off, "official.yml": "active"}
    assert "official" not in one(github, "Workflows").message


def test_the_names_are_those_of_the_files() -> None:
    assert list(actions_checks.WORKFLOWS) == NAMES
    used = {
        step["uses"].partition("@")[0]
        for name in NAMES
        for job in workflow(name)["jobs"].values()
        for step in job.get("steps", ())
        if "uses" in step
    }
    assert used == set(USED_ACTIONS)
    assert {event for name in NAMES for event in workflow(name)["on"]} - {"workflow_call"} <= set(WORKFLOW_EVENTS)


def test_policies_that_no_request_tells_are_left_to_the_host_with_every_event(github: GitHub) -> None:
    finding = one(github, "Actions policies")

    assert finding.state is SettingState.CHOICE
    assert finding.page == "settings/actions/policies"
    assert all(event in finding.click for event in WORKFLOW_EVENTS)


@pytest.mark.parametrize(
    ("named", "state"), [("host/board", "good"), ("Host/Board", "good"), ("pullrank/pullrank", "missing"), ("", "missing")]
)
def test_a_challenge_that_names_another_repository_is_told(github: GitHub, named: str, state: str) -> None:
    finding = one(github, "Repository", (check_identity(named),))

    assert finding.state.value == state
    assert ("'repository: https://github.com/host/board'" in finding.message) is (state == "missing")


@pytest.mark.parametrize(
    ("changes", "name", "message"),
    [
        ({"default_branch": "master"}, "Default branch", "It is master"),
        ({"permissions": {"admin": False, "push": True, "pull": True}}, "Access", "not an administrator's"),
        ({"archived": True}, "Access", "archived"),
    ],
)
def test_what_the_repository_itself_must_be(
    github: GitHub, standin: GitHubStandIn, changes: dict[str, Any], name: str, message: str
) -> None:
    standin.world.settings["about"] = changes
    finding = one(github, name)

    assert finding.state is SettingState.MISSING
    assert message in finding.message
    assert finding.changes == ()


PRIVATE = {"private": True, "visibility": "private"}
PAGES, ENVIRONMENTS, ACCESS = "No Pages", "No environments", "No private Pages"
ATTESTATIONS, FORKS, RULES = "No attestations", "No forks", "No rulesets"


@pytest.mark.parametrize(
    ("plan", "more", "lacks"),
    [
        ("free", {}, {PAGES, ENVIRONMENTS, RULES, ACCESS, ATTESTATIONS}),
        ("pro", {}, {ACCESS, ATTESTATIONS}),
        ("team", {"allow_forking": False}, {ACCESS, ATTESTATIONS, FORKS}),
        ("enterprise", {}, set()),
        (None, {}, {PAGES, ENVIRONMENTS, RULES, ACCESS, ATTESTATIONS}),
    ],
)
@pytest.mark.parametrize("kind", ["User", "Organization"])
def test_a_private_board_is_told_its_plan_and_each_thing_that_it_lacks(
    github: GitHub, standin: GitHubStandIn, plan: str | None, more: dict[str, Any], lacks: set[str], kind: str
) -> None:
    owner = {"owner_type": kind}
    standin.world.settings |= {"plan": plan, "about": {"allow_forking": True, **PRIVATE, **more}, **owner}
    finding = one(github, "Visibility and plan")

    assert finding.state is SettingState.CHOICE
    assert (f"plan {plan}" if plan else "may not see") in finding.message
    assert {word for word in (PAGES, ENVIRONMENTS, RULES, ACCESS, ATTESTATIONS, FORKS) if word in finding.message} == lacks
    assert f"GET /{'orgs' if kind == 'Organization' else 'users'}/host" in standin.made()


def test_a_public_board_lacks_nothing(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.settings["plan"] = "free"
    finding = one(github, "Visibility and plan")

    assert finding.state is SettingState.GOOD
    assert "plan free" in finding.message


def test_a_private_board_previews_forks_without_tokens_and_secrets(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.settings["about"] = dict(PRIVATE)
    before = one(github, "Workflows of forks")
    apply_repairs(github, CHECKS)
    path = "/actions/permissions/fork-pr-workflows-private-repos"

    assert before.state is SettingState.MISSING
    assert one(github, "Workflows of forks").state is SettingState.GOOD
    assert standin.world.settings[path] == {
        "run_workflows_from_fork_pull_requests": True, "send_write_tokens_to_workflows": False,
        "send_secrets_and_variables": False, "require_approval_for_fork_pr_workflows": True,
    }  # fmt: skip
    standin.world.settings[path]["send_secrets_and_variables"] = True
    assert "take the board over" in one(github, "Workflows of forks").message


@pytest.mark.parametrize(
    ("seen", "about", "state"),
    [
        (None, {}, "choice"),
        ("public", {}, "good"),
        ("private", {}, "missing"),
        ("private", PRIVATE, "choice"),
    ],
)
@pytest.mark.parametrize("kind", ["User", "Organization"])
def test_an_image_that_previews_cannot_have_is_told_with_its_page(
    github: GitHub, standin: GitHubStandIn, seen: str | None, about: dict[str, Any], state: str, kind: str
) -> None:
    standin.world.settings |= {"package": seen, "about": dict(about), "owner_type": kind}
    finding = one(github, "Evaluator image")

    assert finding.state.value == state
    assert finding.changes == ()
    folder = "orgs" if kind == "Organization" else "users"
    assert finding.page == f"https://github.com/{folder}/host/packages/container/board%2Fevaluator/settings"


@pytest.mark.parametrize(
    "policy", ["all_external_contributors", "first_time_contributors", "first_time_contributors_new_to_github"]
)
def test_every_approval_policy_is_explained(policy: str) -> None:
    path = "/actions/permissions/fork-pr-contributor-approval"
    finding = one(SettingsTable(**{path: {"approval_policy": policy}}), "Strangers' runs")

    assert finding.state is (SettingState.GOOD if policy.startswith("all") else SettingState.CHOICE)
    assert "minutes" in finding.message


def ruleset(**changes: Any) -> SettingsTable:
    whole = {
        "id": 1, "enforcement": "active", "target": "branch",
        "conditions": {"ref_name": {"include": ["~ALL"], "exclude": []}},
        "rules": [{"type": "deletion"}, {"type": "non_fast_forward"}, {"type": "pull_request"}],
    } | changes  # fmt: skip
    return SettingsTable(**{"/rulesets": [whole], "/rulesets/1": whole})


@pytest.mark.parametrize(
    ("changes", "main"),
    [
        ({}, "good"),
        ({"enforcement": "evaluate"}, "missing"),
        ({"target": "tag"}, "missing"),
        ({"rules": [{"type": "deletion"}]}, "missing"),
        ({"conditions": {"ref_name": {"include": ["~ALL"], "exclude": ["refs/heads/main"]}}}, "missing"),
        ({"conditions": {"ref_name": {"include": ["refs/heads/other"], "exclude": []}}}, "missing"),
        ({"bypass_actors": [{"actor_id": 5, "actor_type": "RepositoryRole", "bypass_mode": "always"}]}, "good"),
        ({"bypass_actors": [{"actor_id": None, "actor_type": "OrganizationAdmin", "bypass_mode": "always"}]}, "good"),
        ({"bypass_actors": [{"actor_id": 4, "actor_type": "RepositoryRole", "bypass_mode": "always"}]}, "missing"),
        ({"bypass_actors": [{"actor_id": None, "actor_type": "DeployKey", "bypass_mode": "always"}]}, "missing"),
    ],
)
def test_somebody_elses_rules_count_if_they_hold(changes: dict[str, Any], main: str) -> None:
    assert states(inspect_settings(ruleset(**changes), CHECKS))["Rules for main"] == main


@pytest.mark.parametrize("protected", [["results"], ["results", "traces-*"], ["results", "weights"]])
def test_an_older_rule_is_extended_to_every_branch_of_records(
    github: GitHub, standin: GitHubStandIn, protected: list[str]
) -> None:
    """A board that was set up before copies of weights were kept has a rule of that name without them."""
    assert all(not why for why in apply_repairs(github, CHECKS).values())
    listed = standin.world.settings["listed"]
    path, older = next((path, each) for path, each in listed.items() if each.get("name") == DATA_RULES)
    older["conditions"]["ref_name"]["include"] = [f"refs/heads/{name}" for name in protected]
    assert one(github, "Rules for results").state is SettingState.MISSING

    apply_repairs(github, CHECKS)

    assert one(github, "Rules for results").state is SettingState.GOOD
    assert [name for name, each in listed.items() if each.get("name") == DATA_RULES] == [path]


def test_a_branch_that_somebody_allowed_to_deploy_is_left_to_a_person() -> None:
    path = "/environments/github-pages"
    message = {
        path: {"deployment_branch_policy": {"protected_branches": False, "custom_branch_policies": True}},
        f"{path}/deployment-branch-policies": {"branch_policies": [{"name": "main"}, {"name": "other"}]},
    }
    finding = one(SettingsTable(**message), "Environment github-pages")

    assert (finding.state, finding.changes) == (SettingState.MISSING, ())


@pytest.mark.parametrize("exclude", ["refs/heads/ma*", "refs/heads/**", "~DEFAULT_BRANCH", "refs/heads/[lm]ain"])
def test_rules_that_leave_out_main_by_a_pattern_do_not_hold_for_it(exclude: str) -> None:
    table = ruleset(conditions={"ref_name": {"include": ["~ALL"], "exclude": [exclude]}})

    assert states(inspect_settings(table))["Rules for main"] == "missing"


@pytest.mark.parametrize("exclude", ["refs/heads/res*", "refs/heads/traces-2026", "refs/heads/t*", "refs/heads/weights"])
def test_rules_that_leave_out_some_records_do_not_hold_for_them(exclude: str) -> None:
    table = ruleset(conditions={"ref_name": {"include": ["~ALL"], "exclude": [exclude, "refs/heads/dev*"]}})
    other = ruleset(conditions={"ref_name": {"include": ["~ALL"], "exclude": ["refs/heads/dev*"]}})

    assert states(inspect_settings(table))["Rules for results"] == "missing"
    assert states(inspect_settings(other))["Rules for results"] == "good"


def test_what_a_host_added_to_our_rules_is_kept(github: GitHub, standin: GitHubStandIn) -> None:
    apply_repairs(github, CHECKS)
    listed = standin.world.settings["listed"]
    path, older = next((path, each) for path, each in listed.items() if each.get("name") == MAIN_RULES)
    reviewers = [{"file_patterns": ["*.md"], "minimum_approvals": 1, "reviewer": {"id": 4, "type": "Team"}}]
    for rule in older["rules"]:
        if rule["type"] == "pull_request":
            rule["parameters"] = {
                **rule["parameters"], "required_approving_review_count": 2, "require_code_owner_review": False,
                "allowed_merge_methods": ["squash", "rebase"], "required_reviewers": reviewers,
            }  # fmt: skip
    checks = {"type": "required_status_checks", "parameters": {
        "strict_required_status_checks_policy": True, "required_status_checks": [{"context": "pullrank"}],
    }}  # fmt: skip
    older["rules"] = [checks, *(rule for rule in older["rules"] if rule["type"] != "deletion")]
    older["conditions"]["ref_name"]["include"].append("refs/heads/release")
    older["bypass_actors"] = [{"actor_id": 7, "actor_type": "Integration", "bypass_mode": "always"}]
    assert one(github, "Rules for main").state is SettingState.MISSING

    assert apply_repairs(github, CHECKS) == {"Rules for main": ""}

    kept = listed[path]
    rules = {rule["type"]: rule.get("parameters") for rule in kept["rules"]}
    assert rules.keys() == {"required_status_checks", "deletion", "non_fast_forward", "pull_request"}
    assert rules["required_status_checks"] == checks["parameters"]
    asked = rules["pull_request"]
    assert (asked["required_approving_review_count"], asked["require_code_owner_review"]) == (2, True)
    assert asked["allowed_merge_methods"] == ["squash"]
    assert asked["required_reviewers"] == reviewers
    assert "refs/heads/release" in kept["conditions"]["ref_name"]["include"]
    assert kept["bypass_actors"] == []
    assert one(github, "Rules for main").state is SettingState.GOOD


@pytest.mark.parametrize("environment", ["github-pages", "season"])
def test_who_must_approve_a_deployment_is_kept(github: GitHub, standin: GitHubStandIn, environment: str) -> None:
    """A request that names no reviewers could remove them."""
    rules = [
        {"id": 1, "node_id": "a", "type": "wait_timer", "wait_timer": 30},
        {"id": 2, "node_id": "b", "type": "required_reviewers", "prevent_self_review": True, "reviewers": [
            {"type": "User", "reviewer": {"id": 17}}, {"type": "Team", "reviewer": {"id": 4}},
        ]},
    ]  # fmt: skip
    table = SettingsTable(**{f"/environments/{environment}": {"deployment_branch_policy": None, "protection_rules": rules}})

    _, (change, _) = main_only_policy(table, environment)

    assert change.body == {
        "wait_timer": 30, "prevent_self_review": True, "reviewers": [{"type": "User", "id": 17}, {"type": "Team", "id": 4}],
        "deployment_branch_policy": {"protected_branches": False, "custom_branch_policies": True},
    }  # fmt: skip


def test_protected_branches_are_not_main_alone() -> None:
    """Where no branch has protection of the older kind, GitHub lets all of them deploy."""
    path = "/environments/github-pages"
    table = SettingsTable(
        **{path: {"deployment_branch_policy": {"protected_branches": True, "custom_branch_policies": False}}}
    )
    finding = one(table, "Environment github-pages")

    assert finding.state is SettingState.MISSING
    assert [change.method for change in finding.changes] == ["PUT", "POST"]


@pytest.mark.parametrize("answer", ["text", 7, ["list"], {"bypass_actors": 1, "rules": [{}]}, {"conditions": None}])
def test_an_answer_of_another_shape_ends_no_other_check(answer: Any) -> None:
    ok = {"id": 1, "enforcement": "active", "target": "branch"}
    found = states(inspect_settings(SettingsTable(**{"/rulesets": [ok], "/rulesets/1": answer, "/pages": answer})))

    assert len(found) == len(CHECKS)
    assert found["Rules for main"] in ("unknown", "missing")
    assert found["Pages"] in ("unknown", "missing")


def test_a_command_to_paste_runs_nothing_of_an_answer() -> None:
    listed = {"patterns_allowed": ["x'; touch pwned; '"]}
    table = SettingsTable(**{"/actions/permissions": {"enabled": True, "allowed_actions": "selected"}, SELECTED: listed})
    (line,) = doctor.commands(one(table, "Allowed actions"), REPOSITORY)

    *_, body = shlex.split(line)
    assert json.loads(body)["patterns_allowed"] == listed["patterns_allowed"]


def test_merging_keeps_at_least_one_method() -> None:
    finding = one(SettingsTable(**{"": {"allow_rebase_merge": True}}), "Merge methods")

    assert finding.changes[0].body == {"allow_rebase_merge": False, "allow_squash_merge": True}


SEALED = b"seeds: sealed\nsealed: {secret_sha256: " + b"ab" * 32 + b", decimals: 0}\nquota: {per_day: 1}\n"
TEAMS = b"phases: [{id: final, name: Final, tasks: [CartPole-v1], teams: [%s]}]\n"
SECRETS = "/environments/season/secrets"


def of_season(github: GitHub, more: bytes) -> dict[str, str]:
    """What the rules ask for besides, and how it stands."""
    asked = season_checks(parse_challenge(CHALLENGE.encode() + more))
    return states(inspect_settings(github, asked))


def test_an_open_season_without_teams_asks_for_nothing_more(github: GitHub) -> None:
    assert of_season(github, b"") == {}


def test_a_sealed_season_wants_an_environment_with_a_secret_of_that_name(github: GitHub, standin: GitHubStandIn) -> None:
    before = of_season(github, SEALED)
    asked = season_checks(parse_challenge(CHALLENGE.encode() + SEALED))
    mended = apply_repairs(github, asked)
    protected = of_season(github, SEALED)
    standin.world.settings[SECRETS] = ["PULLRANK_SEASON_SECRET"]

    assert before == {"Environment season": "missing", "Secret of the sealed season": "missing"}
    assert list(mended) == ["Environment season"]
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
    assert season_checks(parse_challenge(CHALLENGE.encode() + TEAMS % teams))[-1](github).state is SettingState.GOOD


def runner(name: str, status: str, *labels: str) -> dict[str, Any]:
    """A runner as GitHub's API describes it."""
    return {
        "id": 1,
        "name": name,
        "os": "Linux",
        "status": status,
        "busy": False,
        "labels": [{"name": one} for one in labels],
    }


ARENA = ("self-hosted", "arena")


@pytest.mark.parametrize(
    ("labels", "runners", "state"),
    [
        (("ubuntu-24.04",), [], "good"),
        (ARENA, [runner("one", "online", "self-hosted", "Linux", "X64", "Arena")], "good"),
        (ARENA, [runner("one", "offline", *ARENA)], "missing"),
        (ARENA, [runner("one", "online", "self-hosted"), runner("two", "online", "arena")], "missing"),
        (ARENA, [], "missing"),
        (("arena",), [runner("arena-x7k2-runner-abcde", "online")], "good"),
        (("arena",), [runner("arenas-x7k2-runner-abcde", "online")], "choice"),
        (("arena",), [], "choice"),
    ],
)
def test_the_labels_of_official_runs_are_those_of_a_runner(
    labels: tuple[str, ...], runners: list[dict[str, Any]], state: str
) -> None:
    finding = check_runners(labels)(SettingsTable(**{"/actions/runners": runners}))

    assert (finding.state, labels[-1] in finding.message) == (state, True)


def test_a_runner_of_the_organisation_counts_where_the_token_may_see_it() -> None:
    own = {"": {"owner": {"type": "Organization", "login": "lab"}}}
    finding = check_runners(ARENA)(SettingsTable(**own, **{"/orgs/lab/actions/runners": [runner("one", "online", *ARENA)]}))

    assert finding.state is SettingState.GOOD


class ForbiddenLists(SettingsTable):
    """Settings whose lists the token may not see."""

    def settings(self, path: str) -> list[Any]:
        raise GitHubError(403, f"{path}: Must have admin rights to Repository")


def test_runners_that_the_token_may_not_see_are_unknown() -> None:
    assert check_runners(ARENA)(ForbiddenLists()).state is SettingState.UNKNOWN


@pytest.mark.attack(
    "workflow_that_names_the_hosts_machine", family="bot", outcome="found by doctor, which can have it wait",
    tries="Has the workflow of its pull request run on the host's own machine, where official runs play afterwards.",
)  # fmt: skip
@pytest.mark.parametrize("about", [{}, PRIVATE])
def test_no_strangers_workflow_reaches_the_hosts_machines_unseen(
    github: GitHub, standin: GitHubStandIn, about: dict[str, Any]
) -> None:
    path, checks = "/actions/permissions/fork-pr-workflows-private-repos", (check_reach,)
    unasked = {**FRESH[path], "run_workflows_from_fork_pull_requests": True, "require_approval_for_fork_pr_workflows": False}
    standin.world.settings |= {"about": about, path: unasked}
    before = check_reach(github)
    assert apply_repairs(github, checks) == {before.name: ""}

    assert before.state is SettingState.MISSING
    assert check_reach(github).state is SettingState.GOOD
    assert standin.world.settings[path]["run_workflows_from_fork_pull_requests"]
    assert check_reach in runner_checks(ARENA)
    assert check_reach in runner_checks(("arena",))
    assert check_reach not in runner_checks(("ubuntu-24.04",))


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(doctor, "GitHub", partial(GitHub, pace=0))
    (tmp_path / "challenge.yml").write_text(CHALLENGE)
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "CODEOWNERS").write_text("* @pullrank/maintainers\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_names_page_click_and_line(
    board: Path, standin: GitHubStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor.run(token="bot-token", api=standin.address) == 1

    output = capsys.readouterr().err
    assert "https://github.com/host/board/settings/pages" in output
    assert "gh api -X POST repos/host/board/pages --input -" in output
    assert "pullrank init --owner host" in output
    assert "'pullrank doctor --fix' sets all of it" in output


def test_the_command_mends_and_is_then_content(
    board: Path, standin: GitHubStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor.run(fix=True, token="bot-token", api=standin.address) == 0
    assert "Nothing is missing." in capsys.readouterr().err


def test_owners_in_another_encoding_are_no_fault_of_ours(board: Path, standin: GitHubStandIn) -> None:
    (board / ".github" / "CODEOWNERS").write_bytes(b"* @m\xe9lanie\n")

    assert doctor.run(fix=True, token="bot-token", api=standin.address) == 0


@pytest.mark.parametrize("fix", [False, True])
def test_the_command_ends_by_naming_what_comes_next(
    board: Path, standin: GitHubStandIn, capsys: pytest.CaptureFixture[str], fix: bool
) -> None:
    doctor.run(fix=fix, token="bot-token", api=standin.address)

    assert "'pullrank rehearse'" in capsys.readouterr().err.splitlines()[-1]


def test_the_command_goes_on_after_a_refusal_and_does_not_call_it_well(
    board: Path, standin: GitHubStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    standin.world.faults.append(Fault("GET", "/rulesets", 403, message="Upgrade to GitHub Pro", times=100))
    assert doctor.run(fix=True, token="bot-token", api=standin.address) == 1

    output = capsys.readouterr().err
    assert "Set: Pages." in output
    assert "Set: Private reports." in output
    assert "? Rules for main: Could not be looked at (the plan does not have it, or the token may not see it)" in output
    assert "2 could not be checked" in output
    assert "Nothing is missing" not in output


def test_the_command_says_where_the_secret_of_a_sealed_season_goes(
    board: Path, standin: GitHubStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    (board / "challenge.yml").write_bytes(CHALLENGE.encode() + SEALED)

    assert doctor.run(fix=True, token="bot-token", api=standin.address) == 1
    output = capsys.readouterr().err
    assert "✗ Secret of the sealed season: Without PULLRANK_SEASON_SECRET the official run refuses to play" in output
    assert "season › Environment secrets › PULLRANK_SEASON_SECRET" in output


def test_the_command_speaks_json(board: Path, standin: GitHubStandIn, capsys: pytest.CaptureFixture[str]) -> None:
    doctor.run(token="bot-token", api=standin.address, as_json=True)

    assert {one["state"] for one in json.loads(capsys.readouterr().out)} == {
        "good", "missing", "choice",
    }  # fmt: skip


def test_without_a_token_it_says_where_to_get_one(board: Path) -> None:
    with pytest.raises(CommandError, match="gh auth token"):
        doctor.run(token="", api="http://127.0.0.1:9")


def test_without_a_repository_it_asks_for_one(board: Path) -> None:
    (board / "challenge.yml").write_text(CHALLENGE.replace("repository: https://github.com/host/board\n", ""))

    with pytest.raises(CommandError, match="--repository owner/name"):
        doctor.run(token="x", api="http://127.0.0.1:9")
