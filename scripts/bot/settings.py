"""What a board's repository must be set to, and what mends it: decisions over what GitHub says, each a small function."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

MAIN_RULES, DATA_RULES = "pullrank: main", "pullrank: what is recorded"
ADMINISTRATOR = 5  # GitHub's number for the role of a repository's administrators.
PLACEHOLDER = "@pullrank/maintainers"


class Asks(Protocol):
    """Reads and changes settings; the API's paths below the repository's own."""

    def setting(self, path: str) -> Any:
        """One setting; None where there is none."""

    def settings(self, path: str) -> list[Any]:
        """A list among them."""

    def change_setting(self, verb: str, path: str, body: dict[str, Any]) -> None:
        """Change one."""


class State(StrEnum):
    """How a setting stands."""

    GOOD = "good"
    """As it should be."""
    MISSING = "missing"
    """Something can go wrong."""
    CHOICE = "choice"
    """Both ways are right; the host should know which he has."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One request that mends a setting."""

    verb: str
    """POST, PUT or PATCH."""
    path: str
    """Below the repository."""
    body: Mapping[str, Any]
    """What is sent."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One setting, looked at."""

    name: str
    """What it is about."""
    state: State
    """How it stands."""
    said: str
    """What is so, and why it matters."""
    page: str
    """The page of the repository where it is set."""
    click: str
    """What to do there."""
    changes: tuple[Change, ...] = ()
    """What the API can do instead; empty where it cannot, or should not without being asked."""


Check = Callable[[Asks], Finding]
"""Looks at one setting."""


def look(asks: Asks, more: Iterable[Check] = ()) -> list[Finding]:
    """Every setting that matters, in the order in which a host meets them; `more`: what his own rules ask for besides."""
    return [check(asks) for check in (*CHECKS, *more)]


def mend(asks: Asks, findings: list[Finding]) -> list[Finding]:
    """Change what is missing and can be changed; returns what was changed."""
    mended = [finding for finding in findings if finding.state is State.MISSING and finding.changes]
    for finding in mended:
        for change in finding.changes:
            asks.change_setting(change.verb, change.path, dict(change.body))
    return mended


def pages(asks: Asks) -> Finding:
    """Whether the site is deployed by the workflow."""
    found = asks.setting("/pages")
    good = bool(found) and found.get("build_type") == "workflow"
    return judged(
        Place("Pages", "settings/pages", "Build and deployment › Source: GitHub Actions"),
        good=good,
        words=("The workflow deploys the site.", "The site cannot be deployed: Pages is off, or takes it from a branch."),
        changes=(Change(verb="PUT" if found else "POST", path="/pages", body={"build_type": "workflow"}),),
    )


def token(asks: Asks) -> Finding:
    """What a workflow that asks for nothing is allowed."""
    path = "/actions/permissions/workflow"
    found = asks.setting(path) or {}
    wanted = {"default_workflow_permissions": "read", "can_approve_pull_request_reviews": False}
    click = "Workflow permissions › Read repository contents; Actions may not approve pull requests"
    return judged(
        Place("Workflow token", "settings/actions", click),
        good=all(found.get(key) == value for key, value in wanted.items()),
        words=(
            "A workflow can only read unless it asks for more.",
            "A workflow that forgets to ask for little gets much, or Actions may approve pull requests.",
        ),
        changes=(Change(verb="PUT", path=path, body=wanted),),
    )


_APPROVALS = {
    "all_external_contributors": "Every stranger's push waits for a maintainer's click: nobody burns your minutes, and "
    "nobody sees a score before you came by.",
    "first_time_contributors": "A stranger's first pull request waits for a click, later pushes show a score in minutes. "
    "With 'all external contributors' each push costs you a click, and nobody can burn your minutes.",
    "first_time_contributors_new_to_github": "Only accounts new to GitHub wait for a click: nearly all see a score in "
    "minutes, and anybody with an older account can burn your minutes.",
}


def approval(asks: Asks) -> Finding:
    """Whose pull requests wait for a click before anything runs."""
    found = asks.setting("/actions/permissions/fork-pr-contributor-approval") or {}
    policy = found.get("approval_policy", "")
    state = State.CHOICE if policy in _APPROVALS else State.MISSING
    return Finding(
        name="Strangers' runs",
        state=State.GOOD if policy == "all_external_contributors" else state,
        said=_APPROVALS.get(policy, "GitHub does not say whose runs wait for approval; look for yourself."),
        page="settings/actions",
        click="Approval for running fork pull request workflows",
    )


def pinning(asks: Asks) -> Finding:
    """Whether an action may be used by a tag that its owner can move."""
    found = asks.setting("/actions/permissions") or {}
    kept = {key: found[key] for key in ("enabled", "allowed_actions") if key in found}
    body = {"enabled": True, **kept, "sha_pinning_required": True}
    return judged(
        Place("Pinned actions", "settings/actions", "Require actions to be pinned to a full-length commit SHA"),
        good=found.get("sha_pinning_required") is True,
        words=("Only actions named by their full commit run.", "A workflow could use an action whose tag was moved."),
        changes=(Change(verb="PUT", path="/actions/permissions", body=body),),
    )


