"""Checks of Pages, tokens, approvals, merging, rules and environments, and of what a season needs."""

from typing import Any

from evaluator.host.seeds.season_secret import SECRET_VARIABLE
from evaluator.model.config.challenge import Challenge
from scripts.github.doctor.check_runner import (
    Check,
    SettingChange,
    SettingFinding,
    SettingLocation,
    SettingsReader,
    SettingState,
    check,
    setting_finding,
)
from scripts.github.doctor.repository_checks import ACTIONS_CHECKS, REPOSITORY_CHECKS

MAIN_RULES, DATA_RULES = "pullrank: main", "pullrank: what is recorded"
ADMINISTRATOR = 5  # GitHub's id of the administrator role.
PLACEHOLDER = "@pullrank/maintainers"


@check("Pages", "settings/pages", "Build and deployment › Source: GitHub Actions")
def check_pages(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whether the site is deployed by the workflow."""
    setting = asks.setting("/pages")
    good = bool(setting) and setting.get("build_type") == "workflow"
    return setting_finding(
        place,
        good=good,
        words=("The workflow deploys the site.", "The site cannot be deployed: Pages is off, or takes it from a branch."),
        changes=(SettingChange(verb="PUT" if setting else "POST", path="/pages", body={"build_type": "workflow"}),),
    )


@check(
    "Workflow token",
    "settings/actions",
    "Workflow permissions › Read repository contents; Actions may not approve pull requests",
)
def check_token(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """The default rights of a workflow."""
    path = "/actions/permissions/workflow"
    setting = asks.setting(path) or {}
    wanted = {"default_workflow_permissions": "read", "can_approve_pull_request_reviews": False}
    return setting_finding(
        place,
        good=all(setting.get(key) == value for key, value in wanted.items()),
        words=(
            "A workflow can only read unless it asks for more.",
            "A workflow that forgets to ask for little gets much, or Actions may approve pull requests.",
        ),
        changes=(SettingChange(verb="PUT", path=path, body=wanted),),
    )


_APPROVALS = {
    "all_external_contributors": "Every stranger's push waits for a maintainer's click: nobody burns your minutes, and "
    "nobody sees a score before you came by.",
    "first_time_contributors": "A stranger's first pull request waits for a click, later pushes show a score in minutes. "
    "With 'all external contributors' each push costs you a click, and nobody can burn your minutes.",
    "first_time_contributors_new_to_github": "Only accounts new to GitHub wait for a click: nearly all see a score in "
    "minutes, and anybody with an older account can burn your minutes.",
}


@check("Strangers' runs", "settings/actions", "Approval for running fork pull request workflows")
def check_approval(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whose pull requests wait for an approval before anything runs."""
    setting = asks.setting("/actions/permissions/fork-pr-contributor-approval") or {}
    policy = setting.get("approval_policy", "")
    state = SettingState.CHOICE if policy in _APPROVALS else SettingState.MISSING
    message = _APPROVALS.get(policy, "GitHub does not say whose runs wait for approval; look for yourself.")
    return place.finding(SettingState.GOOD if policy == "all_external_contributors" else state, message)


@check("Pinned actions", "settings/actions", "Require actions to be pinned to a full-length commit SHA")
def check_pinning(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whether actions may be used by a tag, which its owner can move."""
    setting = asks.setting("/actions/permissions") or {}
    actions = {key: setting[key] for key in ("allowed_actions",) if key in setting}
    body = {"enabled": True, **actions, "sha_pinning_required": True}
    return setting_finding(
        place,
        good=setting.get("sha_pinning_required") is True,
        words=("Only actions named by their full commit run.", "A workflow could use an action whose tag was moved."),
        changes=(SettingChange(verb="PUT", path="/actions/permissions", body=body),),
    )


@check("Merge methods", "settings", "Pull Requests › no 'Allow rebase merging'")
def check_merging(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whether every merge makes a commit that GitHub signs, which seeds come from."""
    repository = asks.setting("") or {}
    other = bool(repository.get("allow_merge_commit")) or bool(repository.get("allow_squash_merge"))
    body = {"allow_rebase_merge": False, **({} if other else {"allow_squash_merge": True})}
    return setting_finding(
        place,
        good=not repository.get("allow_rebase_merge"),
        words=(
            "Every merge is a commit that GitHub signs, so nobody can choose his seeds.",
            "A rebase merge makes commits that GitHub does not sign: who made one could have chosen his seeds.",
        ),
        changes=(SettingChange(verb="PATCH", path="", body=body),),
    )


@check(
    "Rules for main",
    "settings/rules",
    "New branch ruleset, default branch: pull requests only, code owners' approval, no force push, no deletion",
)
def check_main_rules(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whether main changes by pull requests only."""
    parameters = {
        "required_approving_review_count": 1, "dismiss_stale_reviews_on_push": True, "require_code_owner_review": True,
        "require_last_push_approval": True, "required_review_thread_resolution": False,
        "allowed_merge_methods": ["merge", "squash"],
    }  # fmt: skip
    rules: list[dict[str, Any]] = [{"type": name} for name in ("deletion", "non_fast_forward")]
    rules.append({"type": "pull_request", "parameters": parameters})
    bypass = [{"actor_id": ADMINISTRATOR, "actor_type": "RepositoryRole", "bypass_mode": "pull_request"}]
    body = _ruleset(MAIN_RULES, ["~DEFAULT_BRANCH"], rules) | {"bypass_actors": bypass}
    return setting_finding(
        place,
        good=_is_ruled(
            asks, {"~DEFAULT_BRANCH", "refs/heads/main", "~ALL"}, {"deletion", "non_fast_forward", "pull_request"}
        ),
        words=(
            "main changes by pull requests only.",
            "Anybody with write access can push to main; GitHub does not sign such a commit, and its seeds are marked.",
        ),
        changes=(SettingChange(verb="POST", path="/rulesets", body=body),),
    )


@check("Rules for results", "settings/rules", "New branch ruleset, results and traces-*: no force push, no deletion")
def check_data_rules(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whether recorded results can be rewritten."""
    rules: list[dict[str, Any]] = [{"type": "deletion"}, {"type": "non_fast_forward"}]
    body = _ruleset(DATA_RULES, ["refs/heads/results", "refs/heads/traces-*"], rules)
    return setting_finding(
        place,
        good=_is_ruled(asks, {"refs/heads/results", "~ALL"}, {"deletion", "non_fast_forward"}),
        words=("What is recorded can only grow.", "One forced push can rewrite or lose every result."),
        changes=(SettingChange(verb="POST", path="/rulesets", body=body),),
    )


def main_only_policy(asks: SettingsReader, name: str) -> tuple[bool, tuple[SettingChange, ...]]:
    """Whether only main may use an environment, and changes to make it so; none if a person decided otherwise."""
    path = f"/environments/{name}"
    policy = (asks.setting(path) or {}).get("deployment_branch_policy") or {}
    custom = bool(policy.get("custom_branch_policies"))
    listed = asks.setting(f"{path}/deployment-branch-policies") if custom else None
    allowed = {policy_entry.get("name") for policy_entry in (listed or {}).get("branch_policies", [])}
    named = {"deployment_branch_policy": {"protected_branches": False, "custom_branch_policies": True}}
    only = SettingChange(verb="PUT", path=path, body=named)
    main = SettingChange(verb="POST", path=f"{path}/deployment-branch-policies", body={"name": "main"})
    good = bool(policy.get("protected_branches")) or allowed == {"main"}
    # Another branch on the list is a person's decision: only a person removes it.
    return good, () if allowed - {"main"} else (only, main)


@check("Environment github-pages", "settings/environments", "github-pages › Deployment branches: main only")
def check_pages_environment(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whether another branch than main may deploy the site."""
    good, changes = main_only_policy(asks, "github-pages")
    return setting_finding(
        place,
        good=good,
        words=("Only main can deploy the site.", "A workflow on another branch could deploy the site."),
        changes=changes,
    )


@check("Private reports", "settings/security_analysis", "Private vulnerability reporting › Enable")
def check_reporting(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whether vulnerabilities can be reported in private."""
    path = "/private-vulnerability-reporting"
    return setting_finding(
        place,
        good=(asks.setting(path) or {}).get("enabled") is True,
        words=("Holes can be reported in private.", "Who finds a hole can only tell it in public."),
        changes=(SettingChange(verb="PUT", path=path, body={}),),
    )


CHECKS: tuple[Check, ...] = (
    *REPOSITORY_CHECKS, *ACTIONS_CHECKS,
    check_pages, check_token, check_approval, check_pinning, check_merging,
    check_main_rules, check_data_rules, check_pages_environment, check_reporting,
)  # fmt: skip


def _ruleset(name: str, include: list[str], rules: list[dict[str, Any]]) -> dict[str, Any]:
    conditions = {"ref_name": {"include": include, "exclude": []}}
    return {"name": name, "target": "branch", "enforcement": "active", "conditions": conditions, "rules": rules}


def _is_ruled(asks: SettingsReader, refs: set[str], wanted: set[str]) -> bool:
    """Whether active rulesets for one of the refs contain all the wanted rules together."""
    rules: set[str] = set()
    for summary in asks.settings("/rulesets"):
        if summary.get("enforcement") != "active" or summary.get("target", "branch") != "branch":
            continue
        ruleset = asks.setting(f"/rulesets/{summary['id']}") or {}
        names = ruleset.get("conditions", {}).get("ref_name", {})
        if refs & set(names.get("include", [])) and not refs & set(names.get("exclude", [])):
            rules |= {rule["type"] for rule in ruleset.get("rules", [])}
    return wanted <= rules


SEASON_ENVIRONMENT = "season"
TEAMS_VARIABLE = "PULLRANK_TEAMS_TOKEN"
_ENVIRONMENTS_PAGE = "settings/environments"


def season_checks(challenge: Challenge) -> tuple[Check, ...]:
    """The checks that a season needs; most need none."""
    teams = sorted({team for phase in challenge.phases for team in phase.teams})
    checks: list[Check] = [check_season_environment] if challenge.sealed or teams else []
    if challenge.sealed:
        checks.append(check_seal)
    if teams:
        checks.append(membership_check(teams))
    return tuple(checks)


@check(f"Environment {SEASON_ENVIRONMENT}", _ENVIRONMENTS_PAGE, f"{SEASON_ENVIRONMENT} › Deployment branches: main only")
def check_season_environment(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whether another branch than main could read the environment's secrets."""
    good, changes = main_only_policy(asks, SEASON_ENVIRONMENT)
    return setting_finding(
        place,
        good=good,
        words=(
            "Only main can read the season's secrets.",
            "There is no such environment, or a workflow on another branch could read the season's secrets.",
        ),
        changes=changes,
    )


@check("Secret of the sealed season", _ENVIRONMENTS_PAGE, f"{SEASON_ENVIRONMENT} › Environment secrets › {SECRET_VARIABLE}")
def check_seal(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whether the sealed season's secret is in its environment. GitHub shows the name, never the value."""
    return setting_finding(
        place,
        good=SECRET_VARIABLE in _secret_names(asks),
        words=(
            "The official run finds a secret; whether it is the right one is checked against its hash at every run.",
            f"Without {SECRET_VARIABLE} the official run refuses to play; put there what 'pullrank season seal' printed.",
        ),
        changes=(),
    )


def membership_check(teams: list[str]) -> Check:
    """Whether the plan can see the members of the organisations and teams that phases name."""
    click = (
        f"{SEASON_ENVIRONMENT} › Environment secrets › {TEAMS_VARIABLE}, a token that may read members of {', '.join(teams)}"
    )

    @check("Token for teams", _ENVIRONMENTS_PAGE, click)
    def look(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
        if TEAMS_VARIABLE in _secret_names(asks):
            state, message = SettingState.GOOD, "The plan can ask who is in the teams that phases name."
        elif any("/" in team for team in teams):
            state = SettingState.MISSING
            message = "Phases name teams, whose members nobody sees without a token: nobody may enter."
        else:
            state = SettingState.CHOICE
            message = "Of organisations the plan sees public members only; with a token it sees all."
        return place.finding(state, message)

    return look


def _secret_names(asks: SettingsReader) -> set[str]:
    answer = asks.setting(f"/environments/{SEASON_ENVIRONMENT}/secrets?per_page=100") or {}
    return {str(secret.get("name")) for secret in answer.get("secrets", [])}
