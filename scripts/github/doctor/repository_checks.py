"""Checks of the repository itself, and of what protects branches, environments and their secrets, and reports of holes."""

from fnmatch import fnmatchcase
from typing import Any

from evaluator.host.seeds.season_secret import SECRET_VARIABLE
from evaluator.model.config.challenge import Challenge
from scripts.github.api.client import GitHub
from scripts.github.doctor.setting_findings import Check, SettingChange, SettingFinding, SettingLocation, SettingState, check
from scripts.github.workflow.event import TEAMS_VARIABLE
from scripts.repository.layout import MAIN_BRANCH, RESULTS_BRANCH, WEIGHTS_BRANCH

_ENTERPRISE = ("enterprise", "business", "business_plus")
_PAID = ("pro", "team", *_ENTERPRISE)


def check_identity(named: str) -> Check:
    """Whether the repository named in challenge.yml (`owner/name` or "") is this one."""
    click = "Not a setting: change the line 'repository:' of challenge.yml and commit it to main"

    @check("Repository", "edit/main/challenge.yml", click)
    def look(github: GitHub, place: SettingLocation) -> SettingFinding:
        actual = str((github.setting("") or {}).get("full_name", ""))
        message = (
            f"challenge.yml names {named or 'no repository'}, GitHub calls this one {actual}: no workflow does anything."
        )
        return place.judged(
            bool(named) and named.casefold() == actual.casefold(),
            "challenge.yml names this repository.",
            f"{message} Write 'repository: https://github.com/{actual}'.",
        )

    return look