def merging(asks: Asks) -> Finding:
    """Whether every merge makes a commit that GitHub signs, which is where seeds come from."""
    found = asks.setting("") or {}
    other = bool(found.get("allow_merge_commit")) or bool(found.get("allow_squash_merge"))
    body = {"allow_rebase_merge": False, **({} if other else {"allow_squash_merge": True})}
    return judged(
        Place("Merge methods", "settings", "Pull Requests › no 'Allow rebase merging'"),
        good=not found.get("allow_rebase_merge"),
        words=(
            "Every merge is a commit that GitHub signs, so nobody can choose his seeds.",
            "A rebase merge makes commits that GitHub does not sign: who made one could have chosen his seeds.",
        ),
        changes=(Change(verb="PATCH", path="", body=body),),
    )


def main_rules(asks: Asks) -> Finding:
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
    click = "New branch ruleset, default branch: pull requests only, code owners' approval, no force push, no deletion"
    return judged(
        Place("Rules for main", "settings/rules", click),
        good=_ruled(asks, {"~DEFAULT_BRANCH", "refs/heads/main", "~ALL"}, {"deletion", "non_fast_forward", "pull_request"}),
        words=(
            "main changes by pull requests only.",
            "Anybody with write access can push to main; GitHub does not sign such a commit, and its seeds are marked.",
        ),
        changes=(Change(verb="POST", path="/rulesets", body=body),),
    )


def data_rules(asks: Asks) -> Finding:
    """Whether what is recorded can be rewritten."""
    rules: list[dict[str, Any]] = [{"type": "deletion"}, {"type": "non_fast_forward"}]
    body = _ruleset(DATA_RULES, ["refs/heads/results", "refs/heads/traces-*"], rules)
    click = "New branch ruleset, results and traces-*: no force push, no deletion"
    return judged(
        Place("Rules for results", "settings/rules", click),
        good=_ruled(asks, {"refs/heads/results", "~ALL"}, {"deletion", "non_fast_forward"}),
        words=("What is recorded can only grow.", "One forced push can rewrite or lose every result."),
        changes=(Change(verb="POST", path="/rulesets", body=body),),
    )


def main_only(asks: Asks, name: str) -> tuple[bool, tuple[Change, ...]]:
    """Whether only main may use an environment, and what makes it so; no change where a person has decided otherwise."""
    path = f"/environments/{name}"
    policy = (asks.setting(path) or {}).get("deployment_branch_policy") or {}
    custom = bool(policy.get("custom_branch_policies"))
    listed = asks.setting(f"{path}/deployment-branch-policies") if custom else None
    allowed = {one.get("name") for one in (listed or {}).get("branch_policies", [])}
    named = {"deployment_branch_policy": {"protected_branches": False, "custom_branch_policies": True}}
    only = Change(verb="PUT", path=path, body=named)
    main = Change(verb="POST", path=f"{path}/deployment-branch-policies", body={"name": "main"})
    good = bool(policy.get("protected_branches")) or allowed == {"main"}
    # Another branch on the list is somebody's own decision: only a person takes it off.
    return good, () if allowed - {"main"} else (only, main)


def environment(asks: Asks) -> Finding:
    """Whether another branch than main may deploy the site."""
    good, changes = main_only(asks, "github-pages")
    return judged(
        Place("Environment github-pages", "settings/environments", "github-pages › Deployment branches: main only"),
        good=good,
        words=("Only main can deploy the site.", "A workflow on another branch could deploy the site."),
        changes=changes,
    )


def reporting(asks: Asks) -> Finding:
    """Whether a hole can be reported in private."""
    path = "/private-vulnerability-reporting"
    return judged(
        Place("Private reports", "settings/security_analysis", "Private vulnerability reporting › Enable"),
        good=(asks.setting(path) or {}).get("enabled") is True,
        words=("Holes can be reported in private.", "Who finds a hole can only tell it in public."),
        changes=(Change(verb="PUT", path=path, body={}),),
    )


CHECKS: tuple[Check, ...] = (
    pages, token, approval, pinning, merging, main_rules, data_rules, environment, reporting,
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where a setting is set."""

    name: str
    """What it is about."""
    page: str
    """The page of the repository."""
    click: str
    """What to do there."""


def judged(place: Place, *, good: bool, words: tuple[str, str], changes: tuple[Change, ...]) -> Finding:
    """A setting that is right or wrong. `words`: what to say when it is right, and when not."""
    state, said, left = (State.GOOD, words[0], ()) if good else (State.MISSING, words[1], changes)
    return Finding(name=place.name, state=state, said=said, page=place.page, click=place.click, changes=left)


def _ruleset(name: str, include: list[str], rules: list[dict[str, Any]]) -> dict[str, Any]:
    conditions = {"ref_name": {"include": include, "exclude": []}}
    return {"name": name, "target": "branch", "enforcement": "active", "conditions": conditions, "rules": rules}


def _ruled(asks: Asks, refs: set[str], wanted: set[str]) -> bool:
    """Whether active rulesets over one of the refs hold all the wanted rules together."""
    held: set[str] = set()
    for summary in asks.settings("/rulesets"):
        if summary.get("enforcement") != "active" or summary.get("target", "branch") != "branch":
            continue
        whole = asks.setting(f"/rulesets/{summary['id']}") or {}
        names = whole.get("conditions", {}).get("ref_name", {})
        if refs & set(names.get("include", [])) and not refs & set(names.get("exclude", [])):
            held |= {rule["type"] for rule in whole.get("rules", [])}
    return wanted <= held
