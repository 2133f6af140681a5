"""Checks of GitHub Actions: what may run, whose runs wait, the workflows, forks, the image and runners."""

import fnmatch
from contextlib import suppress
from dataclasses import replace
from typing import Any

from scripts.console import CommandError
from scripts.github.api.client import GitHub
from scripts.github.api.responses import url_segment
from scripts.github.doctor.setting_findings import Check, SettingChange, SettingFinding, SettingLocation, SettingState, check

# The workflow files and their triggers; a test compares both with the files.
WORKFLOWS = (
    "act", "ci", "commands", "evaluate", "image", "nightly", "official", "preview", "queue", "reconcile", "release",
    "report", "site",
)  # fmt: skip
WORKFLOW_EVENTS = ("issue_comment", "merge_group", "pull_request", "push", "schedule", "workflow_dispatch", "workflow_run")
# Every action that they use, directly or through another action.
USED_ACTIONS = (
    "actions/attest", "actions/checkout", "actions/deploy-pages", "actions/download-artifact", "actions/setup-python",
    "actions/upload-artifact", "actions/upload-pages-artifact",
)  # fmt: skip
_PERMISSIONS = "/actions/permissions"
_SELECTED_ACTIONS = "/actions/permissions/selected-actions"
_FORK_WORKFLOWS = "/actions/permissions/fork-pr-workflows-private-repos"
_APPROVAL, _EVERYBODY = "/actions/permissions/fork-pr-contributor-approval", "all_external_contributors"


