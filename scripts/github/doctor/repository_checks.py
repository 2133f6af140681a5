"""Checks of the repository itself: name, access, branch, visibility, plan and Pages."""

from typing import Any

from scripts.github.api.client import GitHub
from scripts.github.doctor.setting_checks import (
    Check,
    SettingChange,
    SettingFinding,
    SettingLocation,
    SettingState,
    check,
)
from scripts.repository.layout import MAIN_BRANCH

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