@check("Access", "settings/access", "Collaborators › an administrator's token; Danger Zone › not archived")
def check_access(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether the token is an administrator's; without one, half of the settings cannot be read."""
    repository = github.setting("")
    if not repository:
        return place.finding(SettingState.MISSING, "There is no such repository, or the token may not see it.")
    closed = "archived" if repository.get("archived") else "disabled" if repository.get("disabled") else ""
    return place.judged(
        not closed and (repository.get("permissions") or {}).get("admin") is True,
        "The token is an administrator's.",
        (
            f"The repository is {closed}: nothing runs."
            if closed
            else "The token is not an administrator's: what is said below may be wrong, and nothing can be set."
        ),
    )


@check("Default branch", "settings", f"General › Default branch: {MAIN_BRANCH}; rename the other one")
def check_default_branch(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether the default branch is the one that the workflows run on."""
    actual = str((github.setting("") or {}).get("default_branch", ""))
    # Open pull requests and clones depend on it: a person decides.
    return place.judged(
        actual == MAIN_BRANCH,
        f"It is {MAIN_BRANCH}.",
        f"It is {actual}: schedules and comments run that branch's workflows, which do nothing.",
    )


@check("Visibility and plan", "settings", "Danger Zone › Change visibility; the plan is the owner's billing page")
def check_plan(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Who sees the board, and what the owner's plan lacks for a repository that is not public."""
    repository = github.setting("") or {}
    name = _plan_name(github, repository.get("owner") or {})
    shown = f"plan {name}" if name else "a plan that this token may not see"
    visibility = str(repository.get("visibility") or ("private" if repository.get("private") else "public"))
    if visibility == "public":
        state, message = SettingState.GOOD, f"Public, {shown}: every plan has all that a public board needs."
    else:
        state, message = SettingState.CHOICE, f"{visibility.capitalize()}, {shown}. {' '.join(lacking(name, repository))}"
    return place.finding(state, message)


def _plan_name(github: GitHub, owner: dict[str, Any]) -> str:
    kind = "orgs" if owner.get("type") == "Organization" else "users"
    account = github.setting(f"/{kind}/{owner['login']}") if owner.get("login") else None
    return str(((account or {}).get("plan") or {}).get("name", "")).casefold()


def lacking(name: str, repository: dict[str, Any]) -> list[str]:
    """What a plan lacks for this private repository, a sentence each; `name`: GitHub's name of it, "" if unknown."""
    lines = []
    if not name:
        lines.append("On Free:")
    if name not in _PAID:
        lines += [
            "No Pages: the board is not published.",
            "No environments: a sealed season's secret and a token for teams have no place, and any branch may deploy.",
            "No rulesets: main and what is recorded are not protected.",
        ]
    if not name:
        lines.append("On Free, Pro and Team:")
    if name not in _ENTERPRISE:
        lines += ["No private Pages: a published site is public.", "No attestations: results are recorded without."]
    if repository.get("allow_forking") is False:
        lines.append("No forks: participants need write access and push branches here.")
    lines.append("No private reports of holes. Workflows of forks are off until they are allowed. Minutes are counted.")
    return lines


@check("Pages", "settings/pages", "Build and deployment › Source: GitHub Actions")
def check_pages(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether the site is deployed by the workflow."""
    setting = github.setting("/pages")
    good = bool(setting) and setting.get("build_type") == "workflow"
    return place.judged(
        good,
        "The workflow deploys the site.",
        "The site cannot be deployed: Pages is off, or takes it from a branch.",
        SettingChange("PUT" if setting else "POST", "/pages", {"build_type": "workflow"}),
    )


REPOSITORY_CHECKS: tuple[Check, ...] = (check_access, check_default_branch, check_plan, check_pages)


MAIN_RULES, DATA_RULES = "pullrank: main", "pullrank: what is recorded"
ADMINISTRATOR = 5  # GitHub's id of the administrator role.
SEASON_ENVIRONMENT = "season"
_ENVIRONMENTS_PAGE = "settings/environments"


@check("Merge methods", "settings", "Pull Requests › no 'Allow rebase merging'")
def check_merging(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether every merge makes a commit that GitHub signs, which seeds come from."""
    repository = github.setting("") or {}
    other = bool(repository.get("allow_merge_commit")) or bool(repository.get("allow_squash_merge"))
    body = {"allow_rebase_merge": False, **({} if other else {"allow_squash_merge": True})}
    return place.judged(
        not repository.get("allow_rebase_merge"),
        "Every merge is a commit that GitHub signs, so nobody can choose his seeds.",
        "A rebase merge makes commits that GitHub does not sign: who made one could have chosen his seeds.",
        SettingChange("PATCH", "", body),
    )


@check(
    "Rules for main",
    "settings/rules",
    "New branch ruleset, default branch: pull requests only, code owners' approval, no force push, no deletion",
)
def check_main_rules(github: GitHub, place: SettingLocation) -> SettingFinding:
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
    return place.judged(
        _is_ruled(github, {"~DEFAULT_BRANCH", "refs/heads/main", "~ALL"}, {"deletion", "non_fast_forward", "pull_request"}),
        "main changes by pull requests only.",
        "Others than administrators can push to main; GitHub does not sign such a commit, and its seeds are marked.",
        _ruleset_change(github, body),
    )


@check("Rules for results", "settings/rules", "New branch ruleset, results, traces-*, weights: no force push, no deletion")
def check_data_rules(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether recorded results, traces and copies of weights can be rewritten."""
    refs = [f"refs/heads/{name}" for name in (RESULTS_BRANCH, "traces-*", WEIGHTS_BRANCH)]
    rules: list[dict[str, Any]] = [{"type": "deletion"}, {"type": "non_fast_forward"}]
    return place.judged(
        all(_is_ruled(github, {ref, "~ALL"}, {rule["type"] for rule in rules}) for ref in refs),
        "What is recorded can only grow.",
        "One forced push can rewrite or lose every result, its trace, or the copies of weights.",
        _ruleset_change(github, _ruleset(DATA_RULES, refs, rules)),
    )


def main_only_policy(github: GitHub, name: str) -> tuple[bool, tuple[SettingChange, ...]]:
    """Whether only main may use an environment, and changes to make it so; none if a person decided otherwise."""
    path = f"/environments/{name}"
    environment = github.setting(path) or {}
    policy = environment.get("deployment_branch_policy") or {}
    custom = bool(policy.get("custom_branch_policies"))
    listed = github.setting(f"{path}/deployment-branch-policies") if custom else None
    allowed = {policy_entry.get("name") for policy_entry in (listed or {}).get("branch_policies", [])}
    named = {"deployment_branch_policy": {"protected_branches": False, "custom_branch_policies": True}}
    only = SettingChange("PUT", path, _deployment_protection(environment) | named)
    main = SettingChange("POST", f"{path}/deployment-branch-policies", {"name": "main"})
    # "Protected branches" are not main alone: where none has protection of the older kind, GitHub lets all of them deploy.
    # Another branch on the list is a person's decision: only a person removes it.
    return allowed == {"main"}, () if allowed - {"main"} else (only, main)


def _deployment_protection(environment: dict[str, Any]) -> dict[str, Any]:
    """The waiting time and reviewers of an environment as a request names them; one that does not could remove them."""
    kept: dict[str, Any] = {}
    for rule in environment.get("protection_rules") or ():
        kept |= {name: rule[name] for name in ("wait_timer", "prevent_self_review") if name in rule}
        if rule.get("type") == "required_reviewers":
            kept["reviewers"] = [{"type": each["type"], "id": each["reviewer"]["id"]} for each in rule["reviewers"]]
    return kept


@check("Environment github-pages", "settings/environments", "github-pages › Deployment branches: main only")
def check_pages_environment(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether another branch than main may deploy the site."""
    good, changes = main_only_policy(github, "github-pages")
    return place.judged(
        good, "Only main can deploy the site.", "A workflow on another branch could deploy the site.", *changes
    )


@check("Private reports", "settings/security_analysis", "Private vulnerability reporting › Enable")
def check_reporting(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether vulnerabilities can be reported in private."""
    path = "/private-vulnerability-reporting"
    return place.judged(
        (github.setting(path) or {}).get("enabled") is True,
        "Holes can be reported in private.",
        "Who finds a hole can only tell it in public.",
        SettingChange("PUT", path, {}),
    )


PROTECTION_CHECKS: tuple[Check, ...] = (
    check_merging, check_main_rules, check_data_rules, check_pages_environment, check_reporting,
)  # fmt: skip


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
def check_season_environment(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether another branch than main could read the environment's secrets."""
    good, changes = main_only_policy(github, SEASON_ENVIRONMENT)
    return place.judged(
        good,
        "Only main can read the season's secrets.",
        "There is no such environment, or a workflow on another branch could read the season's secrets.",
        *changes,
    )


@check("Secret of the sealed season", _ENVIRONMENTS_PAGE, f"{SEASON_ENVIRONMENT} › Environment secrets › {SECRET_VARIABLE}")
def check_seal(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether the sealed season's secret is in its environment. GitHub shows the name, never the value."""
    return place.judged(
        SECRET_VARIABLE in _secret_names(github),
        "The official run finds a secret; whether it is the right one is checked against its hash at every run.",
        f"Without {SECRET_VARIABLE} the official run refuses to play; put there what 'pullrank season seal' printed.",
    )


def membership_check(teams: list[str]) -> Check:
    """Whether the plan can see the members of the organisations and teams that phases name."""
    click = (
        f"{SEASON_ENVIRONMENT} › Environment secrets › {TEAMS_VARIABLE}, a token that may read members of {', '.join(teams)}"
    )

    @check("Token for teams", _ENVIRONMENTS_PAGE, click)
    def look(github: GitHub, place: SettingLocation) -> SettingFinding:
        if TEAMS_VARIABLE in _secret_names(github):
            state, message = SettingState.GOOD, "The plan can ask who is in the teams that phases name."
        elif any("/" in team for team in teams):
            state = SettingState.MISSING
            message = "Phases name teams, whose members nobody sees without a token: nobody may enter."
        else:
            state = SettingState.CHOICE
            message = "Of organisations the plan sees public members only; with a token it sees all."
        return place.finding(state, message)

    return look


def _ruleset(name: str, include: list[str], rules: list[dict[str, Any]]) -> dict[str, Any]:
    conditions = {"ref_name": {"include": include, "exclude": []}}
    return {"name": name, "target": "branch", "enforcement": "active", "conditions": conditions, "rules": rules}


def _ruleset_change(github: GitHub, ruleset: dict[str, Any]) -> SettingChange:
    """The request that makes a ruleset, or adds to an older one of that name what it lacks: two may not share a name.

    What a host added to it stays, such as a second approval or a required check; what he made weaker does not.
    """
    older = next((each["id"] for each in github.settings("/rulesets") if each.get("name") == ruleset["name"]), None)
    if not older:
        return SettingChange("POST", "/rulesets", ruleset)
    kept = github.setting(f"/rulesets/{older}") or {}
    rules = {rule["type"]: rule for rule in kept.get("rules", ())}
    rules |= {rule["type"]: _stricter_rule(rule, rules.get(rule["type"], {})) for rule in ruleset["rules"]}
    included = kept.get("conditions", {}).get("ref_name", {}).get("include", ())
    include = list(dict.fromkeys((*ruleset["conditions"]["ref_name"]["include"], *included)))
    body = ruleset | {"rules": list(rules.values()), "conditions": {"ref_name": {"include": include, "exclude": []}}}
    if "bypass_actors" in kept:
        body["bypass_actors"] = list(filter(_is_administrator, kept["bypass_actors"] or ()))
    return SettingChange("PUT", f"/rulesets/{older}", body)


def _stricter_rule(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """A rule that asks for what each of two rules of one type asks for."""
    if "parameters" not in ours:
        return ours
    parameters = dict(theirs.get("parameters") or {})
    for name, wanted in ours["parameters"].items():
        value = parameters.get(name, wanted)
        if isinstance(wanted, list):
            parameters[name] = [item for item in wanted if item in value] or wanted
        else:
            parameters[name] = max(wanted, value)
    return {**ours, "parameters": parameters}


def _is_ruled(github: GitHub, refs: set[str], wanted: set[str]) -> bool:
    """Whether active rulesets for one of the refs, which bind all but administrators, contain all the wanted rules."""
    rules: set[str] = set()
    for summary in github.settings("/rulesets"):
        if summary.get("enforcement") != "active" or summary.get("target", "branch") != "branch":
            continue
        ruleset = github.setting(f"/rulesets/{summary['id']}") or {}
        names = ruleset.get("conditions", {}).get("ref_name", {})
        is_of_all = all(map(_is_administrator, ruleset.get("bypass_actors") or ()))
        if is_of_all and refs & set(names.get("include", [])) and not _leaves_out(refs, names.get("exclude", [])):
            rules |= {rule["type"] for rule in ruleset.get("rules", [])}
    return wanted <= rules


def _leaves_out(refs: set[str], excluded: list[str]) -> bool:
    """Whether a pattern is of one of the refs, which may be patterns, too."""
    return any(fnmatchcase(ref, pattern) or fnmatchcase(pattern, ref) for ref in refs for pattern in excluded)


def _is_administrator(actor: dict[str, Any]) -> bool:
    """Whether an actor that may bypass rules could remove them anyway."""
    kind = actor.get("actor_type")
    return kind == "OrganizationAdmin" or (kind, actor.get("actor_id")) == ("RepositoryRole", ADMINISTRATOR)


def _secret_names(github: GitHub) -> set[str]:
    answer = github.setting(f"/environments/{SEASON_ENVIRONMENT}/secrets?per_page=100") or {}
    return {str(secret.get("name")) for secret in answer.get("secrets", [])}