@check("Actions", "settings/actions", "Actions permissions › Allow all actions, or select GitHub's own")
def check_actions(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether Actions is on."""
    permissions = github.setting(_PERMISSIONS) or {}
    body = {**_picked(permissions, "allowed_actions", "sha_pinning_required"), "enabled": True}
    return place.judged(
        permissions.get("enabled") is True,
        "Actions is on.",
        "Actions is off: no workflow runs.",
        SettingChange("PUT", _PERMISSIONS, body),
    )


@check("Allowed actions", "settings/actions", "Actions permissions › Allow actions created by GitHub")
def check_allowed_actions(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether an allow-list lacks an action that the workflows use."""
    permissions = github.setting(_PERMISSIONS) or {}
    policy = permissions.get("allowed_actions", "all")
    listed: dict[str, Any] = (github.setting(_SELECTED_ACTIONS) or {}) if policy == "selected" else {}
    left_out = [] if policy == "all" or listed.get("github_owned_allowed") else _left_out(listed)
    selected = {**_picked(permissions, "sha_pinning_required"), "enabled": True, "allowed_actions": "selected"}
    select = SettingChange("PUT", _PERMISSIONS, selected)
    widened = {**_picked(listed, "verified_allowed", "patterns_allowed"), "github_owned_allowed": True}
    add = SettingChange("PUT", _SELECTED_ACTIONS, widened)
    return place.judged(
        not left_out,
        "Every action that the workflows use is allowed.",
        f"Workflows fail before their first step: not allowed are {', '.join(left_out)}.",
        *((add,) if policy == "selected" else (select, add)),
    )


def _picked(answer: dict[str, Any], *names: str) -> dict[str, Any]:
    """The fields of an answer that are sent back unchanged; an answer has more fields than a request may have."""
    return {name: answer[name] for name in names if name in answer}


def _left_out(listed: dict[str, Any]) -> list[str]:
    """Actions that no pattern allows. A pattern with `!` excludes, and a later one may allow again."""
    left = []
    for name in USED_ACTIONS:
        is_allowed = False
        for pattern in listed.get("patterns_allowed") or ():
            if fnmatch.fnmatchcase(f"{name}@{'0' * 40}".casefold(), pattern.lstrip("!").casefold()):
                is_allowed = not pattern.startswith("!")
        if not is_allowed:
            left.append(name)
    return left


_INACTIVE_REASONS = {
    "disabled_inactivity": "GitHub switched it off after 60 days without a commit",
    "disabled_fork": "GitHub switched it off because this is a fork",
    "disabled_manually": "somebody switched it off",
    "deleted": "its file is not on the default branch",
}


@check("Workflows", "actions", "Choose the workflow › Enable workflow")
def check_workflows(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether each workflow is active; GitHub disables schedules of a public repository after 60 days without commits."""
    wrong, changes = inactive_workflows(github, WORKFLOWS)
    return place.judged(not wrong, "Every workflow is active.", f"Not active: {', '.join(wrong)}.", *changes)


def inactive_workflows(github: GitHub, names: tuple[str, ...]) -> tuple[list[str], list[SettingChange]]:
    """The named workflows that GitHub does not run, each with the reason, and what starts those that GitHub stopped."""
    existing = {str(workflow["path"]): workflow for workflow in github.settings("/actions/workflows")}
    wrong, changes = [], []
    for name in names:
        workflow = existing.get(f".github/workflows/{name}.yml") or {"state": "deleted"}
        state = str(workflow["state"])
        if state != "active":
            wrong.append(f"{name} ({_INACTIVE_REASONS.get(state, state)})")
        # What a person switched off, only a person switches on.
        if state in ("disabled_inactivity", "disabled_fork"):
            changes.append(SettingChange("PUT", f"/actions/workflows/{workflow['id']}/enable", {}))
    return wrong, changes


@check("Actions policies", "settings/actions/policies", f"Event rules, if there are any, allow {', '.join(WORKFLOW_EVENTS)}")
def check_policies(github: GitHub, place: SettingLocation) -> SettingFinding:
    """A reminder: the API does not show event rules of the repository or its organisation."""
    message = (
        "GitHub's API does not tell them: look for yourself. A rule that forbids an event makes its workflows fail before "
        "their first job: without issue_comment no command is answered, without workflow_dispatch rounds do not go on."
    )
    return place.finding(SettingState.CHOICE, message)


@check("Workflows of forks", "settings/actions", "Fork pull request workflows › Run workflows, without tokens and secrets")
def check_fork_workflows(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether a private repository previews pull requests from forks, with as few rights as possible."""
    if not (github.setting("") or {}).get("private"):
        message = "A public repository previews pull requests from forks; whose wait for a click is said below."
        return place.finding(SettingState.GOOD, message)
    settings = github.setting(_FORK_WORKFLOWS) or {}
    least = {"send_write_tokens_to_workflows": False, "send_secrets_and_variables": False}
    wanted = {"run_workflows_from_fork_pull_requests": True, **least}
    is_least = not any(settings.get(key) for key in least)
    off = "Pull requests from forks are not previewed: a private repository does not run their workflows unless told to."
    return place.judged(
        is_least and settings.get("run_workflows_from_fork_pull_requests") is True,
        "Pull requests from forks are previewed, with a token that can only read and without secrets.",
        off if is_least else "A fork's pull request gets a token that can write, or secrets: it can take the board over.",
        SettingChange("PUT", _FORK_WORKFLOWS, {**_picked(settings, "require_approval_for_fork_pr_workflows"), **wanted}),
    )


@check("Evaluator image", "packages", "Package evaluator › Package settings › Change visibility: public")
def check_evaluator_image(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether previews, which have no token, can pull the image; the API cannot change its visibility."""
    repository = github.setting("") or {}
    owner, login = repository.get("owner") or {}, str((repository.get("owner") or {}).get("login", ""))
    kind = "orgs" if owner.get("type") == "Organization" else "users"
    name = f"{repository.get('name', '')}/evaluator".lower()
    path = f"container/{url_segment(name)}"
    package = github.setting(f"/{kind}/{login}/packages/{path}")
    page = f"https://github.com/{kind}/{login}/packages/{path}/settings"
    if package is None:
        state = SettingState.CHOICE
        message = "It is not in the registry yet: the workflow image puts it there when it is first needed."
    elif package.get("visibility") == "public":
        state, message = SettingState.GOOD, "Everybody can have the image."
    elif repository.get("private"):
        state = SettingState.CHOICE
        message = "The image is not public, as the repository: previews build it anew, which takes minutes."
    else:
        state, message = SettingState.MISSING, "The image is not public: each preview builds it anew, which takes minutes."
    return replace(place, page=page).finding(state, message)


# What begins so is one of GitHub's own machines.
_HOSTED = ("ubuntu-", "windows-", "macos-")


def check_runners(labels: tuple[str, ...]) -> Check:
    """Whether a machine of the host's own has the labels of challenge.yml, if they are not those of GitHub's machines."""
    shown = ", ".join(labels)
    click = f"Runners › a runner with {shown}; or change runners.labels in challenge.yml"

    @check("Runners", "settings/actions/runners", click)
    def look(github: GitHub, place: SettingLocation) -> SettingFinding:
        if is_hosted(labels):
            return place.finding(SettingState.GOOD, f"Official runs play on GitHub's machines: {shown}.")
        fitting = [runner for runner in _runners(github) if _has_labels(runner, labels)]
        if any(runner.get("status") == "online" for runner in fitting):
            return place.finding(SettingState.GOOD, f"A runner with {shown} is online.")
        if fitting:
            return place.finding(SettingState.MISSING, f"Each runner with {shown} is offline: official runs wait for it.")
        message = f"No runner with {shown} is registered: official runs wait for a day and fail."
        if len(labels) > 1 or labels[0] == "self-hosted":
            return place.finding(SettingState.MISSING, message)
        scale_set = "That is as it should be only for a scale set that is at zero, or a larger machine of GitHub's."
        return place.finding(SettingState.CHOICE, f"{message} {scale_set}")

    return look


def is_hosted(labels: tuple[str, ...]) -> bool:
    """Whether jobs with these labels run on GitHub's own machines."""
    return labels[0].startswith(_HOSTED) and len(labels) == 1


@check("Strangers and runners", "settings/actions", "Approval for running fork pull request workflows › all external ones")
def check_reach(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether a pull request's own workflow reaches a machine of the host's before anybody has looked at it."""
    is_private = (github.setting("") or {}).get("private")
    path = _FORK_WORKFLOWS if is_private else _APPROVAL
    wanted = {"require_approval_for_fork_pr_workflows": True} if is_private else {"approval_policy": _EVERYBODY}
    setting = github.setting(path) or {}
    return place.judged(
        wanted.items() <= setting.items(),
        "A stranger's workflow runs on your machines only after a click: look at what it changes below .github first.",
        "A stranger's pull request may change its workflow to run on your machines, outside of any sandbox, and nobody is "
        "asked: what official runs play there later is then in its hands, too.",
        SettingChange("PUT", path, {**setting, **wanted}),
    )


def runner_checks(labels: tuple[str, ...]) -> tuple[Check, ...]:
    """The checks of the machines with the labels of challenge.yml."""
    return (check_runners(labels),) if is_hosted(labels) else (check_runners(labels), check_reach)


def _runners(github: GitHub) -> list[Any]:
    """The repository's runners and, where the token may see them, its organisation's."""
    owner = (github.setting("") or {}).get("owner") or {}
    runners = github.settings("/actions/runners")
    if owner.get("type") == "Organization":
        with suppress(CommandError):
            runners += github.settings(f"/orgs/{owner['login']}/actions/runners")
    return runners


def _has_labels(runner: dict[str, Any], labels: tuple[str, ...]) -> bool:
    """Whether a job with these labels can run there; GitHub may show a scale set's runners without labels, by name only."""
    names = {str(label.get("name")).casefold() for label in runner.get("labels") or ()}
    is_of_scale_set = len(labels) == 1 and str(runner.get("name")).startswith(f"{labels[0]}-")
    return is_of_scale_set or {label.casefold() for label in labels} <= names


@check(
    "Workflow token",
    "settings/actions",
    "Workflow permissions › Read repository contents; Actions may not approve pull requests",
)
def check_token(github: GitHub, place: SettingLocation) -> SettingFinding:
    """The default rights of a workflow."""
    path = "/actions/permissions/workflow"
    setting = github.setting(path) or {}
    wanted = {"default_workflow_permissions": "read", "can_approve_pull_request_reviews": False}
    return place.judged(
        all(setting.get(key) == value for key, value in wanted.items()),
        "A workflow can only read unless it asks for more.",
        "A workflow that forgets to ask for little gets much, or Actions may approve pull requests.",
        SettingChange("PUT", path, wanted),
    )


_APPROVALS = {
    _EVERYBODY: "Every stranger's push waits for a maintainer's click: nobody burns your minutes, and "
    "nobody sees a score before you came by.",
    "first_time_contributors": "A stranger's first pull request waits for a click, later pushes show a score in minutes. "
    "With 'all external contributors' each push costs you a click, and nobody can burn your minutes.",
    "first_time_contributors_new_to_github": "Only accounts new to GitHub wait for a click: nearly all see a score in "
    "minutes, and anybody with an older account can burn your minutes.",
}


@check("Strangers' runs", "settings/actions", "Approval for running fork pull request workflows")
def check_approval(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whose pull requests wait for an approval before anything runs."""
    setting = github.setting(_APPROVAL) or {}
    policy = setting.get("approval_policy", "")
    state = SettingState.CHOICE if policy in _APPROVALS else SettingState.MISSING
    message = _APPROVALS.get(policy, "GitHub does not say whose runs wait for approval; look for yourself.")
    return place.finding(SettingState.GOOD if policy == _EVERYBODY else state, message)


@check("Pinned actions", "settings/actions", "Require actions to be pinned to a full-length commit SHA")
def check_action_pins(github: GitHub, place: SettingLocation) -> SettingFinding:
    """Whether actions may be used by a tag, which its owner can move."""
    permissions = github.setting(_PERMISSIONS) or {}
    body = {"enabled": True, **_picked(permissions, "allowed_actions"), "sha_pinning_required": True}
    return place.judged(
        permissions.get("sha_pinning_required") is True,
        "Only actions named by their full commit run.",
        "A workflow could use an action whose tag was moved.",
        SettingChange("PUT", _PERMISSIONS, body),
    )


ACTIONS_CHECKS: tuple[Check, ...] = (
    check_actions, check_allowed_actions, check_workflows, check_policies, check_fork_workflows, check_evaluator_image,
    check_token, check_approval, check_action_pins,
)  # fmt: skip
